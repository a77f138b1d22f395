/* graph_course.h - how a launch that takes many supersteps goes on: as the host would. */
#ifndef GRAPH_COURSE_H
#define GRAPH_COURSE_H

#include "graph_control.h"
#include "graph_outbox.h"

/** Supersteps of a launch that takes many; a plain value. */
typedef struct graph_course {
    HF_GLOBAL graph_count *counts; /**< [GRAPH_FEW_STEPS] of the launch's */
    uint step;                     /**< supersteps of the launch, so far */
    uint superstep;                /**< the last one, and what it counted: */
    uint active, pending, lowest;
    ulong edges, told; /**< that it told along, and that all did */
    ulong window, width;
    uint cap, seal;
} graph_course;

/** Superstep `step` of the launch, the last of all, counted this. */
static inline void graph_course_count(graph_course *at, uint step, graph_count count) {
    at->active = count.active;
    at->pending = count.pending;
    at->lowest = count.lowest;
    at->edges = count.edges;
    count.seal = graph_seal(&count, at->seal, at->superstep, at->window);
    at->counts[step] = count;
}

/** Phases of graph_persistent. */
enum {
    GRAPH_NONE,
    GRAPH_STARTING,
    GRAPH_PULLING,
    GRAPH_PUSHING,
    GRAPH_APPLYING,
    GRAPH_ADMITTING
};

/** The course of a control, so far. */
static inline graph_course graph_course_of(HF_GLOBAL graph_control *control) {
    graph_course at;
    at.counts = control->counts;
    at.step = 0;
    at.superstep = control->superstep;
    at.active = control->active;
    at.pending = control->pending;
    at.lowest = control->lowest;
    at.edges = control->edges;
    at.told = control->told;
    at.window = control->window;
    at.width = control->width;
    at.cap = control->cap;
    at.seal = control->seal;
    return at;
}

/** Does a superstep follow the last in this launch? Before it, `before` edges were told along. */
static inline uint graph_goes_on(const graph_course *at, ulong before) {
    return (at->cap == 0 || at->superstep != at->cap) &&
           (at->active | at->pending) > 0 && at->step < GRAPH_FEW_STEPS &&
           at->told - before < GRAPH_LAUNCH_WORK;
}

/** Count the superstep of which each of n chunks has its count in `heads`: as of none where a
 *  chunk was not counted in it. Does another follow? */
static inline uint graph_phase_count(graph_course *at,
                                     HF_GLOBAL const graph_count *heads, uint n,
                                     ulong before) {
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
    sum.end = graph_goes_on(at, before);
    graph_course_count(at, step, sum);
    return sum.end;
}

/** Another superstep follows those that graph_few_take has ended with. */
static inline void graph_few_go_on(graph_course *at) {
    graph_count last = at->counts[at->step - 1];
    last.end = 1;
    graph_course_count(at, at->step - 1, last);
}

/** The phase that begins the superstep after the last. */
static inline uint graph_phase_next(graph_course *at, ulong all, uint vertices) {
    (void)all, (void)vertices;
    at->superstep++;
    if (at->active == 0) {
        at->window = graph_window_from(at->lowest, &at->width, HF_GROWTH);
        return GRAPH_ADMITTING;
    }
#ifndef HF_WEIGHTED /* those with weights never pull, as in graph_updates.c */
    if (graph_pull_pays(at->edges, at->told, all, vertices, GRAPH_HINTED))
        return GRAPH_PULLING;
#endif
    return GRAPH_PUSHING;
}

#endif
