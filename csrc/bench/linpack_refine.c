/* linpack_refine.c - corrections of x in double: L and U of `data_type` solve for what is left.
 *
 * With M = L U, both make M^-1 (b - A x) and M^-1 A v with A by its formula. `classical` adds the
 * first to x, again and again. `gmres` adds the best combination of as many vectors of the
 * space that M^-1 A spans from it: one cycle of GMRES, preconditioned from the left. The
 * number of corrections is fixed: no rank asks another whether to go on.
 */
#include <math.h>

#include "core/error.h"
#include "core/random.h"
#include "linpack.h"

enum { N_ADD_ARGS = 5, N_DOT_ARGS = 4 };

/* to = scale to + factor from */
static hf_status vector_add(const linpack *s, hf_buffer *to, double scale,
                            hf_buffer *from, double factor) {
    const hf_arg args[N_ADD_ARGS] = {
        {.buffer = from}, {.buffer = to},       HF_VALUE(scale),
        HF_VALUE(factor), HF_VALUE(s->columns),
    };
    return linpack_run(s, s->add, args, N_ADD_ARGS, s->items);
}

/* x = M^-1 (b - A refined) */
static hf_status change_find(linpack *s) {
    HF_TRY(linpack_residual(s, s->refined));
    return linpack_sums_solve(s);
}

hf_status linpack_classical(linpack *s) {
    HF_TRY(linpack_vector_copy(s, s->refined, s->x, s->columns));
    for (unsigned i = 0; i < s->corrections; i++) {
        HF_TRY(change_find(s));
        HF_TRY(vector_add(s, s->refined, 1, s->x, 1));
    }
    return linpack_vector_copy(s, s->x, s->refined, s->columns);
}

/* ---- GMRES ---- */

/* Stamps are whole numbers, whose sums are exact. */
double linpack_stamp(const linpack *s, int q) {
    return (double)(uint32_t)hf_random((uint64_t)s->told << 32 | s->key, (uint64_t)q);
}

/* The product of x and `other` over all ranks. */
static hf_status dot_find(linpack *s, hf_buffer *other, double *out) {
    hf_device *device = s->env.device;
    const hf_arg args[N_DOT_ARGS] = {
        {.buffer = s->x}, {.buffer = other}, {.buffer = s->dots}, HF_VALUE(s->columns)};
    HF_TRY(linpack_run(s, s->dot, args, N_DOT_ARGS, s->dot_items));
    HF_TRY(device->ops->read(device, s->dots, 0, s->scalars,
                             s->dot_items * sizeof *s->scalars, NULL, NULL));
    *out = 0;
    for (size_t i = 0; i < s->dot_items; i++)
        *out += s->scalars[i];
    s->told++;
    return s->routing->row_add(s, out);
}

static hf_status norm_find(linpack *s, double *out) {
    HF_TRY(dot_find(s, s->x, out));
    *out = sqrt(*out);
    return HF_OK;
}

/* The vector of the basis that x, of length `norm`, is a multiple of; 0 has no direction. */
static hf_status basis_add(linpack *s, unsigned i, double norm) {
    return vector_add(s, s->basis[i], 0, s->x, norm == 0 ? 0 : 1 / norm);
}

/* One column of H as it is made, then turned into one of a triangle. */
typedef struct column {
    double h[HF_LINPACK_MAX_CORRECTIONS + 1];
    double cosine, sine;
} column;

/* Column `j` of H: x = M^-1 A v, without its parts along the basis, and what is left. */
static hf_status column_find(linpack *s, unsigned j, column *c) {
    HF_TRY(linpack_product(s, s->basis[j], s->sums));
    HF_TRY(linpack_sums_solve(s));
    for (unsigned i = 0; i <= j; i++) {
        HF_TRY(dot_find(s, s->basis[i], &c->h[i]));
        HF_TRY(vector_add(s, s->x, 1, s->basis[i], -c->h[i]));
    }
    HF_TRY(norm_find(s, &c->h[j + 1]));
    return j + 1 < s->corrections ? basis_add(s, j + 1, c->h[j + 1]) : HF_OK;
}

static void rotate(const column *by, double *above, double *below) {
    double was = *above;
    *above = by->cosine * was + by->sine * *below;
    *below = by->cosine * *below - by->sine * was;
}

/* By rotations, so that nothing is left below the diagonal; `right` is turned, too. */
static void column_rotate(column *columns, unsigned j, double *right) {
    column *c = &columns[j];
    for (unsigned i = 0; i < j; i++)
        rotate(&columns[i], &c->h[i], &c->h[i + 1]);
    double length = hypot(c->h[j], c->h[j + 1]);
    c->cosine = length == 0 ? 1 : c->h[j] / length;
    c->sine = length == 0 ? 0 : c->h[j + 1] / length;
    rotate(c, &c->h[j], &c->h[j + 1]);
    rotate(c, &right[j], &right[j + 1]);
}

hf_status linpack_gmres(linpack *s) {
    column columns[HF_LINPACK_MAX_CORRECTIONS] = {0};
    double right[HF_LINPACK_MAX_CORRECTIONS + 1] = {0};
    HF_TRY(linpack_vector_copy(s, s->refined, s->x, s->columns));
    HF_TRY(change_find(s));
    HF_TRY(norm_find(s, &right[0]));
    HF_TRY(basis_add(s, 0, right[0]));
    for (unsigned j = 0; j < s->corrections; j++) {
        HF_TRY(column_find(s, j, &columns[j]));
        column_rotate(columns, j, right);
    }
    for (unsigned i = s->corrections; i-- > 0;) {
        for (unsigned j = i + 1; j < s->corrections; j++)
            right[i] -= columns[j].h[i] * right[j];
        right[i] = right[i] == 0 ? 0 : right[i] / columns[i].h[i];
        HF_TRY(vector_add(s, s->refined, 1, s->basis[i], right[i]));
    }
    return linpack_vector_copy(s, s->x, s->refined, s->columns);
}
