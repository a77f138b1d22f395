/* linpack_solve.c - L y = b and U x = y over all ranks, and how far off x is.
 *
 * The row blocks of L are solved in order, then those of U backwards. For each, the ranks of its
 * row of the grid send what is left of the right side to the rank with the diagonal block. This
 * rank finds the unknowns and sends them along its column of the grid. The ranks there subtract
 * from their own sums what the unknowns contribute.
 */
#include <float.h>
#include <math.h>

#include "core/error.h"
#include "core/random.h"
#include "core/stats.h"
#include "linpack.h"
#include "linpack_value.h"

enum {
    N_RIGHT_ARGS = 6,
    N_PRODUCT_ARGS = 10,
    N_SOLVE_ARGS = 11,
    N_APPLY_ARGS = 7,
    N_RESIDUAL_ARGS = 4,
    N_CHECK_ARGS = 13
};

enum {
    X_BOUND = 64,    /* of an error of x by L and U, in roundoffs of data_type */
    X_BLOCK = 256,   /* in blocks so wide, and in narrower ones */
    SOLVED_BOUND = 8 /* of one by the solution, over sqrt(n) roundoffs of double */
};

/** What errors of x, of a small element of it, and of b - A x are told in. */
typedef struct units {
    double x, small, rows;
} units;

hf_status linpack_run(const linpack *s, hf_kernel *kernel, const hf_arg *args,
                      size_t n_args, size_t items) {
    const hf_launch what = {kernel, args, n_args, items, 0};
    return s->env.device->ops->launch(s->env.device, &what, NULL, NULL);
}

/* What the columns of the ranks at `q` of the grid add to A x in this rank's rows. */
static hf_status product_of(const linpack *s, hf_buffer *x, hf_buffer *out, int q,
                            uint32_t columns) {
    const hf_arg args[N_PRODUCT_ARGS] = {
        {.buffer = x},     {.buffer = out},     HF_VALUE(s->n), HF_VALUE(s->key),
        HF_VALUE(s->p),    HF_VALUE(s->grid.p), HF_VALUE(q),    HF_VALUE(s->grid.q),
        HF_VALUE(s->rows), HF_VALUE(columns),
    };
    return linpack_run(s, s->multiply, args, N_PRODUCT_ARGS, s->items);
}

hf_status linpack_product(const linpack *s, hf_buffer *x, hf_buffer *out) {
    return product_of(s, x, out, s->q, s->columns);
}

static hf_status zeros_write(const linpack *s, hf_buffer *to, size_t blocks) {
    size_t bytes = blocks * s->block * sizeof(double);
    return bytes == 0 ? HF_OK
                      : s->env.device->ops->write(s->env.device, to, 0, s->zeros, bytes,
                                                  NULL, NULL);
}

/* Has a block of the x that was made the values of our formula? */
static hf_status solution_look(linpack *s, int q, uint32_t columns) {
    double wanted[HF_LOOKED];
    if (columns == 0)
        return HF_OK;
    size_t at = hf_random(s->key, (uint64_t)s->env.rank) %
                (columns * s->block / HF_LOOKED) * HF_LOOKED;
    uint32_t column = linpack_place(s->block, at, q, s->grid.q);
    for (uint32_t k = 0; k < HF_LOOKED; k++)
        wanted[k] = linpack_solution(column + k, s->n, s->key);
    return hf_verdict_look_reals(&s->astray, s->env.device, s->sent, at, wanted,
                                 sizeof *wanted);
}

/* b is the sum over the ranks of a row. Each rank makes the part that belongs to the columns of
 * the next rank of its row; the last makes that of the first. If it made its own part, a rank that
 * receives nothing could still find its own x. `sent` holds the x of those columns meanwhile. Where
 * a row has one rank they are its own: no right answer may stay there. */
