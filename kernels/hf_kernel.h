/* hf_kernel.h - one dialect for every compiler that reads a kernel.
 *
 * target        selected by     work-items                       a channel is
 * OpenCL C      none of these   any number, a 1-D range          a ring in memory (CPUs)
 * Intel FPGA    -DHF_INTEL      one: loops are pipelines         a channel, with `io`
 * Xilinx HLS    -DHF_XILINX     one: loops are pipelines (C++)   an AXI stream
 * plain C       -DHF_HOST       any number, one after the other  a ring in memory
 *
 * HF_KERNEL             starts a kernel's definition
 * HF_COMPUTE_UNITS(n)   in front of it: n of them on an FPGA, for launches side by side
 * HF_GLOBAL             device memory, in front of the pointed-to type
 * HF_RESTRICT           no other pointer reaches this memory
 * HF_PIPELINE           first in the body of a loop: start a trip every clock cycle
 * HF_UNROLL(n)          in front of a loop: n trips at the same time on FPGAs
 * HF_UNROLL_SCALAR(n)   the same; a CPU's compiler makes no vectors of this loop
 * HF_INDEPENDENT        in front of a loop: trips touch different words of device memory
 * HF_ITEM, HF_ITEMS     this work-item and their number
 * HF_PREFETCH(address)  this word is used soon; a hint for CPUs
 * HF_XOR(address, x)    change a word that other work-items change, too; no FPGAs
 *
 * Files with channels include hf_channel.h instead, which adds those.
 */
#ifndef HF_KERNEL_H
#define HF_KERNEL_H

#if defined(HF_HOST)

#include <stddef.h>
#include <stdint.h>

#include "device/host.h"

typedef uint8_t uchar;
typedef uint32_t uint;
typedef uint64_t ulong;

static _Thread_local size_t hf_item, hf_items = 1;

#define HF_KERNEL static void
#define HF_GLOBAL
#define HF_RESTRICT restrict
#define HF_PIPELINE
#define HF_UNROLL(n)
#define HF_INDEPENDENT
#define HF_ITEM              ((ulong)hf_item)
#define HF_ITEMS             ((ulong)hf_items)
#define HF_PREFETCH(address) __builtin_prefetch(address, 1)
#define HF_XOR(address, x)   (*(address) ^= (x))

/* How the host calls a kernel, after its definition:
 *     HF_HOST_CALL(scale, HF_BUFFER(0), HF_VALUE(1, ulong))
 * and at the end of the file the table of its kernels:
 *     HF_HOST_FILE(demo_memory, HF_HOST_KERNEL(scale)) */
#define HF_BUFFER(i)   (*(void **)args[i])
#define HF_VALUE(i, T) (*(const T *)args[i])
#define HF_HOST_CALL(kernel, ...)                                \
    static void kernel##_call(void *const *args, size_t items) { \
        hf_items = items;                                        \
        for (hf_item = 0; hf_item < items; hf_item++)            \
            kernel(__VA_ARGS__);                                 \
    }
#define HF_HOST_KERNEL(kernel) \
    { #kernel, kernel##_call }
#define HF_HOST_TABLE(stem, ...)                     \
    extern const hf_host_kernel hf_kernels_##stem[]; \
    const hf_host_kernel hf_kernels_##stem[] = {__VA_ARGS__, {NULL, NULL}};
#ifdef HF_HOST_TYPE /* one of several tables, by data type: hf_kernels_demo_memory_float */
#define HF_HOST_TYPED(stem, type, ...)  HF_HOST_TABLE(stem##_##type, __VA_ARGS__)
#define HF_HOST_PASTED(stem, type, ...) HF_HOST_TYPED(stem, type, __VA_ARGS__)
#define HF_HOST_FILE(stem, ...)         HF_HOST_PASTED(stem, HF_HOST_TYPE, __VA_ARGS__)
#else
#define HF_HOST_FILE(stem, ...) HF_HOST_TABLE(stem, __VA_ARGS__)
#endif

#elif defined(HF_XILINX)

#include <stdint.h>

typedef uint8_t uchar;
typedef uint32_t uint;
typedef uint64_t ulong;

#define HF_KERNEL extern "C" void
#define HF_GLOBAL
#define HF_RESTRICT __restrict__
#define HF_PIPELINE _Pragma("HLS pipeline II=1") /* unrolls the loops inside */
#define HF_UNROLL(n)
#define HF_INDEPENDENT
#define HF_ITEM  ((ulong)0)
#define HF_ITEMS ((ulong)1)

#else

#define HF_GLOBAL   __global
#define HF_RESTRICT restrict
#define HF_PIPELINE
#ifdef HF_INTEL
#define HF_KERNEL           __attribute__((max_global_work_dim(0))) __kernel void
#define HF_COMPUTE_UNITS(n) __attribute__((num_compute_units(n)))
#define HF_PRAGMA(p)        _Pragma(#p)
#define HF_UNROLL(n)        HF_PRAGMA(unroll n)
#define HF_INDEPENDENT      HF_PRAGMA(ivdep)
#define HF_ITEM             ((ulong)0)
#define HF_ITEMS            ((ulong)1)
#else
#define HF_KERNEL __kernel void
#define HF_UNROLL(n)
#define HF_UNROLL_SCALAR(n) _Pragma("clang loop vectorize(disable)")
#define HF_INDEPENDENT
#define HF_ITEM  ((ulong)get_global_id(0))
#define HF_ITEMS ((ulong)get_global_size(0))
#if defined(__x86_64__) || defined(__aarch64__)
#define HF_PREFETCH(address) __builtin_prefetch((const void *)(size_t)(address), 1)
#else
#define HF_PREFETCH(address)
#endif
#ifdef cl_khr_int64_extended_atomics
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define HF_XOR(address, x) atom_xor(address, x)
#else /* bits are changed one by one: so are halves of words */
#define HF_XOR(address, x)                                        \
    (atomic_xor((HF_GLOBAL volatile uint *)(address), (uint)(x)), \
     atomic_xor((HF_GLOBAL volatile uint *)(address) + 1, (uint)((x) >> 32)))
#endif
#endif

#endif

#ifndef HF_COMPUTE_UNITS /* Xilinx's linker makes them, from a list of its own */
#define HF_COMPUTE_UNITS(n)
#endif

#ifndef HF_UNROLL_SCALAR
#define HF_UNROLL_SCALAR(n) HF_UNROLL(n)
#endif

#ifndef HF_HOST
#define HF_HOST_CALL(kernel, ...)
#define HF_HOST_FILE(stem, ...)
#endif

#endif
