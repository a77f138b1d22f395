/* graph_find.h - which of 32 vertices a pull has messages for, and where their first ones are. What
 * they need next is fetched into the cache meanwhile. */
#ifndef GRAPH_FIND_H
#define GRAPH_FIND_H

#include "graph_bits.h"

/** The first of edges e .. stop - 1 that comes from an active vertex, or stop. */
static inline ulong graph_next(HF_GLOBAL const uint *from, HF_GLOBAL const uint *active,
                               ulong e, ulong stop) {
    for (; e < stop; e++) {
        const uint u = from[e];
        if (active[u / 32] >> (u % 32) & 1)
            break;
    }
    return e;
}

/** Bits of the vertices first .. end - 1 that messages may change. The loop with a known end is
 *  vectorised by compilers. */
static inline uint graph_wanting(HF_GLOBAL const hf_vertex *state,
                                 HF_UNUSED uint settled, uint first, uint end) {
    uint bits = 0;
    (void)state;
    if (end - first == 32)
        for (uint i = 0; i < 32; i++)
            bits |= (uint)(HF_WANTS(state[first + i], settled) != 0) << i;
    else
        for (uint v = first; v < end; v++)
            bits |= (uint)(HF_WANTS(state[v], settled) != 0) << (v - first);
    return bits;
}

/** Bits of the vertices first .. end - 1 to which edges lead, by vectors as above. */
static inline uint graph_led_to(HF_GLOBAL const ulong *rows, uint first, uint end) {
    uint bits = 0;
    if (end - first == 32)
        for (uint i = 0; i < 32; i++)
            bits |= (uint)(rows[first + i] != rows[first + i + 1]) << i;
    else
        for (uint v = first; v < end; v++)
            bits |= (uint)(rows[v] != rows[v + 1]) << (v - first);
    return bits;
}

/** Bits of the vertices first .. end - 1 that messages may change and to which edges lead; of
 *  programs that apply all vertices, of all. First edges are prefetched together, as each would
 *  be waited for otherwise. */
static inline uint graph_candidates(HF_GLOBAL const ulong *rows,
                                    HF_GLOBAL const uint *from,
                                    HF_GLOBAL const hf_vertex *state, uint settled,
                                    uint first, uint end) {
    if (first >= end)
        return 0;
#ifdef HF_ALWAYS
    (void)rows, (void)from, (void)state, (void)settled;
    return graph_all_bits(first, end);
#else
    (void)from; /* where nothing is fetched */
    if (rows[first] == rows[end])
        return 0;
    uint bits = graph_wanting(state, settled, first, end);
    if (bits)
        bits &= graph_led_to(rows, first, end);
    for (uint left = bits; left; left &= left - 1)
        HF_PREFETCH_READ(from + rows[first + graph_lowest_bit(left)]);
    return bits;
#endif
}

static inline uint graph_block_end(uint first, uint last) {
    return last - first < 32 ? last : first + 32;
}

/** Find the first message of vertex first + i for each bit i of `these`: it comes along edge
 *  at[i]. Its update is prefetched. Returns the bits of the vertices that have one, or are
 *  applied anyway. */
static inline uint graph_find(HF_GLOBAL const ulong *rows, HF_GLOBAL const uint *from,
                              HF_GLOBAL const hf_update *mirror,
                              HF_GLOBAL const uint *active, uint first, uint these,
                              ulong *at) {
    uint found = these;
    (void)mirror;
    for (uint left = these; left; left &= left - 1) {
        const uint i = graph_lowest_bit(left);
        const ulong stop = rows[first + i + 1],
                    e = graph_next(from, active, rows[first + i], stop);
        at[i] = e;
        if (e < stop)
            HF_PREFETCH_READ(mirror + from[e]);
        else
            found ^= 1u << i;
    }
    return GRAPH_ALL ? these : found;
}

#endif