hf_status linpack_right_make(linpack *s) {
    int q = (s->q + 1) % s->grid.q;
    uint32_t columns = linpack_share(s->width, q, s->grid.q);
    const hf_arg args[N_RIGHT_ARGS] = {
        {.buffer = s->sent}, HF_VALUE(s->n),      HF_VALUE(s->key),
        HF_VALUE(q),         HF_VALUE(s->grid.q), HF_VALUE(columns),
    };
    HF_TRY(linpack_run(s, s->right, args, N_RIGHT_ARGS, s->items));
    HF_TRY(solution_look(s, q, columns));
    HF_TRY(product_of(s, s->sent, s->b, q, columns));
    return q == s->q ? zeros_write(s, s->sent, columns) : HF_OK;
}

/* ---- the solution ---- */

static hf_status unknowns_find(const linpack *s, hf_buffer *sums, uint32_t row,
                               uint32_t column, uint32_t upper, uint32_t n_parts) {
    uint32_t block = row * s->columns + column;
    const hf_arg args[N_SOLVE_ARGS] = {
        {.buffer = s->a},    {.buffer = sums},    {.buffer = s->parts},
        {.buffer = s->kept}, {.buffer = s->sent}, {.buffer = s->x},
        HF_VALUE(block),     HF_VALUE(n_parts),   HF_VALUE(row),
        HF_VALUE(column),    HF_VALUE(upper),
    };
    const hf_launch what = {s->solve, args, N_SOLVE_ARGS, s->shape[LINPACK_LU_ITEMS],
                            s->shape[LINPACK_LU_GROUP]};
    return s->env.device->ops->launch(s->env.device, &what, NULL, NULL);
}

static hf_status sums_reduce(const linpack *s, hf_buffer *sums, uint32_t first,
                             uint32_t end, uint32_t column) {
    const hf_arg args[N_APPLY_ARGS] = {
        {.buffer = s->a}, {.buffer = s->x}, {.buffer = sums},     HF_VALUE(first),
        HF_VALUE(end),    HF_VALUE(column), HF_VALUE(s->columns),
    };
    return first == end ? HF_OK
                        : linpack_run(s, s->apply, args, N_APPLY_ARGS, s->items);
}

/* Solve row block k of L or, if `upper`, of U; `sums` is what is left of the right side. */
static hf_status row_solve(linpack *s, uint32_t k, bool upper) {
    HF_TRY(hf_go_on(&s->env, true));
    bool in_row = k % (uint32_t)s->grid.p == (uint32_t)s->p;
    bool in_column = k % (uint32_t)s->grid.q == (uint32_t)s->q;
    uint32_t row = linpack_share(k, s->p, s->grid.p);
    uint32_t column = linpack_share(k, s->q, s->grid.q);
    uint32_t below = linpack_share(k + 1, s->p, s->grid.p);
    hf_buffer *sums = upper ? s->kept : s->sums;
    uint32_t n_parts;
    HF_TRY(s->routing->sums_collect(s, k, upper, &n_parts));
    if (in_row && in_column)
        HF_TRY(unknowns_find(s, sums, row, column, upper, n_parts));
    HF_TRY(s->routing->known_tell(s, k));
    if (!in_column)
        return HF_OK;
    return upper ? sums_reduce(s, sums, 0, row, column)
                 : sums_reduce(s, sums, below, s->rows, column);
}

hf_status linpack_sums_solve(linpack *s) {
    HF_TRY(zeros_write(s, s->kept, s->rows));
    HF_TRY(zeros_write(s, s->sent, s->columns));
    HF_TRY(zeros_write(s, s->x, s->columns));
    for (uint32_t k = 0; k < s->width; k++)
        HF_TRY(row_solve(s, k, false));
    for (uint32_t k = s->width; k-- > 0;)
        HF_TRY(row_solve(s, k, true));
    return HF_OK;
}

hf_status linpack_vector_copy(const linpack *s, hf_buffer *to, const hf_buffer *from,
                              uint32_t blocks) {
    hf_device *device = s->env.device;
    size_t bytes = blocks * s->block * sizeof(double);
    return bytes == 0 ? HF_OK
                      : device->ops->copy(device, to, 0, from, 0, bytes, NULL, NULL);
}

hf_status linpack_solve(linpack *s) {
    HF_TRY(linpack_vector_copy(s, s->sums, s->b, s->rows));
    return linpack_sums_solve(s);
}

