/* param.h - parameter values as benchmarks read them. */
#ifndef HF_PARAM_H
#define HF_PARAM_H

#include "hf.h"

/** Defaults of two tables, the benchmark's and the session's. */
hf_status hf_args_make(hf_args **out, const char *bench, const hf_param *own,
                       const hf_param *common);

/** A number that differs when the values of parameter `index`, or the benchmark, do; 0
 *  past the end. */
uint64_t hf_args_digest(const hf_args *args, size_t index);

/** Values of a parameter that the tables are known to hold. */
double hf_args_number(const hf_args *args, const char *name);
const double *hf_args_list(const hf_args *args, const char *name, size_t *n);
const char *hf_args_word(const hf_args *args, const char *name);
bool hf_args_chosen(const hf_args *args, const char *name, const char *choice);

#endif
