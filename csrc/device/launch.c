/* launch.c - whether a launch gives a kernel what it takes. */
#include <stdio.h>

#include "command.h"
#include "core/error.h"

hf_status hf_arg_check(const char *kernel, size_t i, const hf_arg_info *taken,
                       const hf_arg *given) {
    bool value = taken->kind == HF_ARG_VALUE;
    if (given->buffer ? !value : value && given->bytes == taken->bytes)
        return HF_OK;
    char text[2][32] = {"a buffer", "a buffer"};
    if (!given->buffer)
        snprintf(text[0], sizeof text[0], "a value of %zu B", given->bytes);
    if (value)
        snprintf(text[1], sizeof text[1], "a value of %zu B", taken->bytes);
    return hf_fail(HF_EARG, "kernel \"%s\", argument %zu, \"%s\": given %s, taken %s",
                   kernel, i, taken->name, text[0], text[1]);
}

hf_status hf_launch_check(const hf_kernel_info *kernel, const hf_launch *launch) {
    size_t n = kernel->n_args + kernel->streams;
    if (launch->n_args != n)
        return hf_fail(HF_EARG, "kernel \"%s\" takes %zu arguments, not %zu",
                       kernel->name, n, launch->n_args);
    for (size_t i = 0; i < kernel->n_args; i++)
        HF_TRY(hf_arg_check(kernel->name, i, &kernel->args[i], &launch->args[i]));
    return HF_OK;
}
