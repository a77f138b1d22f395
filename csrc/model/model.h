/* model.h - performance models: pure functions of numbers, arrays in and out. */
#ifndef HF_MODEL_H
#define HF_MODEL_H

#include <math.h>

#include "hf.h"

enum { HF_MOST_TERMS = 16 }; /**< inputs of a formula, and outputs */

/** An input or output; a table of them ends with name == NULL. */
typedef struct hf_term {
    const char *name, *unit, *summary;
    const char *fact; /**< the board's value of an input: "memory.banks", or over an
                           earlier one: "network.ports/channels"; NULL: none */
    double fallback;  /**< else this, or NaN: somebody must give it */
} hf_term;

/** An output, or an input that somebody must give. */
#define HF_TERM(name, unit, summary) \
    { name, unit, summary, NULL, NAN }

/** One equation. It is named after an exchange scheme, or "device" where none matters;
 *  "<scheme> calibrated" takes curves of a calibration in place of a board's data,
 *  "<scheme> fitted" makes an equation's constants of measured times, and "summary" and
 *  "<scheme> summary" make figures of all points. Inputs come as arrays of length n;
 *  `reduce` gives one value per output, otherwise outputs have length n. */
typedef struct hf_formula {
    const char *name;    /**< e.g. "channel" */
    const char *summary; /**< what it counts, and its source */
    const hf_term *inputs, *outputs;
    bool reduce;
    void (*eval)(size_t n, const double *const *in, double *const *out);
} hf_formula;

typedef struct hf_model_ops {
    const char *name, *summary;
    const hf_formula *formulas; /**< ends with name == NULL */
} hf_model_ops;

/** The largest of `n` values: of all points, for a summary. */
static inline double hf_model_largest(size_t n, const double *values) {
    double largest = values[0];
    for (size_t i = 1; i < n; i++)
        largest = fmax(largest, values[i]);
    return largest;
}

/** Model `name`; on HF_ENOENT the message lists the known ones. */
hf_status hf_model_find(const hf_model_ops **out, const char *name);
/** Terms of a table. */
static inline size_t hf_terms_count(const hf_term *terms) {
    size_t n = 0;
    while (terms[n].name)
        n++;
    return n;
}

/** HF_ENOTSUP if `formula` has more than HF_MOST_TERMS inputs or outputs. */
hf_status hf_formula_check(const hf_formula *formula);
/** Formula `name` of `model`, checked; on HF_ENOENT the message lists the known ones. */
hf_status hf_formula_find(const hf_formula **out, const char *model, const char *name);

#endif
