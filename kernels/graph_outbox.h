/* graph_outbox.h - what a chunk of vertices tells in a superstep. */
#ifndef GRAPH_OUTBOX_H
#define GRAPH_OUTBOX_H

#include "graph_program.h"

#ifdef HF_ALWAYS
#define GRAPH_HEARD(degree) 1
#else
#define GRAPH_HEARD(degree) ((degree) > 0) /* nobody hears an update otherwise */
#endif
#define GRAPH_AT(T, box, place) ((HF_GLOBAL T *)((box) + (place)))

#ifdef HF_HOST
static inline uint graph_lowest_bit(uint x) {
    return (uint)__builtin_ctz(x);
}
#elif defined(HF_XILINX)
static inline uint graph_lowest_bit(uint x) {
    uint n = 0;
    while (!(x >> n & 1))
        n++;
    return n;
}
#else
static inline uint graph_lowest_bit(uint x) {
    return 31 - clz(x & (0 - x));
}
#endif

/** A chunk's part of an outbox while it is written; a plain value. */
typedef struct graph_out {
    HF_GLOBAL uint *bits;       /**< [own / 32] */
    HF_GLOBAL hf_update *told;  /**< [own] */
    HF_GLOBAL uint *list;       /**< [list_words]: ids, then tolds */
    HF_GLOBAL uint *ids;        /**< [room] */
    HF_GLOBAL hf_update *tolds; /**< [room] */
    uint room, first, superstep, until;
    graph_count count;
} graph_out;

static inline graph_count graph_nothing(uint first, uint end, uint superstep) {
    graph_count count;
    count.edges = 0;
    count.messages = 0;
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

static inline graph_out graph_open(HF_GLOBAL uchar *outbox,
                                   HF_GLOBAL const graph_run *run, uint c,
                                   HF_GLOBAL const uint *chunks, uint superstep,
                                   ulong window) {
    const ulong place = run->list + (ulong)c * run->list_words * sizeof(uint);
    /* Taken again, a superstep finds nothing to tell in what it left: it counts as none. */
    const uint again = GRAPH_AT(const graph_count, outbox, 0)[c].superstep == superstep;
    graph_out out;
    out.list = GRAPH_AT(uint, outbox, place);
    for (uint i = 0; i < run->list_words; i++)
        out.list[i] = 0;
    out.bits = GRAPH_AT(uint, outbox, run->out_bits);
    out.told = GRAPH_AT(hf_update, outbox, run->out_updates);
    out.ids = GRAPH_AT(uint, outbox, place);
    out.tolds = GRAPH_AT(hf_update, outbox, place + run->room * sizeof(uint));
    out.room = run->room;
    out.first = run->first;
    out.superstep = superstep;
    out.until = (uint)(window >> 32);
    out.count = graph_nothing(run->first + chunks[c], run->first + chunks[c + 1],
                              again ? HF_NOBODY : superstep);
    return out;
}

/** Tell the update of own vertex `v`. */
static inline void graph_tell(graph_out *out, uint v, hf_update told, uint degree) {
    const uint n = out->count.active;
    out->told[v] = told;
    out->count.active = n + 1;
    out->count.edges += degree;
    if (out->room == 0)
        return; /* there is no other rank */
    if (n < out->room) {
        out->ids[n] = out->first + v;
        out->tolds[n] = told;
    }
    out->count.digest += graph_digest(out->first + v, told, out->superstep);
}

/** Bits of 32 vertices: of those that tell, and of those whose update is not yet due. */
typedef struct graph_word {
    uint bits, late;
} graph_word;

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

/** Count the updates that wait; their lowest priority is of use only where nobody tells. */
static inline void graph_wait(graph_out *out, HF_GLOBAL const uint *waiting,
                              HF_GLOBAL const hf_update *later, uint first, uint end) {
    (void)out, (void)waiting, (void)later, (void)first, (void)end;
#ifndef GRAPH_NO_PRIORITIES
    for (uint v = first; v < end; v += 32)
        for (uint left = waiting[v / 32]; left; left &= left - 1) {
            out->count.pending++;
            if (out->count.active == 0) {
                const uint when = HF_WHEN(later[v + graph_lowest_bit(left)]);
                out->count.lowest = when < out->count.lowest ? when : out->count.lowest;
            }
        }
#endif
}

static inline void graph_close(HF_GLOBAL uchar *outbox, graph_out *out, uint c,
                               uint list_words, uint seal, ulong window) {
    for (uint i = 0; i < list_words; i++)
        out->count.listed += graph_term(i, out->list[i]);
    out->count.seal = graph_seal(&out->count, seal, out->superstep, window);
    GRAPH_AT(graph_count, outbox, 0)[c] = out->count;
}

static inline hf_at graph_at(HF_GLOBAL const graph_run *run, uint id, uint degree,
                             uint superstep) {
    hf_at at;
    at.id = id;
    at.degree = degree;
    at.vertices = run->vertices;
    at.source = run->source;
    at.superstep = superstep;
    for (uint i = 0; i < GRAPH_VALUES; i++)
        at.value[i] = run->value[i];
    return at;
}

#endif
