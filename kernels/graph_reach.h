/* graph_reach.h - a push of few vertices with long rows: each range of vertices looks for its part
 * of every row. What its vertices get is written by nobody else and stays in the cache, so there
 * are no atomics, and those who got something apply it at once. */
#ifndef GRAPH_REACH_H
#define GRAPH_REACH_H

#include "graph_apply.h"

#ifndef GRAPH_REACH_PART    /* a test has others */
#define GRAPH_REACH_PART 32 /**< edges of a row in a range that are worth a search */
#endif

/** Chunks of a range, of n in all: about four ranges for each work-item that runs. */
static inline uint graph_reach_chunks(uint n, uint running) {
    return (n + 4 * running - 1) / (4 * running);
}

/** Do ranges of so many chunks pay? For each range every row is searched, and the bits of all
 *  vertices are looked at: a word of them costs as much as an eighth of an edge. */
static inline uint graph_reach_pays(ulong edges, uint active, uint vertices, uint n,
                                    uint reach) {
    const ulong ranges = (n + reach - 1) / reach;
    return edges > ranges * ((ulong)active * GRAPH_REACH_PART + vertices / 256);
}

/** The first of edges e .. stop - 1, by rising vertices, that leads to `first` or beyond. */
static inline ulong graph_reach_from(HF_GLOBAL const uint *to, ulong e, ulong stop,
                                     uint first) {
    ulong n = stop - e;
    while (n > 0) {
        const ulong low = n / 2, below = to[e + low] < first;
        e = below ? e + low + 1 : e;
        n = below ? n - low - 1 : low;
    }
    return e;
}

/** Where the rows of the vertices at + i of bits `told` reach vertex `first`. Of a row the first
 *  edge is apart: it may lead to any vertex. */
static inline void graph_reach_find(HF_GLOBAL const ulong *outs,
                                    HF_GLOBAL const uint *to,
                                    HF_GLOBAL const uint *weights, uint at, uint told,
                                    uint first, ulong *from) {
    for (; told; told &= told - 1) {
        const uint i = graph_lowest_bit(told);
        const ulong e = outs[at + i], stop = outs[at + i + 1];
        from[i] = e == stop ? stop : graph_reach_from(to, e + 1, stop, first);
        graph_fetch(to, weights, from[i], stop);
    }
}

/** Send `told` along edge `e` to a vertex to which nobody else sends; 0 where that does not want
 *  it. Whether it does is hard to guess for a CPU: there is no branch on it. */
static inline uint graph_send_alone(HF_GLOBAL const uint *to,
                                    HF_GLOBAL const uint *weights,
                                    HF_GLOBAL const hf_vertex *state,
                                    HF_GLOBAL uint *got, HF_GLOBAL uint *touched,
                                    hf_update told, ulong e, HF_UNUSED uint settled) {
    const uint v = to[e], old = got[v];
    (void)weights, (void)state;
    const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
    const hf_message m = hf_scatter(told, edge);
    const uint takes = graph_takes(&state[v], m, settled);
    got[v] = takes ? graph_bits_of(hf_gather(graph_message_of(old), m)) : old;
    touched[v / 32] |= takes << v % 32;
    return takes;
}

/** The chunks c .. beyond - 1 get what all who told send them; made[2 c] and the next are of all
 *  of these. */
static inline void
graph_reach_send(uint c, uint beyond, HF_GLOBAL const uint *chunks,
                 HF_GLOBAL const ulong *outs, HF_GLOBAL const uint *to,
                 HF_GLOBAL const uint *weights, HF_GLOBAL const graph_run *run,
                 HF_GLOBAL const uchar *inbox, HF_GLOBAL const hf_vertex *state,
                 HF_GLOBAL uint *got, HF_GLOBAL uint *touched, HF_GLOBAL ulong *made,
                 uint settled) {
    HF_GLOBAL const uint *active = GRAPH_AT(const uint, inbox, run->in_bits);
    HF_GLOBAL const hf_update *mirror =
        GRAPH_AT(const hf_update, inbox, run->in_updates);
    const uint first = chunks[c], last = chunks[beyond];
    ulong sent = 0, known = 0;
    for (uint at = 0; at < run->own; at += 32) {
        const uint told = active[at / 32] & graph_all_bits(at, run->own);
        ulong from[32];
        graph_reach_find(outs, to, weights, at, told, first, from);
        for (uint left = told; left; left &= left - 1) {
            const uint i = graph_lowest_bit(left), u = at + i;
            const ulong begin = outs[u], stop = outs[u + 1];
            if (u >= first && u < last)
                known += stop - begin + graph_teller(run, u);
            if (begin < stop && to[begin] >= first && to[begin] < last)
                sent += graph_send_alone(to, weights, state, got, touched, mirror[u],
                                         begin, settled);
            for (ulong e = from[i]; e < stop && to[e] < last; e++)
                sent += graph_send_alone(to, weights, state, got, touched, mirror[u], e,
                                         settled);
        }
    }
    for (uint k = c; k < beyond; k++)
        made[2 * k] = made[2 * k + 1] = 0;
    made[2 * c] = sent;
    made[2 * c + 1] = known;
}

/** The part of chunk c of n: the first of each `reach` chunks takes all of them, and the others
 *  have none. */
static inline GRAPH_INLINE void graph_reach_part(
    uint c, uint n, HF_GLOBAL const uint *chunks, HF_GLOBAL const ulong *outs,
    HF_GLOBAL const uint *to, HF_GLOBAL const uint *weights,
    HF_GLOBAL const uint *degrees, HF_GLOBAL const uint *names,
    HF_GLOBAL const graph_run *run, HF_GLOBAL const uchar *inbox,
    HF_GLOBAL hf_vertex *state, HF_GLOBAL uint *got, HF_GLOBAL uint *touched,
    HF_GLOBAL ulong *made, HF_GLOBAL uchar *outbox, HF_GLOBAL uint *waiting,
    HF_GLOBAL hf_update *later, uint reach, uint superstep, ulong window, uint seal) {
    if (c % reach)
        return;
    const uint beyond = n - c < reach ? n : c + reach;
    graph_reach_send(c, beyond, chunks, outs, to, weights, run, inbox, state, got,
                     touched, made, (uint)window);
    for (; c < beyond; c++)
        graph_apply_part(c, n, chunks, degrees, names, run, made, got, touched, state,
                         outbox, waiting, later, superstep, window, seal);
}

#endif
