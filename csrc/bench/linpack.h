/* linpack.h - what the files of linpack share. */
#ifndef HF_LINPACK_H
#define HF_LINPACK_H

#include "bench.h"
#include "core/work.h"
#include "grid.h"
#include "linpack_iteration.h"
#include "linpack_shape.h"
#include "verdict.h"

enum {
    LINPACK_ITERATIONS = 2,   /* whose commands may be under way */
    LINPACK_BOUND = 16,       /* of HPL's scaled residual */
    LINPACK_MAX_PACKET = 128, /* of a channel [B] */
};

enum { LINPACK_LAP_SOLVE = HF_LAP_KERNEL + 1, LINPACK_LAP_REFINE };

/** What `verify` finds, beside the larger of the two errors over their bounds; and what an
 *  iteration counts. */
enum { LINPACK_SCALED, LINPACK_NORMALISED };
enum { LINPACK_STAGE_BLOCKS };

struct linpack {
    hf_env env;
    const linpack_routing *routing;
    hf_grid grid;
    int p, q; /* of this rank */
    const double *sizes;
    size_t block, real, replications, items;
    bool receives;                   /* are panels of other ranks in memory, too? */
    uint32_t n_parts;                /* vectors that a rank collects */
    double roundoff;                 /* of data_type */
    hf_status (*refine)(linpack *s); /* NULL: the solution is not refined */
    unsigned corrections;            /* each adds nearly the digits of data_type */
    uint32_t shape[LINPACK_N_SHAPE];
    hf_buffer *a;
    hf_buffer *left[2], *top[2]; /* panels of two iterations */
    /* Vectors along the rows: A x by its formula, sums on the way, what L gives; along the
     * columns: x as it is sent, and all of it; before and after its refinement, and the basis of
     * gmres. Of gmres, too: a number of this rank and those of its row, each with its stamp. */
    hf_buffer *b, *product, *sums, *kept, *parts, *sent, *x;
    hf_buffer *first, *refined, *basis[HF_LINPACK_MAX_CORRECTIONS], *dots;
    hf_buffer *number, *numbers;
    size_t dot_items;
    void *zeros;
    double *scalars; /* [dot_items], or of the ranks of a row, with stamps */
    hf_kernel *lu, *left_kernel, *top_kernel, *inner[LINPACK_MAX_REPLICATIONS], *next;
    hf_kernel *fill, *right, *multiply, *solve, *apply, *residual, *add, *dot, *check;
    hf_verdict verdict;
    /* the current point and sample */
    uint32_t n, width, rows, columns, key; /* the second to fourth in blocks */
    uint32_t told;                         /* numbers that rows have added up */
    bool astray; /* one of them came with another stamp, or A or x began as others */
    linpack_events events[LINPACK_ITERATIONS];
};

/** Blocks of rank `rank` of `ranks` among the first `blocks` of a row or column. */
static inline uint32_t linpack_share(size_t blocks, int rank, int ranks) {
    return (uint32_t)((blocks + (size_t)(ranks - 1 - rank)) / (size_t)ranks);
}

/** Where index `at` along the rows or columns of rank `rank` of `ranks` lies in A. */
static inline uint32_t linpack_place(size_t block, size_t at, int rank, int ranks) {
    return (uint32_t)((at / block * (size_t)ranks + (size_t)rank) * block + at % block);
}

/** linpack.c: what both paths share. */
hf_status linpack_take(linpack *s, const hf_args *args, const hf_env *env,
                       hf_outline *out);
hf_status linpack_memory_take(linpack *s, const hf_args *args);
hf_status linpack_buffer_take(const linpack *s, hf_buffer **out, size_t n,
                              size_t bytes);
/** Blocks in a row of a matrix of `n` rows. */
size_t linpack_width(const linpack *s, size_t n);
hf_status linpack_plan(void *state, size_t point, hf_setting *out);
hf_status linpack_prepare(void *state, size_t point, uint64_t sample);
hf_status linpack_step(void *state, size_t point, size_t inner);
hf_status linpack_verify(void *state, size_t point, size_t steps, hf_outcome *out);
void linpack_teardown(void *state);
/** linpack_plans.c and linpack_stream.c: host-routed and kernel-routed. */
extern const hf_bench_path linpack_blocks, linpack_streams;

/** linpack_lu.c: L and U in place of A; and a command of an iteration. */
hf_status linpack_factor(linpack *s);
hf_status linpack_launch(const linpack *s, linpack_iteration *it, const hf_launch *what,
                         const hf_order *order, hf_event **event);

/** linpack_solve.c: b by its formula, the right side; x from L and U; and how far off it is. */
hf_status linpack_right_make(linpack *s);
hf_status linpack_solve(linpack *s);
/** `x` from L and U, with `sums` for the right side. */
hf_status linpack_sums_solve(linpack *s);
/** The rank's part of A x in `out`, of b - A x in `sums`. */
hf_status linpack_product(const linpack *s, hf_buffer *x, hf_buffer *out);
hf_status linpack_residual(const linpack *s, hf_buffer *x);
hf_status linpack_run(const linpack *s, hf_kernel *kernel, const hf_arg *args,
                      size_t n_args, size_t items);
hf_status linpack_vector_copy(const linpack *s, hf_buffer *to, const hf_buffer *from,
                              uint32_t blocks);
hf_status linpack_check(linpack *s, hf_outcome *out);

/** linpack_refine.c: ways to correct x in double. A number of the rank in column `q` of the grid
 *  goes with a stamp, which tells it from those of other ranks, times and samples. */
double linpack_stamp(const linpack *s, int q);
hf_status linpack_classical(linpack *s);
hf_status linpack_gmres(linpack *s);

#endif
