/* result.h - results as the session fills them. */
#ifndef HF_RESULT_H
#define HF_RESULT_H

#include "hf.h"

/** One allocation for all columns, zeroed; names, units, shapes and dtypes come from
 *  `columns`, whose data pointers are ignored. */
hf_status hf_result_new(hf_result **out, size_t n_columns, const hf_column *columns,
                        size_t n_summary);

/** Data of a column that exists. */
double *hf_result_doubles(hf_result *result, const char *name);
int64_t *hf_result_integers(hf_result *result, const char *name);
unsigned char *hf_result_flags(hf_result *result, const char *name);

void hf_result_set_summary(hf_result *result, size_t index, const char *name,
                           const char *unit, double value);
/** Add a remark; those past the fourth are dropped. */
void hf_result_add_note(hf_result *result, const char *note);
void hf_result_set_verified(hf_result *result, bool verified);

#endif
