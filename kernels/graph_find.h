/* graph_find.h - which of 32 vertices a pull has messages for, and where their first ones are. What
 * they need next is fetched into the cache meanwhile.
 *
 * `leads` has the first edge of each row again, HF_NOBODY of an empty one: where the neighbours
 * with most edges are first, that edge mostly brings a message, and no row is read. */
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

/** Bits of the vertices first .. end - 1 that messages may change. The loop with a known end goes
 *  by vectors. */
static inline uint graph_wanting(HF_GLOBAL const hf_vertex *state,
                                 HF_UNUSED uint settled, uint first, uint end) {
    uint bits = 0;
    (void)state;
    if (end - first == 32)
        GRAPH_EACH(i)
            bits |= (uint)(HF_WANTS(state[first + i], settled) != 0) << i;
    else
        for (uint v = first; v < end; v++)
            bits |= (uint)(HF_WANTS(state[v], settled) != 0) << (v - first);
    return bits;
}

/** Bits of the vertices first .. end - 1 to which edges lead, by vectors as above. */
static inline uint graph_led_to(HF_GLOBAL const uint *leads, uint first, uint end) {
    uint bits = 0;
    if (end - first == 32)
        GRAPH_EACH(i)
            bits |= (uint)(leads[first + i] != HF_NOBODY) << i;
    else
        for (uint v = first; v < end; v++)
            bits |= (uint)(leads[v] != HF_NOBODY) << (v - first);
    return bits;
}

/** Bits of the vertices first .. end - 1 that messages may change and to which edges lead. */
static inline uint graph_candidates(HF_GLOBAL const uint *leads,
                                    HF_GLOBAL const hf_vertex *state, uint settled,
                                    uint first, uint end) {
    const uint bits = graph_wanting(state, settled, first, end);
    return bits ? bits & graph_led_to(leads, first, end) : 0;
}

/** From this one of vertices first .. last on, edges lead to none before `last`. */
static inline uint graph_led_end(HF_GLOBAL const ulong *rows, uint first, uint last) {
    const ulong stop = rows[last];
    if (first == last || rows[last - 1] < stop)
        return last;
    while (first < last) {
        const uint middle = first + (last - first) / 2;
        if (rows[middle] == stop)
            last = middle;
        else
            first = middle + 1;
    }
    return last;
}

static inline uint graph_block_end(uint first, uint last) {
    return last - first < 32 ? last : first + 32;
}

/** Where the first messages of 32 vertices come from. */
typedef struct graph_found {
    uint led;     /**< bits of those whose first edge brings it, */
    uint others;  /**< and of those that have one by another edge */
    ulong at[32]; /**< which edge that is */
} graph_found;

/** Bits of a word from which on a loop over all 32 is faster: FPGAs have no vectors. */
#if defined(HF_INTEL) || defined(HF_XILINX)
enum { GRAPH_DENSE = 33 };
#else
enum { GRAPH_DENSE = 6 };
#endif

/** Bits of those of vertices first + i, for each bit i of `these`, whose first edge comes from an
 *  active vertex. */
static inline uint graph_led_by(HF_GLOBAL const uint *leads,
                                HF_GLOBAL const uint *active, uint first, uint these) {
    uint led = 0;
    if (graph_bit_count(these) >= GRAPH_DENSE)
        GRAPH_EACH(i) {
            const uint mine = these >> i & 1, u = mine ? leads[first + i] : 0;
            led |= (active[u / 32] >> u % 32 & mine) << i;
        }
    else
        for (uint left = these; left; left &= left - 1) {
            const uint i = graph_lowest_bit(left), u = leads[first + i];
            led |= (active[u / 32] >> u % 32 & 1) << i;
        }
    return led;
}

/** Find the first message of vertex first + i for each bit i of `these`. What comes by a first edge
 *  is found without a look at its row, which costs a line of the cache. Where more than one message
 *  is needed all are looked for in the row: PageRank of urand:20 takes 1.14 times as long by a
 *  second loop, as compilers run short of registers. */
static inline void graph_find(HF_GLOBAL const ulong *rows, HF_GLOBAL const uint *from,
                              HF_GLOBAL const uint *leads,
                              HF_GLOBAL const hf_update *mirror,
                              HF_GLOBAL const uint *active, uint first, uint these,
                              graph_found *found) {
    const uint led = GRAPH_HINTED ? graph_led_by(leads, active, first, these) : 0;
    (void)mirror;
    found->led = led;
    found->others = 0;
    for (uint left = these & ~led; left; left &= left - 1)
        HF_PREFETCH_READ(from + rows[first + graph_lowest_bit(left)]);
    for (uint left = these & ~led; left; left &= left - 1) {
        const uint i = graph_lowest_bit(left);
        const ulong stop = rows[first + i + 1],
                    e = graph_next(from, active, rows[first + i] + GRAPH_HINTED, stop);
        if (e == stop)
            continue;
        found->others |= 1u << i;
        found->at[i] = e;
        HF_PREFETCH_READ(mirror + from[e]);
    }
}

#endif
