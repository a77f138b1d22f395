/* graph_take.h - what all ranks told becomes what the next superstep sees. */
#ifndef GRAPH_TAKE_H
#define GRAPH_TAKE_H

#include "graph_outbox.h"

/** The updates of 32 vertices from `v` on, all active. Returns their digest. */
static inline uint graph_take_all(HF_GLOBAL hf_update *mirror,
                                  HF_GLOBAL const hf_update *told, uint v,
                                  uint superstep) {
    uint digest = 0;
    GRAPH_EACH(i)
        mirror[v + i] = told[i];
    GRAPH_EACH(i)
        digest += graph_digest(v + i, mirror[v + i], superstep);
    return digest;
}

/** Part i is chunk i % chunks of rank i / chunks. `listed`: all updates are in the heads'
 *  lists; else bits and updates lie behind them. `checks` gets the seals of counts, and the
 *  digests of what the next superstep sees. */
HF_KERNEL(graph_take, HF_READ(graph_run, run), HF_READ(graph_place, places),
          HF_READ(uchar, outbox), HF_WRITE(uchar, inbox), HF_WRITE(uint, checks),
          HF_VALUE(uint, superstep), HF_VALUE(uint, listed)) {
    GRAPH_LOCAL graph_team team;
    HF_GLOBAL uint *active = GRAPH_AT(uint, inbox, run->in_bits);
    HF_GLOBAL hf_update *mirror = GRAPH_AT(hf_update, inbox, run->in_updates);
    for (uint i = GRAPH_TEAM; i < run->ranks * run->chunks; i += GRAPH_TEAMS) {
        const uint rank = i / run->chunks, c = i % run->chunks;
        const graph_place place = places[rank];
        HF_GLOBAL const uchar *box =
            rank == run->rank ? outbox : (HF_GLOBAL const uchar *)inbox + place.box;
        const graph_count count = GRAPH_AT(const graph_count, box, 0)[c];
        /* A count that came damaged may name vertices of others: nothing of it is taken. */
        const uint fits =
            count.first >= place.first && count.end <= places[rank + 1].first;
        const uint words = fits && count.first < count.end
                               ? (count.end + 31) / 32
                               : 0; /* none of an empty one */
        const uint end = count.end < place.heard ? count.end : place.heard;
        graph_count sum = graph_nothing(0, 0, 0);
        sum.digest += !fits && GRAPH_ME == 0;
        if (listed) {
            const ulong list = run->list + (ulong)c * run->list_words * sizeof(uint);
            HF_GLOBAL const uint *ids = GRAPH_AT(const uint, box, list);
            HF_GLOBAL const hf_update *tolds =
                GRAPH_AT(const hf_update, box, list + run->room * sizeof(uint));
            for (uint w = count.first / 32 + GRAPH_ME; w < words; w += GRAPH_ITEMS)
                active[w] = 0;
            GRAPH_MEET();
            for (uint k = GRAPH_ME; fits && k < count.active && k < run->room;
                 k += GRAPH_ITEMS) {
                const uint v = ids[k];
                if (v < count.first || v >= end)
                    continue;
                HF_OR(&active[v / 32], 1u << v % 32);
                mirror[v] = tolds[k];
                sum.digest += graph_digest(v, mirror[v], superstep);
            }
        } else {
            HF_GLOBAL const uint *bits = GRAPH_AT(const uint, box, run->out_bits);
            HF_GLOBAL const hf_update *told =
                GRAPH_AT(const hf_update, box, place.updates);
            for (uint w = count.first / 32 + GRAPH_ME; w < words; w += GRAPH_ITEMS) {
                const uint first = 32 * w - place.first;
                active[w] = bits[first / 32];
                if (active[w] == HF_NOBODY && 32 * w + 32 <= end) {
                    sum.digest +=
                        graph_take_all(mirror, told + first, 32 * w, superstep);
                    continue;
                }
                for (uint left = active[w]; left; left &= left - 1) {
                    const uint v = 32 * w + graph_lowest_bit(left);
                    if (v >= end) { /* it has nothing to tell: the bit came damaged */
                        sum.digest++;
                        continue;
                    }
                    mirror[v] = told[v - place.first];
                    sum.digest += graph_digest(v, mirror[v], superstep);
                }
            }
        }
        graph_count_join(&team, &sum);
        if (GRAPH_ME == 0)
            checks[i] += count.seal + sum.digest;
    }
}

#endif
