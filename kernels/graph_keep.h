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

#ifndef GRAPH_NO_PRIORITIES
/** The lowest priority of those of 32 updates that wait. The loop over all goes by vectors. */
static inline uint graph_lowest_late(HF_GLOBAL const hf_update *later, uint waiting) {
    uint lowest = HF_NOBODY;
    if (waiting == HF_NOBODY)
        GRAPH_EACH(i) {
            const uint when = HF_WHEN(later[i]);
            lowest = when < lowest ? when : lowest;
        }
    else
        for (uint left = waiting; left; left &= left - 1) {
            const uint when = HF_WHEN(later[graph_lowest_bit(left)]);
            lowest = when < lowest ? when : lowest;
        }
    return lowest;
}
#endif

/** Count the updates that wait; their lowest priority is of use only where nobody tells. */
static inline void graph_wait(graph_out *out, HF_GLOBAL const uint *waiting,
                              HF_GLOBAL const hf_update *later, uint first, uint end) {
    (void)out, (void)waiting, (void)later, (void)first, (void)end;
#ifndef GRAPH_NO_PRIORITIES
    GRAPH_MEET(); /* all of the chunk's bits are there */
    for (uint v = first + 32 * GRAPH_ME; v < end; v += 32 * GRAPH_ITEMS) {
        const uint bits = waiting[v / 32] & graph_all_bits(v, end);
        out->count.pending += graph_bit_count(bits);
        if (out->count.active == 0) {
            const uint when = graph_lowest_late(later + v, bits);
            out->count.lowest = when < out->count.lowest ? when : out->count.lowest;
        }
    }
#endif
}

#endif
