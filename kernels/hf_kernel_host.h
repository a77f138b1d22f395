/* hf_kernel_host.h - the dialect in plain C: a kernel becomes functions and a table. */
#ifndef HF_KERNEL_HOST_H
#define HF_KERNEL_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel_info.h"

typedef uint8_t uchar;
typedef uint32_t uint;
typedef uint64_t ulong;

static _Thread_local size_t hf_item, hf_items = 1;

#define HF_GLOBAL
#define HF_RESTRICT restrict
#define HF_PIPELINE
#define HF_UNROLL(n)
#define HF_INDEPENDENT
#define HF_VECTORS(n)
#define HF_ITEM                    ((ulong)hf_item)
#define HF_ITEMS                   ((ulong)hf_items)
#define HF_PREFETCH_READ(address)  __builtin_prefetch(address, 0)
#define HF_PREFETCH_WRITE(address) __builtin_prefetch(address, 1)
#define HF_PREFETCH_PAST(address)  __builtin_prefetch(address, 0, 0)
#define HF_XOR(address, x)         (*(address) ^= (x))
#define HF_ALONE

/* A kernel is a function of its name, one that calls it for all work-items, and a table of
 * its arguments. */
#define HF_UNUSED __attribute__((unused)) /* unless it is in HF_HOST_FILE */
#define HF_DEFINE(kernel, replicated, streams, ...)                          \
    static void kernel(HF_EACH(HF_DECLARE, __VA_ARGS__));                    \
    HF_UNUSED static void kernel##_call(void *const *values, size_t items) { \
        hf_items = items;                                                    \
        for (hf_item = 0; hf_item < items; hf_item++)                        \
            kernel(HF_EACH(HF_PASS, __VA_ARGS__));                           \
    }                                                                        \
    HF_UNUSED static const hf_arg_info kernel##_args[] = {                   \
        HF_EACH(HF_DESCRIBE, __VA_ARGS__)};                                  \
    enum { kernel##_replicated = replicated, kernel##_streams = streams };   \
    static void kernel(HF_EACH(HF_DECLARE, __VA_ARGS__))
#define HF_PASS(i, kind, T, name) HF_PASS_##kind(i, T)
#define HF_PASS_read(i, T)        *(T **)values[i]
#define HF_PASS_shared(i, T)      *(T **)values[i]
#define HF_PASS_write(i, T)       *(T **)values[i]
#define HF_PASS_value(i, T)       *(const T *)values[i]
#define HF_DESCRIBE(i, kind, T, name) \
    { #name, HF_KIND_##kind, sizeof(T), HF_DEPTH_##kind(name) }
#define HF_KIND_read          HF_ARG_READ
#define HF_KIND_shared        HF_ARG_SHARED
#define HF_KIND_write         HF_ARG_WRITE
#define HF_KIND_value         HF_ARG_VALUE
#define HF_DEPTH_read(name)   0
#define HF_DEPTH_shared(name) 0
#define HF_DEPTH_write(name)  0
#define HF_DEPTH_value(name)  0
#define HF_HOST_KERNEL(kernel)                                              \
    {                                                                       \
#kernel, kernel##_args, sizeof kernel##_args / sizeof(hf_arg_info), \
            kernel##_replicated, kernel##_streams, kernel##_call            \
    }
#define HF_HOST_TABLE(stem, ...)                     \
    extern const hf_kernel_info hf_kernels_##stem[]; \
    const hf_kernel_info hf_kernels_##stem[] = {__VA_ARGS__, {0}};
#ifdef HF_HOST_TYPE /* one of several tables, by data type: hf_kernels_demo_memory_float */
#define HF_HOST_TYPED(stem, type, ...)  HF_HOST_TABLE(stem##_##type, __VA_ARGS__)
#define HF_HOST_PASTED(stem, type, ...) HF_HOST_TYPED(stem, type, __VA_ARGS__)
#define HF_HOST_FILE(stem, ...)         HF_HOST_PASTED(stem, HF_HOST_TYPE, __VA_ARGS__)
#else
#define HF_HOST_FILE(stem, ...) HF_HOST_TABLE(stem, __VA_ARGS__)
#endif

#endif
