/* numbering.h - which rank owns which vertex, and under which number. */
#ifndef HF_GRAPH_NUMBERING_H
#define HF_GRAPH_NUMBERING_H

#include "graph.h"

/** Numbers of all vertices; the same on every rank. */
typedef struct numbering {
    uint32_t *starts;  /**< [ranks + 1] as in hf_part */
    uint32_t *owns;    /**< [ranks] vertices of each */
    uint32_t *names;   /**< [starts[ranks]] */
    uint32_t *numbers; /**< [vertices] */
} numbering;

/** `in` and `ends` [vertices]: edges that come in, and edges at each vertex. `out` owns
 *  what it gets also where this fails. */
hf_status numbering_make(numbering *out, const char *partition, uint32_t vertices,
                         int size, const uint32_t *in, const uint32_t *ends);
void numbering_free(numbering *n);

#endif
