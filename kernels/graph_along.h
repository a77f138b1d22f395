/* graph_along.h - the message of an edge that leads to a vertex. */
#ifndef GRAPH_ALONG_H
#define GRAPH_ALONG_H

#include "graph_outbox.h"

/** An edge by which only its weight is looked up. */
#ifdef HF_WEIGHTED
#define GRAPH_EDGE(e) (e)
#else
#define GRAPH_EDGE(e) 0
#endif

/** The message of edge `e`, which comes from vertex `u`. */
static inline hf_message graph_along_from(uint u, HF_GLOBAL const uint *weights,
                                          HF_GLOBAL const hf_update *mirror, ulong e) {
    const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
    (void)weights, (void)e;
    return hf_scatter(mirror[u], edge);
}

/** The message of edge `e`. */
static inline hf_message graph_along(HF_GLOBAL const uint *from,
                                     HF_GLOBAL const uint *weights,
                                     HF_GLOBAL const hf_update *mirror, ulong e) {
    return graph_along_from(from[e], weights, mirror, e);
}

#endif
