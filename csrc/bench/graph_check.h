/* graph_check.h - how the result of a program is checked. */
#ifndef HF_GRAPH_CHECK_H
#define HF_GRAPH_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef struct graph_checking graph_checking;

/** How the result of a program is checked. */
typedef struct graph_check {
    const char *program; /**< NULL: any other; graph_own.c */
    size_t bytes;        /**< of a vertex; 0: any number */
    double tolerance;    /**< 0: wrong vertices are counted; else the largest error */
    bool forest;         /**< it takes the components of all ranks' edges */
    bool reference;      /**< it takes a second result, in double */
    bool damped;         /**< the first of its values is a share */
    bool searches;       /**< a vertex whose word is all ones was not reached */
    hf_status (*begin)(graph_checking *c);
    /** Error of own vertex `i`. */
    double (*vertex)(const graph_checking *c, uint32_t i);
    /** Which of own vertices `first` .. `end` - 1 may be wrong, and how many; NULL: all. */
    size_t (*sift)(const graph_checking *c, uint32_t first, uint32_t end,
                   uint32_t *which);
} graph_check;

/** What a check found among a rank's vertices. */
typedef struct graph_verdict {
    double error; /**< wrong vertices, or the largest error */
    uint64_t reached, edges;
    double last, before; /**< with HF_ALWAYS: least that the last superstep changed, and
                              most that the one before did */
} graph_verdict;

/** Words of a row in which a rank tells of it, and of the sample. */
enum {
    GRAPH_VERDICT_REACHED,
    GRAPH_VERDICT_EDGES,
    GRAPH_VERDICT_SAMPLE,
    GRAPH_VERDICT_CHANGED, /**< two doubles */
    GRAPH_VERDICT_DIGEST = GRAPH_VERDICT_CHANGED + 2,
    GRAPH_VERDICT_WORDS
};

#endif
