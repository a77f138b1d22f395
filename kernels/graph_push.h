/* graph_push.h - first half of a superstep that pushes: those who told make messages along the
 * edges that leave them. A work-item has a chunk. */
#ifndef GRAPH_PUSH_H
#define GRAPH_PUSH_H

#include "graph_message.h"

/** Send `told` along edges e .. stop - 1, at most GRAPH_AHEAD, where most messages are dropped;
 *  returns how many were not. Which ones is hard to guess for a CPU: no branch depends on it, and
 *  places are fetched for those that are left. */
static inline uint graph_send_some(HF_GLOBAL const uint *to,
                                   HF_GLOBAL const uint *weights,
                                   HF_GLOBAL const hf_vertex *state,
                                   HF_GLOBAL uint *got, HF_GLOBAL uint *touched,
                                   hf_update told, ulong e, ulong stop,
                                   HF_UNUSED uint settled) {
    uint ends[GRAPH_AHEAD], n = 0;
    hf_message made[GRAPH_AHEAD];
    (void)weights;
    for (ulong i = e; i < stop; i++)
        HF_PREFETCH_READ(state + to[i]);
    for (; e < stop; e++) {
        const uint v = to[e];
        const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
        const hf_message m = hf_scatter(told, edge);
        ends[n] = v;
        made[n] = m;
        n += graph_takes(&state[v], m, settled);
    }
    for (uint i = 0; i < n; i++)
        HF_PREFETCH_READ(got + ends[i]);
    for (uint i = 0; i < n; i++)
        graph_leave(got, touched, ends[i], made[i]);
    return n;
}

/** Send `told` along edges e .. end - 1; returns how many messages that made. */
static inline ulong graph_send_all(HF_GLOBAL const uint *to,
                                   HF_GLOBAL const uint *weights,
                                   HF_GLOBAL const hf_vertex *state,
                                   HF_GLOBAL uint *got, HF_GLOBAL uint *touched,
                                   hf_update told, ulong e, ulong end, uint settled) {
    ulong n = 0;
    while (e < end) {
        const ulong stop = end - e < GRAPH_AHEAD ? end : e + GRAPH_AHEAD;
        if (GRAPH_HELPED) {
            n += graph_send_some(to, weights, state, got, touched, told, e, stop,
                                 settled);
        } else {
            graph_fetch_ends(to, state, got, e, stop);
            for (ulong i = e; i < stop; i++)
                n += graph_send(to, weights, state, got, touched, told, i, settled);
        }
        e = stop;
    }
    return n;
}

/** Piece c of all ranks' vertices; made[2 c] is how many messages its vertices made, and the
 *  next along how many edges, with those vertices that are the rank's own. */
GRAPH_TEAM_KERNEL(graph_push, HF_READ(uint, pieces), HF_READ(ulong, outs),
                  HF_READ(uint, to), HF_READ(uint, weights), HF_READ(graph_run, run),
                  HF_READ(uchar, inbox), HF_READ(hf_vertex, state), HF_WRITE(uint, got),
                  HF_WRITE(uint, touched), HF_WRITE(ulong, made),
                  HF_VALUE(ulong, window)) {
    GRAPH_TEAM_BEGIN
    HF_GLOBAL const uint *active = GRAPH_AT(const uint, inbox, run->in_bits);
    HF_GLOBAL const hf_update *mirror =
        GRAPH_AT(const hf_update, inbox, run->in_updates);
    for (uint c = mine; c < run->chunks; c += teams) {
        const uint end = pieces[c + 1];
        ulong n = 0, known = 0;
        for (uint first = pieces[c]; first < end; first += 32) {
            const uint told = active[first / 32] & graph_all_bits(first, end);
            for (uint left = told; left; left &= left - 1) {
                const uint u = first + graph_lowest_bit(left);
                graph_fetch(to, weights, outs[u], outs[u + 1]);
            }
            for (uint left = told; left; left &= left - 1) {
                const uint u = first + graph_lowest_bit(left);
                known += outs[u + 1] - outs[u] + graph_own_teller(run, u);
                n += graph_send_all(to, weights, state, got, touched, mirror[u],
                                    outs[u], outs[u + 1], (uint)window);
            }
        }
        made[2 * c] = n;
        made[2 * c + 1] = known;
    }
}

#endif
