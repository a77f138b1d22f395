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

#include "graph_course.h"
#include "graph_few_step.h"

/** Take supersteps from `at` on, as long as they are of few vertices. Each is counted in
 *  at->counts. May another follow in this launch? Where the launch `persists` one does. It is a
 *  call: beside all other phases it runs short of registers. */
__attribute__((noinline)) static uint
graph_few_take(HF_GLOBAL const ulong *outs, HF_GLOBAL const uint *to,
               HF_GLOBAL const uint *weights, HF_GLOBAL const uint *names,
               HF_GLOBAL const graph_run *run, HF_GLOBAL uchar *box,
               HF_GLOBAL hf_vertex *state, HF_GLOBAL uint *waiting,
               HF_GLOBAL hf_update *later, HF_GLOBAL uint *got, HF_GLOBAL uint *lists,
               const uint persists, graph_course *at) {
    HF_GLOBAL uint *active = GRAPH_AT(uint, box, run->in_bits);
    HF_GLOBAL hf_update *mirror = GRAPH_AT(hf_update, box, run->in_updates);
    graph_few_data few = {
        outs,  to,  weights, names,      run,
        state, got, 0,       at->window, graph_lists_in(lists, at->pending)};
    graph_lists *l = &few.lists;
    ulong all_edges = 0;
    uint lowest = HF_NOBODY, goes = 1, stays = at->step < GRAPH_FEW_STEPS;
    for (uint first = 0; first < run->own; first += 32) {
        for (uint left = active[first / 32] & graph_all_bits(first, run->own);
             left && l->n_front < GRAPH_FEW_ROOM; left &= left - 1) {
            const uint v = first + graph_lowest_bit(left);
            l->told[l->n_front] = mirror[v];
            l->front[l->n_front++] = v;
        }
        active[first / 32] = 0;
    }
    if (graph_rows_look(l, outs) > GRAPH_FEW_EDGES)
        return 0; /* more edges than a launch is given: a bit came damaged */
    if (l->n_front == 0)
        lowest = graph_late(l, waiting, later, run->own);
    while (stays) {
        const uint step = at->step++;
        graph_count count;
        few.superstep = ++at->superstep;
        count = graph_nothing(step, 0, at->again ? HF_NOBODY : few.superstep);
        if (l->n_front == 0) {
            graph_due(l, waiting, later, lowest, &few.window, &at->width);
            count.edges = graph_rows_look(l, outs);
        } else {
            graph_few_send(&few, &count);
            graph_few_apply(&few, &count);
            count.edges = graph_hear(l, outs, waiting, later, few.window);
        }
        if (l->n_front == 0 && l->n_pending > 0)
            lowest = graph_late(l, waiting, later, run->own);
        all_edges += count.edges;
        count.active = l->n_front;
        count.pending = l->n_pending;
        count.lowest = l->n_front == 0 ? lowest : HF_NOBODY;
        at->active = l->n_front;
        at->pending = l->n_pending;
        at->told += count.edges;
        at->window = few.window;
        goes = graph_goes_on(at);
        stays = goes && count.edges <= GRAPH_FEW_EDGES && all_edges < GRAPH_FEW_WORK &&
                (l->n_front > 0 || l->known);
        count.end = persists ? goes : stays;
        graph_course_count(at, step, count);
    }
    for (uint i = 0; i < l->n_front; i++) {
        mirror[l->front[i]] = l->told[i];
        active[l->front[i] / 32] |= 1u << l->front[i] % 32;
    }
    return goes;
}

#endif
