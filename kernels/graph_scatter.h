/* graph_scatter.h - architecture gravf: a message along each edge, made where it leaves.
 *
 * A rank makes a record of each message, with the place where the rank that owns the edge's end
 * has it. What each rank gets lies together in the outbox, in no order.
 */
#ifndef GRAPH_SCATTER_H
#define GRAPH_SCATTER_H

#include "graph_record.h"

/** Take `n` places of those that *made counts; the first. */
static inline uint graph_places(HF_GLOBAL uint *made, uint n) {
    uint old = *made;
    for (;;) {
        const uint seen = HF_SWAP(made, old, old + n);
        if (seen == old)
            return old;
        old = seen;
    }
}

/** Make the messages of own vertex `v` for `rank`; the sum of their digests. A superstep that
 *  is taken twice makes more of them than there is room for. */
static inline uint graph_post(HF_GLOBAL const graph_run *run,
                              HF_GLOBAL const ulong *outs, HF_GLOBAL const uint *to,
                              HF_GLOBAL const uint *weights, HF_GLOBAL uchar *outbox,
                              uint rank, uint v, hf_update told, uint superstep) {
    HF_GLOBAL const ulong *rows = outs + (ulong)rank * run->own;
    HF_GLOBAL graph_record *records =
        GRAPH_AT(graph_record, outbox, run->out_records) + rows[0];
    HF_GLOBAL uint *made = GRAPH_AT(uint, outbox, run->made) + rank;
    const ulong room = rows[run->own] - rows[0];
    const uint n = (uint)(rows[v + 1] - rows[v]), first = n ? graph_places(made, n) : 0;
    uint sum = 0;
    (void)weights;
    for (uint i = 0; i < n && first + i < room; i++) {
        const ulong e = rows[v] + i;
        const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
        records[first + i].place = to[e];
        records[first + i].message = hf_scatter(told, edge);
        sum += graph_record_digest(rank, to[e], &records[first + i].message, superstep);
    }
    return sum;
}

/** Edges of own vertices by the rank that they lead to: edges of vertex v to rank r are
 *  outs[r * own + v] .. outs[r * own + v + 1] - 1. The digest of what a chunk made goes into
 *  its count, which is sealed anew: one that was not scattered shows. */
HF_KERNEL(graph_scatter, HF_READ(uint, chunks), HF_READ(ulong, outs), HF_READ(uint, to),
          HF_READ(uint, weights), HF_READ(graph_run, run), HF_WRITE(uchar, outbox),
          HF_VALUE(uint, superstep), HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    GRAPH_LOCAL graph_team team;
    HF_GLOBAL const uint *bits = GRAPH_AT(const uint, outbox, run->out_bits);
    HF_GLOBAL const hf_update *told =
        GRAPH_AT(const hf_update, outbox, run->out_updates);
    for (uint c = GRAPH_TEAM; c < run->chunks; c += GRAPH_TEAMS) {
        const uint end = chunks[c + 1];
        graph_count sum = graph_nothing(0, 0, 0);
        for (uint first = chunks[c]; first < end; first += GRAPH_BLOCK) {
            const uint at = first + 32 * GRAPH_WORD;
            for (uint left = at < end ? bits[at / 32] & GRAPH_MINE : 0; left;
                 left &= left - 1) {
                const uint v = at + graph_lowest_bit(left);
                sum.known += graph_teller(run, v);
                for (uint rank = 0; rank < run->ranks; rank++)
                    sum.digest += graph_post(run, outs, to, weights, outbox, rank, v,
                                             told[v], superstep);
            }
        }
        graph_count_join(&team, &sum);
        if (GRAPH_ME > 0)
            continue;
        graph_count count = GRAPH_AT(const graph_count, outbox, 0)[c];
        if (count.seal != graph_seal(&count, seal, superstep, window))
            count.superstep = HF_NOBODY; /* not counted, or scattered already */
        count.known = sum.known;
        count.listed = sum.digest;
        count.seal = graph_seal(&count, ~seal, superstep, window);
        GRAPH_AT(graph_count, outbox, 0)[c] = count;
    }
}

/** What all ranks made for this one comes to the edges that lead to its vertices; those from
 *  rank r have arrivals[r] places before them. `checks` gets the seals of counts. */
HF_KERNEL(graph_deliver, HF_READ(graph_run, run), HF_READ(ulong, arrivals),
          HF_READ(uchar, outbox), HF_READ(uchar, inbox), HF_WRITE(hf_message, messages),
          HF_WRITE(uchar, heard), HF_WRITE(uint, checks)) {
    const ulong own = arrivals[run->rank + 1] - arrivals[run->rank],
                edges = arrivals[run->ranks];
    for (uint rank = 0; rank < run->ranks; rank++) {
        const uint mine = rank == run->rank;
        HF_GLOBAL const uchar *head = mine ? outbox : inbox + rank * run->head;
        HF_GLOBAL const graph_record *records =
            mine ? GRAPH_AT(const graph_record, outbox, run->out_records) + run->home
                 : GRAPH_AT(const graph_record, inbox, run->in_records) +
                       arrivals[rank] - (rank > run->rank ? own : 0);
        const ulong room = arrivals[rank + 1] - arrivals[rank],
                    made = GRAPH_AT(const uint, head, run->made)[run->rank],
                    n = made < room ? made : room;
        for (ulong c = HF_ITEM; c < run->chunks; c += HF_ITEMS)
            checks[rank * run->chunks + c] +=
                GRAPH_AT(const graph_count, head, 0)[c].seal;
        for (ulong i = HF_ITEM; i < n; i += HF_ITEMS) {
            const uint e = records[i].place;
            if (e >= edges)
                continue;
            messages[e] = records[i].message;
            heard[e] = 1;
        }
    }
}

#endif