hf_status linpack_residual(const linpack *s, hf_buffer *x) {
    const hf_arg args[N_RESIDUAL_ARGS] = {{.buffer = s->b},
                                          {.buffer = s->product},
                                          {.buffer = s->sums},
                                          HF_VALUE(s->rows)};
    HF_TRY(linpack_product(s, x, s->product));
    return linpack_run(s, s->residual, args, N_RESIDUAL_ARGS, s->items);
}

/* ---- the check ---- */

/* The largest error of `x` in `columns` blocks and |b - A x| in `rows`, each over its unit. */
static hf_status largest_find(linpack *s, hf_buffer *x, uint32_t columns, uint32_t rows,
                              const units *u, double *found) {
    hf_arg args[N_CHECK_ARGS + HF_VERDICT_ARGS] = {
        {.buffer = x},        {.buffer = s->sums}, {.buffer = s->parts},
        HF_VALUE(s->n),       HF_VALUE(s->key),    HF_VALUE(s->q),
        HF_VALUE(s->grid.q),  HF_VALUE(columns),   HF_VALUE(rows),
        HF_VALUE(s->n_parts), HF_VALUE(u->x),      HF_VALUE(u->small),
        HF_VALUE(u->rows),
    };
    return hf_verdict_take(&s->verdict, HF_VERDICT_LARGEST, s->check, args,
                           N_CHECK_ARGS, 0, (uint64_t)(columns + rows) * s->block,
                           found);
}

/* HPL's scaled residual is |A x - b| / (eps (|A| |x| + |b|) n): as a row of A has n / 2 on the
 * diagonal, others of 1/4 in the mean, and x is below 1, the norms are 3 n / 4, 1 and n / 2.
 * The bound of an error of x is X_BOUND roundoffs of it, and SOLVED_BOUND sqrt(n) of double, in
 * which the solution is summed up; where x is small, that over sqrt(n). Pipelines round the
 * diagonal once for each column of a block: the first bound grows as the root of the width. All
 * units are such that 16 is the bound. */
static units units_of(const linpack *s, double roundoff) {
    double n = s->n, wider = fmax((double)s->block / X_BLOCK, 1);
    double x =
        X_BOUND * sqrt(wider) * roundoff + SOLVED_BOUND * sqrt(n) * DBL_EPSILON / 2;
    return (units){x / LINPACK_BOUND, x / sqrt(n) / LINPACK_BOUND,
                   roundoff * 1.25 * n * n};
}

/* The error of a sample is the largest: HPL's, that of x, refined that of x before, and the
 * published one, the largest error of x over n |b| and twice the roundoff, whose bound is 1. */
hf_status linpack_check(linpack *s, hf_outcome *out) {
    double n = s->n, last = s->refine ? DBL_EPSILON / 2 : s->roundoff;
    const units u = units_of(s, last), first = units_of(s, s->roundoff);
    const units published = {last * n * n, last * n * n, 1};
    double error, before = 0, *found = out->findings;
    uint32_t own_rows = s->q == 0 ? s->rows : 0; /* one rank of each row has all */
    if (s->refine) { /* then a product of nearly this x is there, and what is left of b */
        HF_TRY(zeros_write(s, s->product, s->rows));
        HF_TRY(linpack_vector_copy(s, s->sums, s->b, s->rows));
    }
    HF_TRY(linpack_residual(s, s->x));
    HF_TRY(s->routing->residuals_collect(s));
    HF_TRY(largest_find(s, s->x, s->columns, 0, &u, &error));
    HF_TRY(largest_find(s, s->x, 0, own_rows, &u, &found[LINPACK_SCALED]));
    HF_TRY(
        largest_find(s, s->x, s->columns, 0, &published, &found[LINPACK_NORMALISED]));
    if (s->refine)
        HF_TRY(largest_find(s, s->first, s->columns, 0, &first, &before));
    error =
        s->astray ? NAN : hf_larger(hf_larger(error, before), found[LINPACK_SCALED]);
    out->error = hf_larger(error, found[LINPACK_NORMALISED] * LINPACK_BOUND);
    return HF_OK;
}
