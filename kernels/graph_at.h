/* graph_at.h - what a program sees of a vertex beside its state. */
#ifndef GRAPH_AT_H
#define GRAPH_AT_H

#include "graph_bits.h"

/** Number in the input of own vertex v: it is read where no formula gives it. */
static inline uint graph_id(HF_GLOBAL const graph_run *run, HF_GLOBAL const uint *names,
                            uint v) {
    return run->step ? run->id + v * run->step : names[v];
}

static inline hf_at graph_at(HF_GLOBAL const graph_run *run, uint id, uint degree,
                             uint superstep) {
    hf_at at;
    at.id = id;
    at.degree = degree;
    at.vertices = run->vertices;
    at.source = run->source;
    at.superstep = superstep;
    for (uint i = 0; i < GRAPH_VALUES; i++)
        at.value[i] = run->value[i];
    return at;
}

#endif
