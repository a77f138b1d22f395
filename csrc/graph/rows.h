/* rows.h - rows of neighbours: filled by all edges, then sorted. */
#ifndef HF_GRAPH_ROWS_H
#define HF_GRAPH_ROWS_H

#include "edges.h"

/** Rows of the vertices with the numbers `first` .. `first + own - 1`. */
typedef struct graph_rows {
    const hf_graph *graph;
    const uint32_t *numbers; /**< of the vertices of the graph */
    uint32_t first, own;
    bool both;         /**< each edge in the rows of both of its ends */
    bool backward;     /**< rows of edges that leave, by where they go to */
    bool weights;      /**< wanted */
    uint64_t capacity; /**< of `from` and `weight` */
    uint64_t *rows;    /**< [own + 1] */
    uint32_t *from;    /**< with room for one more of each row */
    uint32_t *weight;  /**< or NULL */
} graph_rows;

/** Allocate and fill what follows `weights`; `in` has room for each row, [own]. Of a simple
 *  graph self-loops are left out, and of duplicates all but the lightest. `r` owns what
 *  it gets also where this fails. */
hf_status rows_make(graph_rows *r, const uint32_t *in);
void rows_free(graph_rows *r);

#endif
