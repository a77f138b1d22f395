/* graph_message.h - messages as words, which work-items change by compare-and-swap. */
#ifndef GRAPH_MESSAGE_H
#define GRAPH_MESSAGE_H

#include "graph_outbox.h"

static inline uint graph_bits_of(hf_message m) {
    union {
        hf_message m;
        uint u;
    } x;
    x.m = m;
    return x.u;
}
static inline hf_message graph_message_of(uint u) {
    union {
        hf_message m;
        uint u;
    } x;
    x.u = u;
    return x.m;
}

/** Gather `m` into *got. Bits are compared: a NaN equals nothing. */
static inline void graph_merge(HF_GLOBAL uint *got, hf_message m) {
    uint old = HF_LOOK(got);
    for (;;) {
        const uint both = graph_bits_of(hf_gather(graph_message_of(old), m));
        if (both == old)
            return;
        const uint seen = HF_SWAP(got, old, both);
        if (seen == old)
            return;
        old = seen;
    }
}

#define GRAPH_AHEAD 64u /**< edges that are fetched ahead */

/** Have the first of edges e .. stop - 1 in the cache: each line would be waited for, also the
 *  second of a short row that lies in two. */
static inline void graph_fetch(HF_GLOBAL const uint *to, HF_GLOBAL const uint *weights,
                               ulong e, ulong stop) {
    (void)to, (void)weights;
    const ulong end = stop - e < GRAPH_AHEAD ? stop : e + GRAPH_AHEAD;
    for (e = e / GRAPH_LINE * GRAPH_LINE; e < end; e += GRAPH_LINE) {
        HF_PREFETCH_READ(to + e);
#ifdef HF_WEIGHTED
        HF_PREFETCH_READ(weights + e);
#endif
    }
}

/** Have those to whom edges e .. stop - 1 lead there, and what they got. */
static inline void graph_fetch_ends(HF_GLOBAL const uint *to,
                                    HF_GLOBAL const hf_vertex *state,
                                    HF_GLOBAL const uint *got, ulong e, ulong stop) {
    (void)to, (void)state, (void)got;
    for (; e < stop; e++) {
        HF_PREFETCH_READ(state + to[e]);
        HF_PREFETCH_READ(got + to[e]);
    }
}

/** What vertex `u` of all ranks counts for who finds that it told something: one of others 0. */
static inline uint graph_own_teller(HF_GLOBAL const graph_run *run, uint u) {
    const uint v = u - run->first;
    return v < run->own ? graph_teller(run, v) : 0;
}

/** Message `m` is for vertex `v`. */
static inline void graph_leave(HF_GLOBAL uint *got, HF_GLOBAL uint *touched, uint v,
                               hf_message m) {
    const uint bit = 1u << v % 32;
    graph_merge(&got[v], m);
    if (!(HF_LOOK(&touched[v / 32]) & bit))
        HF_OR(&touched[v / 32], bit);
}

/** Does a vertex with this state take message `m`? No branch depends on it. */
static inline uint graph_takes(HF_GLOBAL const hf_vertex *s, HF_UNUSED hf_message m,
                               HF_UNUSED uint settled) {
    (void)s;
    return (uint)(HF_WANTS(*s, settled) != 0) & (uint)(HF_HELPS(*s, m) != 0);
}

/** Send `told` along edge `e`; 0 where the vertex there does not want it. */
static inline uint graph_send(HF_GLOBAL const uint *to, HF_GLOBAL const uint *weights,
                              HF_GLOBAL const hf_vertex *state, HF_GLOBAL uint *got,
                              HF_GLOBAL uint *touched, hf_update told, ulong e,
                              HF_UNUSED uint settled) {
    const uint v = to[e];
    (void)weights, (void)state; /* not every program has them, or wants to know */
    if (!HF_WANTS(state[v], settled))
        return 0;
    const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
    const hf_message m = hf_scatter(told, edge);
    if (!HF_HELPS(state[v], m))
        return 0;
    graph_leave(got, touched, v, m);
    return 1;
}

#endif
