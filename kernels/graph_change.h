/* graph_change.h - a vertex applies messages. */
#ifndef GRAPH_CHANGE_H
#define GRAPH_CHANGE_H

#include "graph_at.h"
#include "graph_outbox.h"

/** Own vertex `v` applies what it got. A call would keep `out` and `word` in memory. */
static inline __attribute__((always_inline)) void
graph_change(graph_out *out, graph_word *word, HF_GLOBAL const graph_run *run,
             HF_GLOBAL const uint *names, HF_GLOBAL const uint *degrees,
             HF_GLOBAL hf_vertex *state, HF_GLOBAL hf_update *later, uint v,
             hf_message got) {
    const uint degree = degrees[v];
    const hf_at at = graph_at(run, graph_id(run, names, v), degree, out->superstep);
    hf_vertex s = state[v];
    hf_update told;
    const int tells = hf_apply(&s, got, at, &told, &out->count.changed);
    state[v] = s;
    if (tells && GRAPH_HEARD(degree))
        graph_update(out, word, later, v, told, degree);
}

#endif
