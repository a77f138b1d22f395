/* graph_take.h - what all ranks told becomes what the next superstep sees. */
#ifndef GRAPH_TAKE_H
#define GRAPH_TAKE_H

#include "graph_outbox.h"

/** Part i is chunk i % chunks of rank i / chunks. `listed`: all updates are in the heads'
 *  lists; else the bits and updates of other ranks lie in the inbox already. `checks` gets the
 *  digests of what the next superstep sees. */
HF_KERNEL(graph_take, HF_READ(graph_run, run), HF_READ(uchar, outbox),
          HF_WRITE(uchar, inbox), HF_WRITE(uint, checks), HF_VALUE(uint, superstep),
          HF_VALUE(uint, listed)) {
    GRAPH_LOCAL graph_team team;
    HF_GLOBAL uint *active = GRAPH_AT(uint, inbox, run->in_bits);
    HF_GLOBAL hf_update *mirror = GRAPH_AT(hf_update, inbox, run->in_updates);
    HF_GLOBAL const uint *own_bits = GRAPH_AT(const uint, outbox, run->out_bits);
    HF_GLOBAL const hf_update *own =
        GRAPH_AT(const hf_update, outbox, run->out_updates);
    for (uint i = GRAPH_TEAM; i < run->ranks * run->chunks; i += GRAPH_TEAMS) {
        const uint rank = i / run->chunks, c = i % run->chunks;
        HF_GLOBAL const uchar *head =
            rank == run->rank ? outbox
                              : (HF_GLOBAL const uchar *)inbox + rank * run->head;
        const graph_count count = GRAPH_AT(const graph_count, head, 0)[c];
        const uint words = count.first < count.end ? (count.end + 31) / 32
                                                   : 0; /* none of an empty one */
        graph_count sum = graph_nothing(0, 0, 0);
        if (listed) {
            const ulong place = run->list + (ulong)c * run->list_words * sizeof(uint);
            HF_GLOBAL const uint *ids = GRAPH_AT(const uint, head, place);
            HF_GLOBAL const hf_update *tolds =
                GRAPH_AT(const hf_update, head, place + run->room * sizeof(uint));
            for (uint w = count.first / 32 + GRAPH_ME; w < words; w += GRAPH_ITEMS)
                active[w] = 0;
            GRAPH_MEET();
            for (uint k = GRAPH_ME; k < count.active && k < run->room;
                 k += GRAPH_ITEMS) {
                const uint v = ids[k];
                if (v < count.first || v >= count.end)
                    continue;
                HF_OR(&active[v / 32], 1u << v % 32);
                mirror[v] = tolds[k];
                sum.digest += graph_digest(v, mirror[v], superstep);
            }
        } else {
            for (uint w = count.first / 32 + GRAPH_ME; w < words; w += GRAPH_ITEMS) {
                if (rank == run->rank)
                    active[w] = own_bits[w - run->first / 32];
                for (uint left = active[w]; left; left &= left - 1) {
                    const uint v = 32 * w + graph_lowest_bit(left);
                    if (v >= count.end) { /* no vertex: the bit came damaged */
                        sum.digest++;
                        continue;
                    }
                    if (rank == run->rank)
                        mirror[v] = own[v - run->first];
                    sum.digest += graph_digest(v, mirror[v], superstep);
                }
            }
        }
        graph_count_join(&team, &sum);
        if (GRAPH_ME == 0)
            checks[i] += sum.digest;
    }
}

#endif
