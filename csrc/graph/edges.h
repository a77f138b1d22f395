/* edges.h - all edges of a graph, block by block, on all cores. */
#ifndef HF_GRAPH_EDGES_H
#define HF_GRAPH_EDGES_H

#include "graph.h"

enum { EDGES_AT_ONCE = 1024 };

typedef struct edge {
    uint32_t from, to, weight;
} edge;

/** Gets all edges of a pass, in any order, from several threads at once. */
typedef struct edge_taker {
    void (*take)(void *context, const edge *edges, size_t n);
    void *context;
} edge_taker;

/** What a pass saw; sums do not depend on the order of edges. */
typedef struct edge_sums {
    uint64_t n;       /**< edges */
    uint64_t ends;    /**< sum of hashes of both ends */
    uint64_t weights; /**< the same with the weights; 0 where they were not wanted */
    uint64_t mirror;  /**< edges that `edge_mirror` saw at one end only; 0: none */
} edge_sums;

/** Edges on their way from a block to the taker; one for each thread. */
typedef struct edge_flow {
    const edge_taker *taker; /**< or NULL */
    bool weights;            /**< wanted */
    edge_sums sums;
    size_t waiting;
    edge edges[EDGES_AT_ONCE];
    void *room; /**< for what a source reads; freed with the flow */
    size_t room_bytes;
} edge_flow;

typedef struct graph_ops {
    /** Put all edges of a block. Several threads call it, each with a flow of its own. */
    hf_status (*block)(const hf_graph *graph, uint64_t block, edge_flow *flow);
    /** HF_OK if the source is what it was when it was opened. */
    hf_status (*same)(const hf_graph *graph);
    /** Free the source. */
    void (*close)(hf_graph *graph);
} graph_ops;

/** The first member of every source. */
struct hf_graph {
    const graph_ops *ops;
    hf_graph_info info;
    uint64_t blocks;
    unsigned scale; /**< of a generator */
    char *text;     /**< that it was opened by */
    edge_sums sums; /**< of files: what every later pass must find again */
    bool again;     /**< `sums` is set: each pass is compared with it */
};

void edge_flow_empty(edge_flow *flow);

static inline void edge_put(edge_flow *flow, uint32_t from, uint32_t to,
                            uint32_t weight) {
    flow->edges[flow->waiting++] = (edge){from, to, weight};
    if (flow->waiting == EDGES_AT_ONCE)
        edge_flow_empty(flow);
}

/** For files that name an undirected edge at both of its ends: count an entry of the list of
 *  `at`, and put the edge if it is the first of the two. */
void edge_mirror(edge_flow *flow, uint32_t at, uint32_t other, uint32_t weight);

/** Give all edges to `taker`; NULL: only the sums are wanted. The error of
 * the first block that has one ends it. */
hf_status edges_pass(edge_sums *out, const hf_graph *graph, bool weights,
                     const edge_taker *taker);
/** The same; fails where the edges are not those that `sums` of the graph tells. */
hf_status edges_again(const hf_graph *graph, bool weights, const edge_taker *taker);

#endif
