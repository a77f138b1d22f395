/* graph_start.h - what goes before the first superstep, and between two windows of priorities. */
#ifndef GRAPH_START_H
#define GRAPH_START_H

#include "graph_at.h"
#include "graph_keep.h"
#include "graph_message.h"

/** Set the state of own vertex `v` before the first superstep, and of programs with priorities
 *  its place in `later`. Returns 1 if it tells an update and has somebody to hear it. */
static inline uint graph_start_vertex(HF_GLOBAL hf_vertex *state,
                                      HF_GLOBAL hf_update *later, hf_at at, uint v) {
    hf_vertex s;
    hf_update told;
    const uint tells = hf_start(&s, at, &told) != 0;
    state[v] = s;
    (void)later;
#ifndef GRAPH_NO_PRIORITIES
    later[v] = told; /* anything, of who tells nothing */
#endif
    return tells & GRAPH_HEARD(at.degree);
}

/** Start this work-item's vertices of a word. Returns the bits of those that tell something;
 *  those of a whole word whose update is not yet due become *late in their place. Loops
 *  of 32 go by vectors; that over names is apart, as it would keep the other from it. */
static inline uint graph_start_word(HF_GLOBAL const graph_run *run,
                                    HF_GLOBAL const uint *names,
                                    HF_GLOBAL const uint *degrees,
                                    HF_GLOBAL hf_vertex *state,
                                    HF_GLOBAL hf_update *later, uint at, uint end,
                                    HF_UNUSED uint until, uint *late) {
    const uint these = graph_all_bits(at, end) & GRAPH_MINE;
    hf_at where = graph_at(run, 0, 0, 0);
    uint tell = 0, wait = 0;
    if (GRAPH_ITEMS == 1 && these == HF_NOBODY) {
        uint ids[32];
        GRAPH_EACH(i)
            ids[i] = graph_id(run, names, at + i);
        GRAPH_EACH(i) {
            where.id = ids[i];
            where.degree = degrees[at + i];
            tell |= graph_start_vertex(state, later, where, at + i) << i;
        }
        GRAPH_EACH(i)
            wait |= (uint)(GRAPH_LATER(later[at + i], until) != 0) << i;
    } else
        for (uint left = these; left; left &= left - 1) {
            const uint i = graph_lowest_bit(left);
            where.id = graph_id(run, names, at + i);
            where.degree = degrees[at + i];
            tell |= graph_start_vertex(state, later, where, at + i) << i;
        }
    *late = tell & wait;
    return tell & ~wait;
}

/** Clear what this work-item's vertices of a word got. */
static inline void graph_got_clear(HF_GLOBAL uint *got, uint at, uint end) {
    const uint these = graph_all_bits(at, end) & GRAPH_MINE;
    if (these == HF_NOBODY)
        GRAPH_EACH(i)
            got[at + i] = graph_bits_of(HF_NOTHING);
    else
        for (uint left = these; left; left &= left - 1)
            got[at + graph_lowest_bit(left)] = graph_bits_of(HF_NOTHING);
}

/** The bits of those who got messages, and what they got, are as after a superstep. No superstep
 *  is counted in either box: with one rank they change places. */
GRAPH_KERNEL(graph_start, HF_READ(uint, chunks), HF_READ(uint, degrees),
             HF_READ(uint, names), HF_READ(graph_run, run), HF_WRITE(hf_vertex, state),
             HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting),
             HF_WRITE(hf_update, later), HF_WRITE(uint, got), HF_WRITE(uint, touched),
             HF_WRITE(uchar, inbox), HF_VALUE(uint, pushes), HF_VALUE(ulong, window),
             HF_VALUE(uint, seal)) {
    GRAPH_BEGIN(graph_start)
    GRAPH_LOCAL graph_team team;
    for (uint c = mine; c < run->chunks; c += teams) {
        const uint end = chunks[c + 1];
        graph_out out = graph_open(&team, outbox, run, c, chunks, 0, window);
        out.count.superstep = 0; /* whatever lay there */
        GRAPH_AT(graph_count, inbox, 0)[c].superstep = HF_NOBODY;
        for (uint first = chunks[c]; first < end; first += GRAPH_BLOCK) {
            const uint at = first + 32 * GRAPH_WORD;
            graph_word word = {0, 0};
            uint tell = graph_start_word(run, names, degrees, state, later, at, end,
                                         out.until, &word.late);
            if (pushes)
                graph_got_clear(got, at, end);
            for (; tell; tell &= tell - 1) { /* apart: no processor guesses who tells */
                const uint v = at + graph_lowest_bit(tell), degree = degrees[v];
                hf_vertex s;
                hf_update told;
                hf_start(&s, graph_at(run, graph_id(run, names, v), degree, 0), &told);
                graph_update(&out, &word, later, v, told, degree);
            }
            graph_keep(&out, waiting, word, at, end);
            if (GRAPH_FIRST && at < end && pushes)
                touched[at / 32] = 0;
            GRAPH_TELL(graph_start, word.bits, at)
        }
        graph_wait(&out, waiting, later, chunks[c], end);
        graph_close(outbox, &out, c, run->list_words, seal, window);
        GRAPH_END(graph_start, run->ranks, out.count)
    }
}

GRAPH_KERNEL(graph_admit, HF_READ(uint, chunks), HF_READ(uint, degrees),
             HF_READ(graph_run, run), HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting),
             HF_WRITE(hf_update, later), HF_VALUE(uint, superstep),
             HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    GRAPH_BEGIN(graph_admit)
    GRAPH_LOCAL graph_team team;
    for (uint c = mine; c < run->chunks; c += teams) {
        const uint end = chunks[c + 1];
        graph_out out = graph_open(&team, outbox, run, c, chunks, superstep, window);
        for (uint first = chunks[c]; first < end; first += GRAPH_BLOCK) {
            const uint at = first + 32 * GRAPH_WORD,
                       late = at < end ? waiting[at / 32] & GRAPH_MINE : 0;
            graph_word word = {0, late};
            for (uint left = late; left; left &= left - 1) {
                const uint v = at + graph_lowest_bit(left);
                graph_update(&out, &word, later, v, later[v], degrees[v]);
            }
            graph_keep(&out, waiting, word, at, end);
            GRAPH_TELL(graph_admit, word.bits, at)
        }
        graph_wait(&out, waiting, later, chunks[c], end);
        graph_close(outbox, &out, c, run->list_words, seal, window);
        GRAPH_END(graph_admit, run->ranks, out.count)
    }
}

#endif
