/* graph_few.h - many supersteps of few vertices in one launch, on one rank.
 *
 * One work-item goes through lists of vertices, so a superstep costs what its edges cost. Lines
 * of the cache are what an edge costs, so what goes with a list lies in lists: of a vertex only
 * its state, the place of its message and its edges are looked up. It leaves what kernels of a
 * superstep would: active vertices and their updates in `box`, and a sealed count of each
 * superstep. The host goes through these and decides as it would have after each.
 */
#ifndef GRAPH_FEW_H
#define GRAPH_FEW_H

#include "graph_at.h"
#include "graph_course.h"
#include "graph_lists.h"

/** Take supersteps from `at` on, as long as they are of few vertices. Each is counted in
 *  at->counts. May another follow in this launch? Where the launch `persists` one does. */
static inline uint graph_few_take(HF_GLOBAL const ulong *outs, HF_GLOBAL const uint *to,
                                  HF_GLOBAL const uint *weights,
                                  HF_GLOBAL const uint *names,
                                  HF_GLOBAL const graph_run *run, HF_GLOBAL uchar *box,
                                  HF_GLOBAL hf_vertex *state, HF_GLOBAL uint *waiting,
                                  HF_GLOBAL hf_update *later, HF_GLOBAL uint *got,
                                  HF_GLOBAL uint *lists, const uint persists,
                                  graph_course *at) {
    HF_GLOBAL uint *active = GRAPH_AT(uint, box, run->in_bits);
    HF_GLOBAL hf_update *mirror = GRAPH_AT(hf_update, box, run->in_updates);
    graph_lists l = graph_lists_in(lists, at->pending);
    /* in `got` of who has no message; else a place in `sums` */
    const uint none = graph_bits_of(HF_NOTHING);
    ulong all_edges = 0, told_edges = 0;
    uint settled = (uint)at->window, until = (uint)(at->window >> 32),
         lowest = HF_NOBODY, goes = 1, stays = at->step < GRAPH_FEW_STEPS;
    (void)weights, (void)until;
    for (uint first = 0; first < run->own; first += 32) {
        for (uint left = active[first / 32] & graph_all_bits(first, run->own);
             left && l.n_front < GRAPH_FEW_ROOM; left &= left - 1) {
            const uint v = first + graph_lowest_bit(left);
            l.told[l.n_front] = mirror[v];
            l.front[l.n_front++] = v;
            told_edges += outs[v + 1] - outs[v];
        }
        active[first / 32] = 0;
    }
    if (told_edges > GRAPH_FEW_EDGES)
        return 0; /* more edges than a launch is given: a bit came damaged */
    if (l.n_front == 0)
        lowest = graph_late(&l, waiting, later, run->own);
    while (stays) {
        const uint step = at->step++, now = ++at->superstep;
        graph_count count = graph_nothing(step, 0, at->again ? HF_NOBODY : now);
        uint n = 0;
        if (l.n_front == 0) {
#ifndef GRAPH_NO_PRIORITIES
            const ulong next = graph_window_from(lowest, &at->width, HF_GROWTH);
            settled = (uint)next;
            until = (uint)(next >> 32);
            for (uint i = 0; i < l.n_late; i++) {
                const uint v = l.late[i];
                if (!(waiting[v / 32] >> v % 32 & 1) || GRAPH_LATER(later[v], until))
                    continue;
                waiting[v / 32] &= ~(1u << v % 32);
                l.n_pending--;
                l.told[l.n_front] = later[v];
                count.edges += outs[v + 1] - outs[v];
                graph_fetch(to, weights, outs[v], outs[v + 1]);
                l.front[l.n_front++] = v;
            }
#endif
        } else {
            for (uint i = 0; i < GRAPH_FEW_AHEAD; i++)
                graph_fetch_next(l.front, i, l.n_front, outs, to, state, got);
            for (uint i = 0; i < l.n_front; i++) {
                const uint u = l.front[i];
                const hf_update told = l.told[i];
                graph_fetch_next(l.front, i + GRAPH_FEW_AHEAD, l.n_front, outs, to,
                                 state, got);
                count.known += outs[u + 1] - outs[u] + 1;
                for (ulong e = outs[u]; e < outs[u + 1]; e++) {
                    const uint v = to[e];
                    if (!HF_WANTS(state[v], settled))
                        continue;
                    const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
                    const hf_message m = hf_scatter(told, edge);
                    if (!HF_HELPS(state[v], m))
                        continue;
                    const uint place = got[v] ^ none;
                    if (place - 1 < n) {
                        l.sums[place - 1] = graph_bits_of(
                            hf_gather(graph_message_of(l.sums[place - 1]), m));
                    } else {
                        l.sums[n] = graph_bits_of(m);
                        l.heard[n++] = v;
                        got[v] = none ^ n;
                        HF_PREFETCH_READ(names + (run->step ? 0 : v));
                        HF_PREFETCH_READ(outs + v);
                        HF_PREFETCH_READ(outs + v + 1);
                    }
                    count.messages++;
                }
            }
            l.n_front = 0;
            for (uint i = 0; i < n; i++) {
                const uint v = l.heard[i], degree = (uint)(outs[v + 1] - outs[v]);
                const hf_at at = graph_at(run, graph_id(run, names, v), degree, now);
                const hf_message sum = graph_message_of(l.sums[i]);
                hf_vertex s = state[v];
                hf_update told;
                const int tells = hf_apply(&s, sum, at, &told, &count.changed);
                got[v] = none;
                state[v] = s;
                if (!tells || !GRAPH_HEARD(degree))
                    continue;
                graph_fetch(to, weights, outs[v], outs[v + 1]);
#ifndef GRAPH_NO_PRIORITIES
                const uint bit = 1u << v % 32, waits = waiting[v / 32] & bit;
                if (GRAPH_LATER(told, until)) {
                    later[v] = told;
                    if (waits)
                        continue;
                    waiting[v / 32] |= bit;
                    l.n_pending++;
                    if (l.n_late < GRAPH_FEW_ROOM)
                        l.late[l.n_late++] = v;
                    else
                        l.known = 0;
                    continue;
                }
                waiting[v / 32] &= ~bit;
                l.n_pending -= waits != 0;
#endif
                l.told[l.n_front] = told;
                count.edges += degree;
                l.front[l.n_front++] = v;
            }
        }
        if (l.n_front == 0 && l.n_pending > 0)
            lowest = graph_late(&l, waiting, later, run->own);
        all_edges += count.edges;
        count.active = l.n_front;
        count.pending = l.n_pending;
        count.lowest = l.n_front == 0 ? lowest : HF_NOBODY;
        at->active = l.n_front;
        at->pending = l.n_pending;
        at->told += count.edges;
        at->window = (ulong)until << 32 | settled;
        goes = graph_goes_on(at);
        stays = goes && count.edges <= GRAPH_FEW_EDGES && all_edges < GRAPH_FEW_WORK &&
                (l.n_front > 0 || l.known);
        count.end = persists ? goes : stays;
        graph_course_count(at, step, count);
    }
    for (uint i = 0; i < l.n_front; i++) {
        mirror[l.front[i]] = l.told[i];
        active[l.front[i] / 32] |= 1u << l.front[i] % 32;
    }
    return goes;
}

#endif
