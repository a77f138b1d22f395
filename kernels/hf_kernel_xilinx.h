/* hf_kernel_xilinx.h - kernels as C++ for Xilinx HLS. */
#ifndef HF_KERNEL_XILINX_H
#define HF_KERNEL_XILINX_H

#include <stdint.h>

typedef uint8_t uchar;
typedef uint32_t uint;
typedef uint64_t ulong;

/* With HF_PORTS each pointer has an AXI port of its own; else those of a kernel share one, and
   all reach the same memories. */
#ifdef HF_PORTS
#define HF_DEFINE(kernel, replicated, streams, ...)                     \
    static inline void kernel##_body(HF_EACH(HF_DECLARE, __VA_ARGS__)); \
    extern "C" void kernel(HF_EACH(HF_DECLARE, __VA_ARGS__)) {          \
        HF_EACH_WORD(HF_PORT, __VA_ARGS__)                              \
        kernel##_body(HF_EACH(HF_NAME, __VA_ARGS__));                   \
    }                                                                   \
    static inline __attribute__((always_inline)) void kernel##_body(    \
        HF_EACH(HF_DECLARE, __VA_ARGS__))
#define HF_PORT(i, kind, T, name) HF_PORT_##kind(name)
#define HF_PORT_read(name) \
    HF_PRAGMA(HLS INTERFACE m_axi port = name offset = slave bundle = name)
#define HF_PORT_shared(name) HF_PORT_read(name)
#define HF_PORT_write(name)  HF_PORT_read(name)
#define HF_PORT_value(name)
#define HF_PORT_out(name)
#define HF_PORT_in(name)
#else
#define HF_DEFINE(kernel, replicated, streams, ...) \
    extern "C" void kernel(HF_EACH(HF_DECLARE, __VA_ARGS__))
#endif
#define HF_GLOBAL
#define HF_RESTRICT __restrict__
#define HF_PIPELINE _Pragma("HLS pipeline II=1") /* unrolls the loops inside */
#define HF_UNROLL(n)
#define HF_INDEPENDENT
#define HF_ITEM  ((ulong)0)
#define HF_ITEMS ((ulong)1)
#define HF_ALONE

#endif
