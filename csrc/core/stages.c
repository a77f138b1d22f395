/* stages.c - rows of what the stages of a step were. */
#include "core/stages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* NULL past the last that is kept. */
static double *row_of(hf_stages *s, size_t stage) {
    if (stage >= HF_MAX_STAGES)
        return NULL;
    s->n = stage < s->n ? s->n : stage + 1;
    return s->rows + stage * s->columns;
}

void hf_stage_add(hf_stages *s, size_t stage, size_t column, double value) {
    double *row = s ? row_of(s, stage) : NULL;
    if (row)
        row[column] += value;
}

void hf_stages_end(hf_stages *s, size_t first, size_t last, const uint64_t *parts) {
    if (!s || last < first)
        return;
    double took[HF_N_LAPS], n = (double)(last - first + 1), all = 0;
    for (size_t i = 0; i < HF_N_LAPS; i++)
        took[i] = s->laps->seconds[i] - s->mark.seconds[i];
    for (size_t i = 0; parts && i <= last - first; i++)
        all += (double)parts[i];
    for (size_t stage = first; stage <= last; stage++) {
        const double part = all > 0 ? (double)parts[stage - first] / all : 1 / n;
        hf_stage_add(s, stage, s->columns - 2, took[HF_LAP_KERNEL] * part);
        hf_stage_add(s, stage, s->columns - 1,
                     (took[HF_LAP_TRANSFER] + took[HF_LAP_EXCHANGE]) * part);
    }
    s->mark = *s->laps;
}

hf_status hf_stages_new(hf_stages *out, size_t columns, const hf_laps *laps) {
    assert(columns >= 2);
    *out = (hf_stages){.columns = columns, .laps = laps};
    out->rows = calloc(HF_MAX_STAGES, columns * sizeof *out->rows);
    out->best = calloc(HF_MAX_STAGES, columns * sizeof *out->best);
    return out->rows && out->best
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for the stages of a step");
}

void hf_stages_begin(hf_stages *s) {
    if (s->n > 0)
        memset(s->rows, 0, s->n * s->columns * sizeof *s->rows);
    s->n = 0;
    s->mark = (hf_laps){0};
}

void hf_stages_keep(hf_stages *s) {
    double *rows = s->rows;
    size_t n = s->n;
    s->rows = s->best;
    s->n = s->n_best;
    s->best = rows;
    s->n_best = n;
}

void hf_stages_free(hf_stages *s) {
    free(s->rows);
    free(s->best);
}
