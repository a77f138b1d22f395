/* graph_pull.h - a superstep that pulls: every vertex gathers along the edges that lead to it. A
 * work-item has a chunk. */
#ifndef GRAPH_PULL_H
#define GRAPH_PULL_H

#include "graph_along.h"
#include "graph_change.h"
#include "graph_find.h"
#include "graph_keep.h"
#include "graph_led.h"

enum {
    GRAPH_LONG = 64,  /* edges from which on a row is long */
    GRAPH_SOON = 192, /* edges ahead of which a row is fetched */
};

/** Gather along edges e .. stop - 1, of which all have a message. Of a long row four at a time,
 *  each with a sum of its own: one alone is as slow as the additions after each other. A short
 *  row has one loop, since a CPU guesses the end of each loop wrong. Edges are read once, and
 *  updates often: those should stay in the caches. */
static inline hf_message graph_all(HF_GLOBAL const uint *from,
                                   HF_GLOBAL const uint *weights,
                                   HF_GLOBAL const hf_update *mirror, ulong e,
                                   ulong stop) {
    hf_message a = HF_NOTHING, b = HF_NOTHING, c = HF_NOTHING, d = HF_NOTHING;
    if (e + GRAPH_LONG <= stop)
        for (; e + 4 <= stop; e += 4) {
            HF_PREFETCH_PAST(from + e + GRAPH_SOON);
            a = hf_gather(a, graph_along(from, weights, mirror, e));
            b = hf_gather(b, graph_along(from, weights, mirror, e + 1));
            c = hf_gather(c, graph_along(from, weights, mirror, e + 2));
            d = hf_gather(d, graph_along(from, weights, mirror, e + 3));
        }
    for (ulong i = e; i < stop; i += GRAPH_LINE)
        HF_PREFETCH_PAST(from + i + GRAPH_SOON);
    for (; e < stop; e++)
        a = hf_gather(a, graph_along(from, weights, mirror, e));
    return hf_gather(hf_gather(a, b), hf_gather(c, d));
}

/** Gather `got`, until that is enough, with the messages of those of edges e .. stop - 1 that come
 *  from active vertices; *any are counted. */
static inline hf_message
graph_some(HF_GLOBAL const uint *from, HF_GLOBAL const uint *weights,
           HF_GLOBAL const hf_update *mirror, HF_GLOBAL const uint *active,
           hf_message got, ulong e, ulong stop, HF_UNUSED uint settled, uint *any) {
    while ((e = graph_next(from, active, e, stop)) < stop) {
        got = hf_gather(got, graph_along(from, weights, mirror, e++));
        ++*any;
        if (HF_ENOUGH(got, settled))
            break;
    }
    return got;
}

/** Those of vertices first .. end - 1, at most 32, that have a bit in `bits`, and edges that leave
 *  them: a bit of no vertex, which came damaged, counts nothing. */
static inline ulong graph_known_of(HF_GLOBAL const graph_run *run,
                                   HF_GLOBAL const uint *degrees, uint first, uint end,
                                   uint bits) {
    ulong sum = 0;
    if (bits && end - first == 32 && end <= run->tells)
        GRAPH_EACH(i)
            sum += (degrees[first + i] + 1) & (0 - (bits >> i & 1));
    else
        for (bits &= graph_all_bits(first, end); bits; bits &= bits - 1) {
            const uint v = first + graph_lowest_bit(bits);
            sum += degrees[v] + graph_teller(run, v);
        }
    return sum;
}

GRAPH_KERNEL(graph_pull, HF_READ(uint, chunks), HF_READ(ulong, rows),
             HF_READ(uint, from), HF_READ(uint, weights), HF_READ(uint, degrees),
             HF_READ(uint, names), HF_READ(graph_run, run), HF_READ(uchar, inbox),
             HF_WRITE(hf_vertex, state), HF_WRITE(uchar, outbox),
             HF_WRITE(uint, waiting), HF_WRITE(hf_update, later),
             HF_VALUE(uint, superstep), HF_VALUE(uint, everyone),
             HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    GRAPH_BEGIN(graph_pull)
    HF_GLOBAL const uint *active = GRAPH_AT(const uint, inbox, run->in_bits);
    HF_GLOBAL const hf_update *mirror =
        GRAPH_AT(const hf_update, inbox, run->in_updates);
    HF_GLOBAL const uint *leads = degrees + run->own;
    HF_UNUSED const uint settled = (uint)window;
    const uint all = everyone && !GRAPH_HINTED;
    GRAPH_LOCAL graph_team team;
    for (uint c = mine; c < run->chunks; c += teams) {
        graph_out out = graph_open(&team, outbox, run, c, chunks, superstep, window);
        const uint last = chunks[c + 1], led_end = graph_led_end(rows, chunks[c], last);
        for (uint first = chunks[c]; first < last; first += 32) {
            const uint end = graph_block_end(first, last),
                       whole = GRAPH_ALL ? graph_all_bits(first, end) : 0,
                       these = GRAPH_ALL && all ? whole
                               : first < led_end
                                   ? graph_candidates(leads, state, settled, first, end)
                                   : 0;
            graph_word word = {0, 0};
            out.count.known += graph_known_of(run, degrees, first, end,
                                              active[(run->first + first) / 32]);
#ifndef GRAPH_NO_PRIORITIES
            word.late = waiting[first / 32];
#endif
            if (all) {
                for (uint v = first; v < end; v++) { /* a loop over bits is slower */
                    hf_message got = HF_NOTHING;
                    if (!(these >> (v - first) & 1))
                        continue;
                    if (HF_WANTS(state[v], settled)) {
                        out.count.messages += rows[v + 1] - rows[v];
                        got = graph_all(from, weights, mirror, rows[v], rows[v + 1]);
                    }
                    graph_change(&out, &word, run, names, degrees, state, later, v,
                                 got);
                }
            } else {
                graph_found found;
                graph_find(rows, from, leads, mirror, active, first, these, &found);
                if (!GRAPH_ALL && end - first == 32 &&
                    graph_bit_count(found.led) >= GRAPH_DENSE)
                    found.led &= ~graph_led_change(&out, &word, run, names, degrees,
                                                   rows, leads, weights, mirror, state,
                                                   later, first, found.led, settled);
                for (uint left = found.led; left; left &= left - 1) {
                    const uint v = first + graph_lowest_bit(left);
                    uint n = 1;
                    hf_message got = graph_along_from(leads[v], weights, mirror,
                                                      GRAPH_EDGE(rows[v]));
                    if (!HF_ENOUGH(got, settled))
                        got = graph_some(from, weights, mirror, active, got,
                                         rows[v] + 1, rows[v + 1], settled, &n);
                    out.count.messages += n;
                    graph_change(&out, &word, run, names, degrees, state, later, v,
                                 got);
                }
                for (uint left = found.others | (whole & ~found.led); left;
                     left &= left - 1) {
                    const uint i = graph_lowest_bit(left), v = first + i;
                    uint n = 0;
                    hf_message got = HF_NOTHING;
                    if (found.others >> i & 1)
                        got = graph_some(from, weights, mirror, active, got,
                                         found.at[i], rows[v + 1], settled, &n);
                    out.count.messages += n;
                    graph_change(&out, &word, run, names, degrees, state, later, v,
                                 got);
                }
            }
            graph_keep(&out, waiting, word, first, end);
            GRAPH_TELL(graph_pull, word.bits, first)
        }
        graph_wait(&out, waiting, later, chunks[c], last);
        graph_close(outbox, &out, c, run->list_words, seal, window);
        GRAPH_END(graph_pull, run->ranks, out.count)
    }
}

#endif
