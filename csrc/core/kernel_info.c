/* kernel_info.c - the kernels that are compiled into this library as C, found by file. */
#include "core/kernel_info.h"

#include <string.h>

/* hf_kernels.inc holds one line HF_KERNEL(stem, typed) per file and data type; CMake writes
 * it. */
#define HF_KERNEL(stem, typed) extern const hf_kernel_info hf_kernels_##typed[];
#include "hf_kernels.inc"
#undef HF_KERNEL

static const struct {
    const char *stem, *typed;
    const hf_kernel_info *kernels;
} files[] = {
#define HF_KERNEL(stem, typed) {#stem, #typed, hf_kernels_##typed},
#include "hf_kernels.inc"
#undef HF_KERNEL
};

const hf_kernel_info *hf_kernels_of(const char *stem) {
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].typed, stem) == 0 || strcmp(files[i].stem, stem) == 0)
            return files[i].kernels;
    return NULL;
}

const char *hf_arg_name(const hf_kernel_info *kernels, const char *kernel, size_t i) {
    for (; kernels && kernels->name; kernels++)
        if (strcmp(kernels->name, kernel) == 0 && i < kernels->n_args)
            return kernels->args[i].name;
    return "?";
}

bool hf_kernels_typed(const char *type) {
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t length = strlen(files[i].stem);
        const char *rest = files[i].typed + length;
        if (*rest == '_' && strcmp(rest + 1, type) == 0)
            return true;
    }
    return false;
}
