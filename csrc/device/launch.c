/* launch.c - whether a launch gives a kernel what it takes. */
#include <stdio.h>

#include "command.h"
#include "core/error.h"

static hf_status arg_check(const hf_kernel_info *kernel, size_t i, const hf_arg *arg) {
    const hf_arg_info *info = &kernel->args[i];
    bool value = info->kind == HF_ARG_VALUE;
    if (arg->buffer && !value)
        return HF_OK;
    if (!arg->buffer && value && arg->bytes == info->bytes)
        return HF_OK;
    char given[32] = "a buffer", taken[32] = "a buffer";
    if (!arg->buffer)
        snprintf(given, sizeof given, "a value of %zu B", arg->bytes);
    if (value)
        snprintf(taken, sizeof taken, "a value of %zu B", info->bytes);
    return hf_fail(HF_EARG, "kernel \"%s\", argument %zu, \"%s\": given %s, taken %s",
                   kernel->name, i, info->name, given, taken);
}

hf_status hf_launch_check(const hf_kernel_info *kernel, const hf_launch *launch) {
    size_t n = kernel->n_args + kernel->streams;
    if (launch->n_args != n)
        return hf_fail(HF_EARG, "kernel \"%s\" takes %zu arguments, not %zu",
                       kernel->name, n, launch->n_args);
    for (size_t i = 0; i < kernel->n_args; i++)
        HF_TRY(arg_check(kernel, i, &launch->args[i]));
    return HF_OK;
}
