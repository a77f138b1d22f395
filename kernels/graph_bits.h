/* graph_bits.h - bits of 32 vertices. */
#ifndef GRAPH_BITS_H
#define GRAPH_BITS_H

#include "graph_program.h"

/** A loop over 32 vertices, by vectors where a compiler can. */
#define GRAPH_EACH(i) HF_VECTORS(8) for (uint i = 0; i < 32; i++)

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

/** How many bits of x are set. */
static inline uint graph_bit_count(uint x) {
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u >> 24;
}

/** What own vertex `v` counts for who finds that it told something: 1. One that no edge leaves has
 *  nothing to tell, whether it was counted there or not: 2 fits neither. */
static inline uint graph_teller(HF_GLOBAL const graph_run *run, uint v) {
    return 1 + (v >= run->tells);
}

/** Bits of vertices at .. at + 31 before `end`. */
static inline uint graph_all_bits(uint at, uint end) {
    return at >= end ? 0 : end - at >= 32 ? HF_NOBODY : HF_NOBODY >> (32 - (end - at));
}

#endif
