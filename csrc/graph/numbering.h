/* numbering.h - which rank owns which vertex, and under which number. */
#ifndef HF_GRAPH_NUMBERING_H
#define HF_GRAPH_NUMBERING_H

#include "graph.h"

/** Numbers of all vertices; the same on every rank. */
typedef struct numbering {
    uint32_t *starts;  /**< [ranks + 1] as in hf_part */
    uint32_t *owns;    /**< [ranks] vertices of each */
    uint32_t *heard;   /**< [ranks] of these, as in hf_part */
    uint32_t *names;   /**< [starts[ranks]] */
    uint32_t *numbers; /**< [vertices] */
} numbering;

/** Edges of each vertex of the input. */
typedef struct vertex_edges {
    uint32_t vertices;
    const uint32_t *in, *out; /**< [vertices] that come in, that leave */
    const uint32_t *ends;     /**< [vertices] in any direction */
} vertex_edges;

/** `partition` as for hf_part_new; NULL: one rank has all, with the numbers of the input. `out`
 *  owns what it gets also where this fails. */
hf_status numbering_make(numbering *out, const char *partition, int size,
                         const vertex_edges *edges);
void numbering_free(numbering *n);

#endif
