/* graph_push_group.h - graph_push for GPUs: a work-group has a chunk. */
#ifndef GRAPH_PUSH_GROUP_H
#define GRAPH_PUSH_GROUP_H

#include "graph_lay.h"
#include "graph_message.h"

/** As in graph_push.h. */
HF_KERNEL(graph_push, HF_READ(uint, pieces), HF_READ(ulong, outs), HF_READ(uint, to),
          HF_READ(uint, weights), HF_READ(graph_run, run), HF_READ(uchar, inbox),
          HF_READ(hf_vertex, state), HF_WRITE(uint, got), HF_WRITE(uint, touched),
          HF_WRITE(ulong, made), HF_VALUE(ulong, window)) {
    GRAPH_LOCAL graph_team team;
    HF_GLOBAL const uint *active = GRAPH_AT(const uint, inbox, run->in_bits);
    HF_GLOBAL const hf_update *mirror =
        GRAPH_AT(const hf_update, inbox, run->in_updates);
    for (uint c = GRAPH_TEAM; c < run->chunks; c += GRAPH_TEAMS) {
        const uint end = pieces[c + 1];
        graph_count sum = graph_nothing(0, 0, 0);
        for (uint first = pieces[c]; first < end; first += GRAPH_BLOCK) {
            const uint u = first + GRAPH_ME,
                       tells = u < end && (active[u / 32] & GRAPH_MINE);
            const ulong row = tells ? outs[u] : 0,
                        edges = tells ? outs[u + 1] - row : 0;
            const uint n = graph_lay(&team, row, edges);
            sum.known += edges + (tells ? graph_own_teller(run, u) : 0);
            for (uint k = GRAPH_ME; k < n; k += GRAPH_ITEMS) {
                const uint i = graph_whose(&team, k);
                sum.messages +=
                    graph_send(to, weights, state, got, touched, mirror[first + i],
                               team.rows[i] + (k - team.ends[i]), (uint)window);
            }
            for (uint j = 0; j < team.n_longs; j++) {
                const uint i = team.longs[j];
                const hf_update told = mirror[first + i];
                for (ulong e = team.rows[i] + GRAPH_ME; e < outs[first + i + 1];
                     e += GRAPH_ITEMS)
                    sum.messages += graph_send(to, weights, state, got, touched, told,
                                               e, (uint)window);
            }
        }
        graph_count_join(&team, &sum);
        if (GRAPH_ME > 0)
            continue;
        made[2 * c] = sum.messages;
        made[2 * c + 1] = sum.known;
    }
}

#endif
