/* graph_apply.h - second half of a superstep that pushes: those who got messages apply them. */
#ifndef GRAPH_APPLY_H
#define GRAPH_APPLY_H

#include "graph_change.h"
#include "graph_keep.h"
#include "graph_message.h"

GRAPH_KERNEL(graph_apply, HF_READ(uint, chunks), HF_READ(uint, degrees),
             HF_READ(uint, names), HF_READ(graph_run, run), HF_READ(ulong, made),
             HF_WRITE(uint, got), HF_WRITE(uint, touched), HF_WRITE(hf_vertex, state),
             HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting),
             HF_WRITE(hf_update, later), HF_VALUE(uint, superstep),
             HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    GRAPH_BEGIN(graph_apply)
    GRAPH_LOCAL graph_team team;
    for (uint c = mine; c < run->chunks; c += teams) {
        const uint end = chunks[c + 1];
        graph_out out = graph_open(&team, outbox, run, c, chunks, superstep, window);
        if (GRAPH_ME == 0) {
            out.count.messages = made[2 * c];
            out.count.known = made[2 * c + 1];
        }
        for (uint first = chunks[c]; first < end; first += GRAPH_BLOCK) {
            const uint at = first + 32 * GRAPH_WORD,
                       these = at < end ? touched[at / 32] : 0;
            graph_word word = {0, 0};
#ifndef GRAPH_NO_PRIORITIES
            if (these)
                word.late = waiting[at / 32] & GRAPH_MINE;
#endif
            for (uint left = these & GRAPH_MINE; left; left &= left - 1) {
                const uint v = at + graph_lowest_bit(left);
                const hf_message sum = graph_message_of(got[v]);
                got[v] = graph_bits_of(HF_NOTHING);
                graph_change(&out, &word, run, names, degrees, state, later, v, sum);
            }
            word = graph_word_join(&team, word);
            if (GRAPH_FIRST && at < end)
                out.bits[at / 32] = word.bits;
            GRAPH_TELL(graph_apply, word.bits, at)
            if (GRAPH_FIRST && these) {
                touched[at / 32] = 0;
#ifndef GRAPH_NO_PRIORITIES
                waiting[at / 32] = word.late;
#endif
            }
        }
        graph_wait(&out, waiting, later, chunks[c], end);
        graph_close(outbox, &out, c, run->list_words, seal, window);
        GRAPH_END(graph_apply, run->ranks, out.count)
    }
}

#endif
