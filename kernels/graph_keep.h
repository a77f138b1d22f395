/* graph_keep.h - which vertices of a word tell something, and which wait. */
#ifndef GRAPH_KEEP_H
#define GRAPH_KEEP_H

#include "graph_digest.h"
#include "graph_outbox.h"

/** Bits of those of vertices at .. at + 31 that tell, of whom each work-item has some. Of all 32
 *  compilers make the digest by vectors. */
static inline void graph_keep_bits(graph_out *out, uint bits, uint at) {
    const uint v = out->first + at;
    if (GRAPH_FIRST)
        out->bits[at / 32] = bits;
    if (out->room == 0)
        return; /* nobody takes updates of others */
    if ((bits & GRAPH_MINE) == HF_NOBODY)
        for (uint i = 0; i < 32; i++)
            out->count.digest += graph_digest(v + i, out->told[at + i], out->superstep);
    else
        for (uint left = bits & GRAPH_MINE; left; left &= left - 1) {
            const uint i = graph_lowest_bit(left);
            out->count.digest += graph_digest(v + i, out->told[at + i], out->superstep);
        }
}

/** The bits of the word of vertices at .. at + 31, of which each work-item has some. */
static inline void graph_keep(graph_out *out, HF_GLOBAL uint *waiting, graph_word word,
                              uint at, uint end) {
    (void)waiting;
    word = graph_word_join(out->team, word);
    if (at >= end)
        return;
    graph_keep_bits(out, word.bits, at);
#ifndef GRAPH_NO_PRIORITIES
    if (GRAPH_FIRST)
        waiting[at / 32] = word.late;
#endif
}

#endif
