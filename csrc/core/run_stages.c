/* run_stages.c - what the stages of a step were, such as supersteps: columns of their own. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/run.h"

/* Stages of rank `rank` at a point. */
static size_t stages_of(const hf_loop *l, size_t index, size_t rank) {
    const size_t *at = l->points[index].stages_at;
    return (at[rank + 1] - at[rank]) / (l->stages.columns * sizeof(double));
}

static size_t most_stages(const hf_loop *l) {
    size_t most = 0;
    for (size_t i = 0; i < l->outline.n_points; i++)
        for (size_t rank = 0; rank < (size_t)l->session->net->size; rank++) {
            size_t n = stages_of(l, i, rank);
            most = n > most ? n : most;
        }
    return most;
}

hf_status hf_loop_stages_gather(const hf_loop *l, size_t index) {
    hf_transport *net = l->session->net;
    hf_point *p = &l->points[index];
    if (!l->bench->stages)
        return HF_OK;
    p->stages_at = calloc((size_t)net->size + 1, sizeof *p->stages_at);
    HF_TRY(hf_agree(net,
                    p->stages_at ? HF_OK : hf_fail(HF_ENOMEM, "no memory for stages")));
    const hf_stages *s = &l->stages;
    return hf_gather_unequal(net, &p->stages, p->stages_at, s->best,
                             s->n_best * s->columns * sizeof *s->best);
}

void hf_loop_stages_columns(const hf_loop *l, hf_column *columns, size_t *n) {
    for (const hf_quantity *q = l->bench->stages; q && q->name; q++) {
        hf_column column =
            hf_column_make(q->name, "", q->unit, q->dtype, l->outline.n_points);
        column.n_dims = 3;
        column.shape[1] = most_stages(l);
        column.shape[2] = (size_t)l->session->net->size;
        hf_column_put(columns, n, column);
    }
}

/* Past the last stage of a point there is nothing: 0, or NaN. */
void hf_loop_stages_fill(const hf_loop *l, hf_result *result, size_t index) {
    size_t columns = l->stages.columns, ranks = (size_t)l->session->net->size;
    const hf_point *p = &l->points[index];
    for (size_t i = 0; i < columns; i++) {
        const hf_quantity *q = &l->bench->stages[i];
        size_t most = most_stages(l), at = index * most * ranks;
        for (size_t k = 0; k < most * ranks; k++) {
            size_t rank = k % ranks, stage = k / ranks;
            double value = NAN;
            if (stage < stages_of(l, index, rank))
                memcpy(&value,
                       p->stages + p->stages_at[rank] +
                           (stage * columns + i) * sizeof value,
                       sizeof value);
            if (q->dtype == HF_F64)
                hf_result_doubles(result, q->name)[at + k] = value;
            else
                hf_result_integers(result, q->name)[at + k] =
                    isnan(value) ? 0 : (int64_t)value;
        }
    }
}
