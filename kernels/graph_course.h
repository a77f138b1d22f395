/* graph_course.h - how far a launch that takes many supersteps is, and whether it goes on. */
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
    float changed;
    ulong edges, told; /**< that it told along, and that all did */
    ulong window, width;
    ulong before;    /**< edges that were told along before the launch */
    float tolerance; /**< below 0: none */
    uint cap, seal;
    uint again; /**< the launch was taken before: none of its supersteps counts */
} graph_course;

/** The course of a launch behind superstep `superstep`. What else that counted is 0. */
static inline graph_course graph_course_from(HF_GLOBAL graph_count *counts,
                                             uint superstep, uint pending, ulong window,
                                             ulong width, uint cap, uint seal) {
    graph_course at;
    at.counts = counts;
    at.step = 0;
    at.superstep = superstep;
    at.active = 0;
    at.pending = pending;
    at.lowest = HF_NOBODY;
    at.changed = 0;
    at.edges = 0;
    at.told = 0;
    at.window = window;
    at.width = width;
    at.before = 0;
    at.tolerance = -1;
    at.cap = cap;
    at.seal = seal;
    at.again = 0;
    return at;
}

/** Superstep `step` of the launch, the last of all, counted this. */
static inline void graph_course_count(graph_course *at, uint step, graph_count count) {
    at->active = count.active;
    at->pending = count.pending;
    at->lowest = count.lowest;
    at->edges = count.edges;
    count.seal = graph_seal(&count, at->seal, at->superstep, at->window);
    at->counts[step] = count;
}

/** May a superstep follow the last in this launch? */
static inline uint graph_goes_on(const graph_course *at) {
    const uint over = GRAPH_ALL ? at->superstep > 0 && at->changed <= at->tolerance
                                : (at->active | at->pending) == 0;
    return !over && (at->cap == 0 || at->superstep != at->cap) &&
           at->step < GRAPH_FEW_STEPS && at->told - at->before < GRAPH_LAUNCH_WORK;
}

#endif
