/* graph_keep.h - which vertices of a word tell something, and which wait. */
#ifndef GRAPH_KEEP_H
#define GRAPH_KEEP_H

#include "graph_outbox.h"

/** The bits of the word of vertices at .. at + 31, of which each work-item has some. */
static inline void graph_keep(graph_out *out, HF_GLOBAL uint *waiting, graph_word word,
                              uint at, uint end) {
    (void)waiting;
    word = graph_word_join(out->team, word);
    if (!GRAPH_FIRST || at >= end)
        return;
    out->bits[at / 32] = word.bits;
#ifndef GRAPH_NO_PRIORITIES
    waiting[at / 32] = word.late;
#endif
}

#endif
