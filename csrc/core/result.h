/* result.h - columns and summary of a run. */
#ifndef HF_RESULT_H
#define HF_RESULT_H

#include "hf.h"

typedef struct hf_column {
    char name[32];
    const char *unit;
    void *data; /**< C order; owned by the result */
    size_t shape[3];
    int n_dims;
    hf_dtype dtype;
} hf_column;

/** What a run leaves beside its columns: records of a size that only the kernels know. */
typedef struct hf_records {
    void *data; /**< [n, bytes]; NULL: there are none */
    size_t n, bytes;
    const uint32_t *order; /**< number i of a result's is order[i] of these */
} hf_records;

/** The result owns them, in order, until it is freed. `data` NULL: none. */
hf_records hf_result_records(const hf_result *result);
const hf_column *hf_result_column(const hf_result *result, size_t index);
/** Column `index` of the trace, which has rows of its own; NULL past the end. */
const hf_column *hf_result_trace(const hf_result *result, size_t index);
/** Entry `index` of the summary: false past the end. NaN stands for "no value". */
bool hf_result_summary(const hf_result *result, size_t index, const char **name,
                       const char **unit, double *value);
/** Entry `index` of the remarks about the run, NULL past the end. */
const char *hf_result_note(const hf_result *result, size_t index);
bool hf_result_verified(const hf_result *result);
void hf_result_free(hf_result *result);

/* ---- for the session ---- */

/** One allocation for all columns, zeroed; names, units, shapes and dtypes come from
 *  `columns`, whose data pointers are ignored. The last `n_trace` are the trace's. */
hf_status hf_result_new(hf_result **out, size_t n_columns, size_t n_trace,
                        const hf_column *columns, size_t n_summary);

/** Data of a column that exists. */
double *hf_result_doubles(hf_result *result, const char *name);
int64_t *hf_result_integers(hf_result *result, const char *name);
unsigned char *hf_result_flags(hf_result *result, const char *name);
/** [points, HF_NAME_LETTERS] characters as UCS-4, zeros after the last. */
uint32_t *hf_result_names(hf_result *result, const char *name);
/** Put text there, up to HF_NAME_LETTERS of it. */
void hf_name_put(uint32_t *to, const char *text, size_t length);

void hf_result_set_summary(hf_result *result, size_t index, const char *name,
                           const char *unit, double value);
/** Add a remark; those past the fourth are dropped. */
void hf_result_add_note(hf_result *result, const char *note);
/** Copy records, in their order; HF_ENOMEM. */
hf_status hf_result_set_records(hf_result *result, hf_records records);
void hf_result_set_verified(hf_result *result, bool verified);

#endif
