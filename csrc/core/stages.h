/* stages.h - what the stages of a step were, such as supersteps: rows of numbers and times. */
#ifndef HF_STAGES_H
#define HF_STAGES_H

#include <stdint.h>

#include "core/laps.h"
#include "core/status.h"

enum { HF_MAX_STAGES = 1024 }; /**< that are kept, from the first on */

/** Rows of a sample, of this rank; the session empties them, and keeps those of the best. */
typedef struct hf_stages {
    double *rows, *best; /**< [n, columns]; [n_best, columns] */
    size_t n, n_best, columns;
    const hf_laps *laps;
    hf_laps mark; /**< when the last stage was over */
} hf_stages;

/** Stage `stage` did so much more: add it to a column. Nothing where `stages` is NULL. */
void hf_stage_add(hf_stages *stages, size_t stage, size_t column, double value);
/** Stages `first` to `last` took what was counted since the last call: each a part as its entry
 *  in `parts`, evenly where that is NULL or all zeros. The last two columns are these times [s]:
 *  HF_LAP_KERNEL, and HF_LAP_TRANSFER with HF_LAP_EXCHANGE. Nothing where `stages` is NULL. */
void hf_stages_end(hf_stages *stages, size_t first, size_t last, const uint64_t *parts);

/* ---- for the session ---- */

/** Room for HF_MAX_STAGES rows of `columns`, which are at least the two times; HF_ENOMEM. */
hf_status hf_stages_new(hf_stages *out, size_t columns, const hf_laps *laps);
/** A sample begins. */
void hf_stages_begin(hf_stages *stages);
/** It was the best so far. */
void hf_stages_keep(hf_stages *stages);
/** Takes an all-zero one, too. */
void hf_stages_free(hf_stages *stages);

#endif
