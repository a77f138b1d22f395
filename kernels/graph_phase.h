/* graph_phase.h - the phases of graph_persistent: which is next, and what one has counted. It
 * decides as the host would. */
#ifndef GRAPH_PHASE_H
#define GRAPH_PHASE_H

#include "graph_control.h"
#include "graph_course.h"
#include "graph_reach.h"

/** What work-items do in a phase. */
enum {
    GRAPH_NONE,
    GRAPH_STARTING,
    GRAPH_PULLING,
    GRAPH_PUSHING,
    GRAPH_APPLYING,
    GRAPH_REACHING, /* both at once, by ranges of vertices */
    GRAPH_ADMITTING
};

/** The course of a launch that is told this. */
static inline graph_course graph_course_of(HF_GLOBAL graph_control *control) {
    graph_course at =
        graph_course_from(control->counts, control->superstep, control->pending,
                          control->window, control->width, control->cap, control->seal);
    at.active = control->active;
    at.lowest = control->lowest;
    at.edges = control->edges;
    at.told = at.before = control->told;
    at.tolerance = control->tolerance;
    return at;
}

/** Count the superstep of which each of n chunks has its count in `heads`: as of none where a
 *  chunk was not counted in it. Does another follow? */
static inline uint graph_phase_count(graph_course *at,
                                     HF_GLOBAL const graph_count *heads, uint n) {
    const uint step = at->step++;
    graph_count sum = graph_nothing(step, 0, at->superstep);
    for (uint c = 0; c < n; c++) {
        const graph_count count = heads[c];
        sum.edges += count.edges;
        sum.messages += count.messages;
        sum.known += count.known;
        sum.active += count.active;
        sum.pending += count.pending;
        sum.lowest = count.lowest < sum.lowest ? count.lowest : sum.lowest;
        sum.changed += count.changed;
        if (count.superstep != at->superstep ||
            count.seal != graph_seal(&count, at->seal, at->superstep, at->window))
            sum.superstep = HF_NOBODY;
    }
    at->told += sum.edges;
    at->active = sum.active;
    at->pending = sum.pending;
    at->changed = sum.changed;
    sum.end = graph_goes_on(at);
    graph_course_count(at, step, sum);
    return sum.end;
}

/** The phase that begins the superstep after the last. Ranges would be of `reach` of n chunks. */
static inline uint graph_phase_next(graph_course *at, ulong all, uint vertices, uint n,
                                    uint reach) {
    (void)all, (void)vertices, (void)n, (void)reach;
    at->superstep++;
    if (GRAPH_ALL)
        return GRAPH_PULLING;
    if (at->active == 0) {
        at->window = graph_window_from(at->lowest, &at->width, HF_GROWTH);
        return GRAPH_ADMITTING;
    }
#ifndef HF_WEIGHTED /* those with weights never pull, as in graph_updates.c */
    if (graph_pull_pays(at->edges, at->told, all, vertices, GRAPH_HINTED))
        return GRAPH_PULLING;
#endif
    return graph_reach_pays(at->edges, at->active, vertices, n, reach) ? GRAPH_REACHING
                                                                       : GRAPH_PUSHING;
}

#endif
