/* hf_kernel.h - one dialect for every compiler that reads a kernel.
 *
 * target        selected by     work-items                       a channel is
 * OpenCL C      none of these   any number, a 1-D range          a ring in memory (CPUs)
 * Intel FPGA    -DHF_INTEL      one: loops are pipelines         a channel, with `io`
 * Xilinx HLS    -DHF_XILINX     one: loops are pipelines (C++)   an AXI stream
 * plain C       -DHF_HOST       any number, one after the other  a ring in memory
 *
 * HF_KERNEL(name, ...)  the head of a kernel, in front of its body; its arguments are
 *   HF_READ(T, name)      a buffer of T that the kernel reads
 *   HF_SHARED(T, name)    the same, and all replications read the same buffer
 *   HF_WRITE(T, name)     a buffer of T that the kernel writes and may read
 *   HF_VALUE(T, name)     a value
 * HF_REPLICATED_KERNEL(name, ...)
 *                       the same; FPGAs have HF_REPLICATIONS of it, for launches side by side
 * HF_HOST_FILE(stem, HF_HOST_KERNEL(name), ...)
 *                       at the end of a file: the kernels that its host knows
 * HF_GLOBAL             device memory, in front of the pointed-to type
 * HF_RESTRICT           no other pointer reaches this memory
 * HF_PIPELINE           first in the body of a loop: start a trip every clock cycle
 * HF_UNROLL(n)          in front of a loop: n trips at the same time on FPGAs
 * HF_UNROLL_SCALAR(n)   the same; a CPU's compiler makes no vectors of this loop
 * HF_VECTORS(n)         a loop of which a CPU's compiler makes vectors of n, where it can: that of
 *                       PoCL 5 makes none otherwise
 * HF_INDEPENDENT        in front of a loop: trips touch different words of device memory
 * HF_ITEM, HF_ITEMS     this work-item and their number
 * HF_PREFETCH_READ(address), HF_PREFETCH_WRITE(address)
 *                       this word is read, or written, soon; a hint for CPUs
 * HF_PREFETCH_PAST(address)
 *                       this word is read soon, and once: it need not push others from the
 *                       caches; a hint for CPUs
 * HF_STORE_PAST(address, x)
 *                       store x past the caches, which would read the line first; a hint for
 *                       CPUs
 * HF_LARGE(bytes)       whether that pays for an array of so many bytes
 * HF_XOR(address, x)    change a word that other work-items change, too; no FPGAs
 * HF_SWAP(address, old, x), HF_OR(address, x)
 *                       the same, of 32 bits: x in place of old, if that is there; bits set.
 *                       Both give what was there
 * HF_LOOK(address)      a word that others may swap meanwhile: who swaps it sees what is there
 *
 * Files with channels include hf_channel.h instead, which adds those.
 */
#ifndef HF_KERNEL_H
#define HF_KERNEL_H

#include "hf_each.h"

/* An argument is a tuple (kind, type, name), of which targets make what they need. */
#define HF_READ(T, name)                  (read, T, name)
#define HF_SHARED(T, name)                (shared, T, name)
#define HF_WRITE(T, name)                 (write, T, name)
#define HF_VALUE(T, name)                 (value, T, name)
#define HF_DECLARE(i, kind, T, name)      HF_DECLARE_##kind(T, name)
#define HF_DECLARE_read(T, name)          HF_GLOBAL const T *HF_RESTRICT name
#define HF_DECLARE_shared(T, name)        HF_DECLARE_read(T, name)
#define HF_DECLARE_write(T, name)         HF_GLOBAL T *HF_RESTRICT name
#define HF_DECLARE_value(T, name)         const T name
#define HF_NAME(i, kind, T, name)         name
#define HF_PRAGMA(p)                      _Pragma(#p)
#define HF_KERNEL(kernel, ...)            HF_DEFINE(kernel, 0, 0, __VA_ARGS__)
#define HF_REPLICATED_KERNEL(kernel, ...) HF_DEFINE(kernel, 1, 0, __VA_ARGS__)

#if defined(HF_HOST)

#include "hf_kernel_host.h"

#elif defined(HF_XILINX)

#include "hf_kernel_xilinx.h"

#else

#define HF_GLOBAL   __global
#define HF_RESTRICT restrict
#define HF_PIPELINE
#ifdef HF_INTEL
#define HF_DEFINE(kernel, replicated, streams, ...)                             \
    HF_UNITS_##replicated __attribute__((max_global_work_dim(0))) __kernel void \
    kernel(HF_EACH(HF_DECLARE, __VA_ARGS__))
#define HF_UNITS_0
#define HF_UNITS_1     __attribute__((num_compute_units(HF_REPLICATIONS)))
#define HF_UNROLL(n)   HF_PRAGMA(unroll n)
#define HF_INDEPENDENT HF_PRAGMA(ivdep)
#define HF_ITEM        ((ulong)0)
#define HF_ITEMS       ((ulong)1)
#define HF_ALONE
#else
#define HF_DEFINE(kernel, replicated, streams, ...) \
    __kernel void kernel(HF_EACH(HF_DECLARE, __VA_ARGS__))
#define HF_UNROLL(n)
#define HF_UNROLL_SCALAR(n) _Pragma("clang loop vectorize(disable)")
#define HF_INDEPENDENT
#define HF_ITEM  ((ulong)get_global_id(0))
#define HF_ITEMS ((ulong)get_global_size(0))
#if defined(__x86_64__) || defined(__aarch64__)
#define HF_VECTORS(n)             HF_PRAGMA(clang loop vectorize_width(n))
#define HF_PREFETCH_READ(address) __builtin_prefetch((const void *)(size_t)(address), 0)
#define HF_PREFETCH_WRITE(address) \
    __builtin_prefetch((const void *)(size_t)(address), 1)
#define HF_PREFETCH_PAST(address) \
    __builtin_prefetch((const void *)(size_t)(address), 0, 0)
#define HF_STORE_PAST(address, x) __builtin_nontemporal_store(x, address)
#define HF_LARGE(bytes)           ((bytes) >= 32 << 20)
#endif
#define HF_SWAP(address, old, x) \
    atomic_cmpxchg((HF_GLOBAL volatile uint *)(address), old, x)
#define HF_OR(address, x) atomic_or((HF_GLOBAL volatile uint *)(address), x)
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

#ifndef HF_UNROLL_SCALAR
#define HF_UNROLL_SCALAR(n) HF_UNROLL(n)
#endif

#ifndef HF_PREFETCH_READ
#define HF_VECTORS(n)
#define HF_PREFETCH_READ(address)
#define HF_PREFETCH_WRITE(address)
#define HF_PREFETCH_PAST(address)
#endif
#ifndef HF_LARGE
#define HF_STORE_PAST(address, x) (*(address) = (x))
#define HF_LARGE(bytes)           0
#endif

#if defined(HF_ALONE) && !defined(HF_SWAP) /* one work-item at a time */
static inline uint hf_swap(HF_GLOBAL uint *address, uint old, uint x) {
    const uint seen = *address;
    if (seen == old)
        *address = x;
    return seen;
}
static inline uint hf_or(HF_GLOBAL uint *address, uint x) {
    const uint seen = *address;
    *address = seen | x;
    return seen;
}
#define HF_SWAP(address, old, x) hf_swap(address, old, x)
#define HF_OR(address, x)        hf_or(address, x)
#endif

#ifndef HF_LOOK /* a test whose threads are work-items has atomic ones */
#define HF_LOOK(address) (*(address))
#endif

#ifndef HF_HOST
#define HF_HOST_FILE(stem, ...)
#endif

#endif
