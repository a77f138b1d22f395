/* graph_pull.h - a superstep that pulls: every vertex gathers along the edges that lead to it. A
 * work-item has a chunk. */
#ifndef GRAPH_PULL_H
#define GRAPH_PULL_H

#include "graph_along.h"
#include "graph_change.h"
#include "graph_keep.h"

/** Gather along edges e .. stop - 1, of which all have a message. Four at a time, each with a
 *  sum of its own: one alone is as slow as the additions after each other. */
static inline hf_message graph_all(HF_GLOBAL const uint *from,
                                   HF_GLOBAL const uint *weights,
                                   HF_GLOBAL const hf_update *mirror, ulong e,
                                   ulong stop) {
    hf_message a = HF_NOTHING, b = HF_NOTHING, c = HF_NOTHING, d = HF_NOTHING;
    for (; e + 4 <= stop; e += 4) {
        a = hf_gather(a, graph_along(from, weights, mirror, e));
        b = hf_gather(b, graph_along(from, weights, mirror, e + 1));
        c = hf_gather(c, graph_along(from, weights, mirror, e + 2));
        d = hf_gather(d, graph_along(from, weights, mirror, e + 3));
    }
    for (; e < stop; e++)
        a = hf_gather(a, graph_along(from, weights, mirror, e));
    return hf_gather(hf_gather(a, b), hf_gather(c, d));
}

/** ... of which those of active vertices have one; *any is how many were gathered. */
static inline hf_message graph_some(HF_GLOBAL const uint *from,
                                    HF_GLOBAL const uint *weights,
                                    HF_GLOBAL const hf_update *mirror,
                                    HF_GLOBAL const uint *active, ulong e, ulong stop,
                                    HF_UNUSED uint settled, uint *any) {
    hf_message got = HF_NOTHING;
    uint n = 0;
    for (; e < stop; e++) {
        const uint u = from[e];
        if (active[u / 32] >> (u % 32) & 1) {
            got = hf_gather(got, graph_along(from, weights, mirror, e));
            n++;
            if (HF_ENOUGH(got, settled))
                break;
        }
    }
    *any = n;
    return got;
}

/** Bits of those of vertices first .. end - 1 that may change. Their first edges are fetched into
 *  the cache together: one after the other each would be waited for. */
static inline uint graph_candidates(HF_GLOBAL const ulong *rows,
                                    HF_GLOBAL const uint *from,
                                    HF_GLOBAL const hf_vertex *state,
                                    HF_UNUSED uint settled, uint first, uint end) {
    uint bits = HF_NOBODY >> (32 - (end - first));
    (void)rows, (void)from, (void)state;
#ifndef HF_ALWAYS
    const ulong known = rows[first];
    for (uint v = first; v < end; v++) {
        const ulong e = rows[v];
        const uint no = (uint)!HF_WANTS(state[v], settled) | (uint)(e == rows[v + 1]);
        HF_UNUSED const ulong at = no ? known : e;
        bits ^= no << (v - first);
        HF_PREFETCH_READ(from + at);
    }
#endif
    return bits;
}

/** Edges that leave those of vertices first .. end - 1, at most 32, that have a bit in `bits`:
 *  one of no vertex, which came damaged, counts nothing. */
static inline ulong graph_edges_of(HF_GLOBAL const uint *degrees, uint first, uint end,
                                   uint bits) {
    ulong sum = 0;
    if (bits == HF_NOBODY)
        for (uint v = first; v < end; v++)
            sum += degrees[v];
    else
        for (; bits; bits &= bits - 1) {
            const uint v = first + graph_lowest_bit(bits);
            sum += v < end ? degrees[v] : 0;
        }
    return sum;
}

GRAPH_KERNEL(graph_pull, HF_READ(uint, chunks), HF_READ(ulong, rows),
             HF_READ(uint, from), HF_READ(uint, weights), HF_READ(uint, degrees),
             HF_READ(uint, names), HF_READ(graph_run, run), HF_READ(uchar, inbox),
             HF_WRITE(hf_vertex, state), HF_WRITE(uchar, outbox),
             HF_WRITE(uint, waiting), HF_WRITE(hf_update, later),
             HF_VALUE(uint, superstep), HF_VALUE(uint, everyone),
             HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    GRAPH_BEGIN(graph_pull)
    HF_GLOBAL const uint *active = GRAPH_AT(const uint, inbox, run->in_bits);
    HF_GLOBAL const hf_update *mirror =
        GRAPH_AT(const hf_update, inbox, run->in_updates);
    HF_UNUSED const uint settled = (uint)window;
    GRAPH_LOCAL graph_team team;
    for (uint c = GRAPH_TEAM; c < run->chunks; c += GRAPH_TEAMS) {
        graph_out out = graph_open(&team, outbox, run, c, chunks, superstep, window);
        for (uint first = chunks[c]; first < chunks[c + 1]; first += 32) {
            const uint end = first + 32 < chunks[c + 1] ? first + 32 : chunks[c + 1];
            graph_word word = {0, 0};
            out.count.known +=
                graph_edges_of(degrees, first, end, active[(run->first + first) / 32]);
#ifndef GRAPH_NO_PRIORITIES
            word.late = waiting[first / 32];
#endif
            for (uint left = graph_candidates(rows, from, state, settled, first, end);
                 left; left &= left - 1) {
                const uint v = first + graph_lowest_bit(left);
                const ulong e = rows[v], stop = rows[v + 1];
                hf_message got = HF_NOTHING;
                uint any = 0;
                if (HF_WANTS(state[v], settled)) {
                    if (everyone && !GRAPH_HINTED) {
                        any = (uint)(stop - e);
                        got = graph_all(from, weights, mirror, e, stop);
                    } else {
                        got = graph_some(from, weights, mirror, active, e, stop,
                                         settled, &any);
                    }
                }
                out.count.messages += any;
#ifndef HF_ALWAYS
                if (any)
#endif
                    graph_change(&out, &word, run, names, degrees, state, later, v,
                                 got);
            }
            graph_keep(&out, waiting, word, first, end);
            GRAPH_TELL(graph_pull, word.bits, first)
        }
        graph_wait(&out, waiting, later, chunks[c], chunks[c + 1]);
        graph_close(outbox, &out, c, run->list_words, seal, window);
        GRAPH_END(graph_pull, run->ranks, out.count)
    }
}

#endif
