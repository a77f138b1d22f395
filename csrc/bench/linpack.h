/* linpack.h - what the files of linpack share. */
#ifndef HF_LINPACK_H
#define HF_LINPACK_H

#include "bench.h"
#include "grid.h"
#include "verdict.h"

enum {
    LINPACK_MOST = 16, /* replications of inner */
    LINPACK_PARTS = 8, /* at most LINPACK_MOST: launches of the rest, one replication */
    LINPACK_EVENTS = 64,    /* of an iteration, at most */
    LINPACK_ITERATIONS = 2, /* whose commands may be under way */
    LINPACK_BOUND = 16,     /* of HPL's scaled residual */
    LINPACK_X_BOUND = 8,    /* of an error of x, over sqrt(n) units of roundoff */
};

enum { LINPACK_LAP_KERNEL = HF_LAP_EXCHANGE + 1, LINPACK_LAP_SOLVE };

/** What linpack_shape says. */
enum {
    LEFT_SIZE,  /* elements of a packed block of L */
    TOP_SIZE,   /* of U */
    LOWER_SIZE, /* of L in a packed diagonal block */
    UPPER_SIZE, /* of U behind it */
    LU_ITEMS,   /* work-items of lu */
    LEFT_ITEMS,
    TOP_ITEMS,
    INNER_ITEMS, /* of each for a block */
    LU_GROUP,    /* of a work-group */
    SIDE_GROUP,
    INNER_GROUP,
    N_SHAPE
};

/** Messages of the iterations k with the same k modulo the number of these. */
typedef struct linpack_plans {
    hf_plan *diagonal, *left, *top; /* of the factorisation */
    hf_plan *sums, *kept, *known;   /* of the solution */
} linpack_plans;

/** Commands of an iteration that may be under way. */
typedef struct linpack_events {
    hf_event *all[LINPACK_EVENTS];
    size_t n;
    hf_event *ready[2]; /* left and top */
    size_t n_ready;
    hf_event
        *rest[LINPACK_MOST]; /* inner blocks that the next iteration can wait for */
    size_t n_rest;
} linpack_events;

typedef struct linpack {
    hf_env env;
    hf_grid grid;
    int p, q; /* of this rank */
    const double *sizes;
    size_t block, real, replications, items;
    double roundoff; /* of data_type */
    uint32_t shape[N_SHAPE];
    size_t n_classes;
    linpack_plans *plans; /* [n_classes] of the current point */
    hf_plan *residuals;
    hf_buffer *a;
    /* What this rank makes, and what it gets from others; panels of two iterations. */
    hf_buffer *packed, *packed_in, *left[2], *left_in[2], *top[2], *top_in[2];
    /* Vectors along the rows: A x by its formula, sums on the way, what L gives; along the
     * columns: x as it is sent, and all of it. */
    hf_buffer *b, *product, *sums, *kept, *parts, *sent, *x;
    void *zeros;
    hf_kernel *lu, *left_kernel, *top_kernel, *inner[LINPACK_MOST];
    hf_kernel *fill, *right, *multiply, *solve, *apply, *residual, *check;
    hf_verdict verdict;
    /* the current point and sample */
    uint32_t n, width, rows, columns, key; /* the second to fourth in blocks */
    linpack_events events[LINPACK_ITERATIONS];
} linpack;

/** Blocks of rank `rank` of `ranks` among the first `blocks` of a row or column. */
static inline uint32_t linpack_share(size_t blocks, int rank, int ranks) {
    return (uint32_t)((blocks + (size_t)(ranks - 1 - rank)) / (size_t)ranks);
}

/** linpack_lu.c: L and U in place of A. */
hf_status linpack_factor(linpack *s);

/** linpack_solve.c: b by its formula; x from L and U; and how far off it is. */
hf_status linpack_sides_make(linpack *s);
hf_status linpack_solve(linpack *s);
hf_status linpack_error(linpack *s, double *error);

#define LINPACK_VALUE(x) \
    { .value = &(x), .bytes = sizeof(x) }

#endif
