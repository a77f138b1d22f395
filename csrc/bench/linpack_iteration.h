/* linpack_iteration.h - an iteration of linpack, and how what it makes gets to other ranks. */
#ifndef HF_LINPACK_ITERATION_H
#define HF_LINPACK_ITERATION_H

#include "device.h"

enum {
    LINPACK_MAX_REPLICATIONS = 16, /* of inner */
    LINPACK_MAX_LAUNCHES = 8,      /* that multiply the rest, with one replication */
    LINPACK_MAX_REST = LINPACK_MAX_REPLICATIONS, /* the larger of these two */
    LINPACK_MAX_READY = 2,                       /* left and top */
    LINPACK_MAX_EVENTS = 64,                     /* of an iteration */
};

typedef struct linpack linpack;

/** Commands of an iteration that may be under way. */
typedef struct linpack_events {
    hf_event *all[LINPACK_MAX_EVENTS];
    size_t n;
    hf_event *ready[LINPACK_MAX_READY];
    size_t n_ready;
    hf_event
        *rest[LINPACK_MAX_REST]; /* inner blocks that the next iteration waits for */
    size_t n_rest;
} linpack_events;

/** An iteration on this rank. */
typedef struct linpack_iteration {
    uint32_t k, row, column; /* of the diagonal block, here or where it would be */
    uint32_t below, beside;  /* the first row and column of blocks after it */
    bool in_row, in_column;  /* are blocks of its row, of its column here? */
    linpack_events *now, *before;
    hf_buffer *left, *top; /* where panels of L and U are */
} linpack_iteration;

/** How blocks and vectors get to the ranks that need them: each path has one. */
typedef struct linpack_routing {
    unsigned queues; /**< from 1 on, that `panels` uses */
    /** Factor the diagonal block, find the blocks of L below it and of U beside it, and
     *  bring them to the ranks with inner blocks. */
    hf_status (*panels)(linpack *s, linpack_iteration *it);
    /** Send the sums of row block k (for U, `upper`, those in `kept`, else those in `sums`) to
     *  the rank of its row with the diagonal block. It gets *n_parts of them in `parts`. */
    hf_status (*sums_collect)(linpack *s, uint32_t k, bool upper, uint32_t *n_parts);
    /** Bring the unknowns of block k from the rank with the diagonal block to its column. */
    hf_status (*known_tell)(linpack *s, uint32_t k);
    /** Bring the `sums` of all ranks of a row to its rank in column 0. */
    hf_status (*residuals_collect)(linpack *s);
    /** Replace `value` by its sum over all ranks of the row, on each of them. It overwrites
     *  `sums` and `parts`. */
    hf_status (*row_add)(linpack *s, double *value);
} linpack_routing;

#endif
