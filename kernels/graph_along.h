/* graph_along.h - the message of an edge that leads to a vertex. */
#ifndef GRAPH_ALONG_H
#define GRAPH_ALONG_H

#include "graph_outbox.h"

/** The message of edge `e`. */
static inline hf_message graph_along(HF_GLOBAL const uint *from,
                                     HF_GLOBAL const uint *weights,
                                     HF_GLOBAL const hf_update *mirror, ulong e) {
    const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
    (void)weights;
    return hf_scatter(mirror[from[e]], edge);
}

#endif
