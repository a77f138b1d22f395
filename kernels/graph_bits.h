/* graph_bits.h - bits of 32 vertices. */
#ifndef GRAPH_BITS_H
#define GRAPH_BITS_H

#include "graph_program.h"

#ifdef HF_HOST
static inline uint graph_lowest_bit(uint x) {
    return (uint)__builtin_ctz(x);
}
#elif defined(HF_XILINX)
static inline uint graph_lowest_bit(uint x) {
    uint n = 0;
    while (!(x >> n & 1))
        n++;
    return n;
}
#else
static inline uint graph_lowest_bit(uint x) {
    return 31 - clz(x & (0 - x));
}
#endif

/** Bits of vertices at .. at + 31 before `end`. */
static inline uint graph_all_bits(uint at, uint end) {
    return at >= end ? 0 : end - at >= 32 ? HF_NOBODY : HF_NOBODY >> (32 - (end - at));
}

#endif
