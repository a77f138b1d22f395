/* param.h - parameters: described by tables, refused by one function. */
#ifndef HF_PARAM_H
#define HF_PARAM_H

#include "hf.h"

typedef enum hf_kind { HF_INT, HF_REAL, HF_TEXT, HF_INTS, HF_REALS } hf_kind;

/** One parameter; a table of them ends with name == NULL. */
typedef struct hf_param {
    const char *name;
    const char *summary;  /**< one sentence, unit in brackets */
    const char *fallback; /**< the default, as text */
    const char *choices;  /**< "a|b|c"; NULL allows any text; HF_INT: "1|2|4", NULL any
                               number within the bounds */
    /** Kernel knob: the build option; NULL for a host parameter. Of a text that ends with
     *  .h: the header in whose place the kernels get the file that the value names. */
    const char *macro;
    /** Inclusive bounds of every number. A HF_TEXT with low < high is one of its choices or a
     *  multiple of `low` up to `high`. */
    double low, high;
    hf_kind kind;
} hf_param;

/** Defaults for benchmark `bench`; free with hf_args_free. */
hf_status hf_args_new(hf_args **out, const char *bench);
void hf_args_free(hf_args *args);
/** Set one parameter from numbers (n >= 1) or from text; refuses unknown names, wrong
 *  kinds and values out of bounds with the known choices in the message. */
hf_status hf_args_set(hf_args *args, const char *name, size_t n, const double *numbers,
                      const char *text);
/** Entry `index` of the table, NULL past the end. */
const hf_param *hf_args_param(const hf_args *args, size_t index);
size_t hf_args_count(const hf_args *args, size_t index);
/** The values of a numeric parameter; NULL for text. */
const double *hf_args_numbers(const hf_args *args, size_t index);
const char *hf_args_text(const hf_args *args, size_t index);
/** Refuse what no run of benchmark `bench` can have: a scheme that it does not run over, a
 *  number of ranks, or words that do not go with the scheme. */
hf_status hf_ranks_check(const char *bench, const char *exchange, const hf_args *args,
                         int ranks);

/* ---- for benchmarks ---- */

/** Defaults of two tables, the benchmark's and the session's. */
hf_status hf_args_make(hf_args **out, const char *bench, const hf_param *own,
                       const hf_param *common);

/** Values of a parameter that the tables are known to hold. */
double hf_args_number(const hf_args *args, const char *name);
const double *hf_args_list(const hf_args *args, const char *name, size_t *n);
/** Of a parameter that is a number, or a word or a number: the number, or `word`; `word` as well
 *  where the tables have none of that name. */
double hf_args_number_or(const hf_args *args, const char *name, double word);
/** The largest of a list. */
double hf_args_largest(const hf_args *args, const char *name);
const char *hf_args_word(const hf_args *args, const char *name);
bool hf_args_chosen(const hf_args *args, const char *name, const char *choice);

#endif
