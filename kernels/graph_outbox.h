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
    graph_count count;
} graph_out;

static inline graph_out graph_open(HF_GLOBAL uchar *outbox,
                                   HF_GLOBAL const graph_run *run, uint c,
                                   HF_GLOBAL const uint *chunks) {
    const ulong place = run->list + (ulong)c * run->list_words * sizeof(uint);
    graph_out out;
    out.list = GRAPH_AT(uint, outbox, place);
    for (uint i = 0; i < run->list_words; i++)
        out.list[i] = 0;
    out.bits = GRAPH_AT(uint, outbox, run->out_bits);
    out.told = GRAPH_AT(hf_update, outbox, run->out_updates);
    out.ids = GRAPH_AT(uint, outbox, place);
    out.tolds = GRAPH_AT(hf_update, outbox, place + run->room * sizeof(uint));
    out.count.edges = 0;
    out.count.messages = 0;
    out.count.active = 0;
    out.count.pending = 0;
    out.count.lowest = HF_NOBODY;
    out.count.changed = 0;
    out.count.first = run->first + chunks[c];
    out.count.end = run->first + chunks[c + 1];
    out.count.digest = 0;
    out.count.listed = 0;
    out.count.seal = 0;
    return out;
}

/** Tell the update of vertex `v`, a number of all ranks. */
static inline void graph_tell(graph_out *out, uint v, hf_update told, uint degree,
                              uint room, uint superstep) {
    const uint n = out->count.active;
    if (n < room) {
        out->ids[n] = v;
        out->tolds[n] = told;
    }
    out->count.active = n + 1;
    out->count.edges += degree;
    out->count.digest += graph_digest(v, told, superstep);
}

static inline void graph_wait(graph_out *out, uint when) {
    out->count.pending++;
    out->count.lowest = when < out->count.lowest ? when : out->count.lowest;
}

static inline void graph_close(HF_GLOBAL uchar *outbox, graph_out *out, uint c,
                               uint list_words, uint seal, uint superstep,
                               ulong window) {
    out->count.superstep = superstep;
    for (uint i = 0; i < list_words; i++)
        out->count.listed += graph_term(i, out->list[i]);
    out->count.seal = graph_seal(&out->count, seal, superstep, window);
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
