/* graph_outbox.h - what a chunk of vertices tells in a superstep. */
#ifndef GRAPH_OUTBOX_H
#define GRAPH_OUTBOX_H

#include "graph_bits.h"
#include "graph_digest.h"
#include "graph_team.h"

#define GRAPH_HEARD(degree)     ((degree) > 0) /* nobody hears it otherwise */
#define GRAPH_AT(T, box, place) ((HF_GLOBAL T *)((box) + (place)))

/* A kernel that makes updates. Where devices have channels it sends them, too: graph_stream.cl. */
#ifndef GRAPH_KERNEL
#define GRAPH_KERNEL(kernel, ...) GRAPH_TEAM_KERNEL(kernel, __VA_ARGS__)
#define GRAPH_BEGIN(kernel)       GRAPH_TEAM_BEGIN
#define GRAPH_TELL(kernel, bits, begin)
#define GRAPH_END(kernel, ranks, count)
#endif

/** A chunk's part of an outbox while it is written; a plain value of each work-item. */
typedef struct graph_out {
    GRAPH_LOCAL graph_team *team;
    HF_GLOBAL uint *bits;       /**< [own / 32] */
    HF_GLOBAL hf_update *told;  /**< [own] */
    HF_GLOBAL uint *list;       /**< [list_words]: ids, then tolds */
    HF_GLOBAL uint *ids;        /**< [room] */
    HF_GLOBAL hf_update *tolds; /**< [room] */
    uint digests, room, first, superstep, until;
    graph_count count;
} graph_out;

static inline graph_count graph_nothing(uint first, uint end, uint superstep) {
    graph_count count;
    count.edges = 0;
    count.messages = 0;
    count.known = 0;
    count.active = 0;
    count.pending = 0;
    count.lowest = HF_NOBODY;
    count.changed = 0;
    count.first = first;
    count.end = end;
    count.superstep = superstep;
    count.digest = 0;
    count.listed = 0;
    count.seal = 0;
    return count;
}

static inline graph_out graph_open(GRAPH_LOCAL graph_team *team,
                                   HF_GLOBAL uchar *outbox,
                                   HF_GLOBAL const graph_run *run, uint c,
                                   HF_GLOBAL const uint *chunks, uint superstep,
                                   ulong window) {
    const ulong place = run->list + (ulong)c * run->list_words * sizeof(uint);
    /* A superstep that is taken twice counts as none: the second time would find nothing new. */
    const uint again = GRAPH_AT(const graph_count, outbox, 0)[c].superstep == superstep;
    graph_out out;
    out.team = team;
    out.list = GRAPH_AT(uint, outbox, place);
    for (uint i = GRAPH_ME; i < run->list_words; i += GRAPH_ITEMS)
        out.list[i] = 0;
    graph_slots_clear(team);
    out.bits = GRAPH_AT(uint, outbox, run->out_bits);
    out.told = GRAPH_AT(hf_update, outbox, run->out_updates);
    out.ids = GRAPH_AT(uint, outbox, place);
    out.tolds = GRAPH_AT(hf_update, outbox, place + run->room * sizeof(uint));
    out.digests = run->digests;
    out.room = run->room;
    out.first = run->first;
    out.superstep = superstep;
    out.until = (uint)(window >> 32);
    out.count = graph_nothing(run->first + chunks[c], run->first + chunks[c + 1],
                              again ? HF_NOBODY : superstep);
    return out;
}

/** The update of own vertex `v`, of which the chunk told n before, goes to other ranks. */
static inline void graph_list(graph_out *out, uint n, uint v, hf_update told) {
    out->count.digest += graph_digest(out->first + v, told, out->superstep);
    if (GRAPH_ALL)
        return; /* no list has room for all */
    n = graph_slot(out->team, n);
    if (n < out->room) {
        out->ids[n] = out->first + v;
        out->tolds[n] = told;
    }
}

/** Tell the update of own vertex `v`. */
static inline void graph_tell(graph_out *out, uint v, hf_update told, uint degree) {
    out->told[v] = told;
    if (out->digests)
        graph_list(out, out->count.active, v, told);
    out->count.active++;
    out->count.edges += degree;
}

/** A new update of own vertex `v` is told now, or waits in `later`. */
static inline void graph_update(graph_out *out, graph_word *word,
                                HF_GLOBAL hf_update *later, uint v, hf_update told,
                                uint degree) {
    const uint bit = 1u << v % 32;
    (void)later;
#ifndef GRAPH_NO_PRIORITIES
    if (GRAPH_LATER(told, out->until)) {
        later[v] = told;
        word->late |= bit;
        return;
    }
    word->late &= ~bit;
#endif
    word->bits |= bit;
    graph_tell(out, v, told, degree);
}

static inline void graph_close(HF_GLOBAL uchar *outbox, graph_out *out, uint c,
                               uint list_words, uint seal, ulong window) {
    graph_count_join(out->team, &out->count);
    if (GRAPH_ME > 0)
        return;
    for (uint i = 0; i < list_words; i++)
        out->count.listed += graph_term(i, out->list[i]);
    out->count.seal = graph_seal(&out->count, seal, out->superstep, window);
    GRAPH_AT(graph_count, outbox, 0)[c] = out->count;
}

#endif
