/* model.h - performance models: pure functions of numbers, arrays in and out. */
#ifndef HF_MODEL_H
#define HF_MODEL_H

#include <math.h>
#include <stdbool.h>

#include "hf.h"

enum { HF_MAX_TERMS = 20 }; /**< inputs of a formula, and outputs */

/** An input or output; a table of them ends with name == NULL. How a parameter that is no
 *  number tells an input stands behind its name:
 *    data_type:bytes         the length of that type
 *    grid:rows               P of PxQ
 *    distribution:diagonal   1 for this word, else 0
 *    chunk_size:number       the number, where it is one
 *  A fact may name a parameter that is a word: graph.cycles_per_edge.<program>. */
typedef struct hf_term {
    const char *name, *unit, *summary;
    const char *fact;  /**< the board's value of an input: "memory.banks", or over an
                            earlier one: "network.ports/channels"; NULL: none */
    double fallback;   /**< else this, or NaN: somebody must give it */
    const char *param; /**< the parameter of a run that tells an input; NULL: that of
                             the same name, if there is one */
    bool zero;         /**< an input may be 0; else it is above 0 */
} hf_term;

/** An output, or an input that somebody must give. */
#define HF_TERM(name, unit, summary) \
    { name, unit, summary, NULL, NAN, NULL, false }

typedef enum hf_role {
    HF_EXPECTED,   /**< a run's points, from a board's data */
    HF_CALIBRATED, /**< the same, from curves that a calibration measured */
    HF_FITTED,     /**< an equation's constants, from measured times */
    HF_SUMMARY,    /**< figures beside the benchmark's own: one value per output */
    HF_CHOSEN,     /**< which of many points is the best: one value per output */
} hf_role;

/** One equation; a table of them ends with summary == NULL. Inputs come as arrays of length
 *  n, and outputs have length n, but for a summary and a choice. */
typedef struct hf_formula {
    hf_role role;
    const char *exchange; /**< scheme that it is for; NULL: whichever */
    const char *summary;  /**< what it counts, and its source */
    const hf_term *inputs, *outputs;
    void (*eval)(size_t n, const double *const *in, double *const *out);
} hf_formula;

typedef struct hf_model_ops {
    const char *name, *summary;
    const hf_formula *formulas; /**< ends with summary == NULL */
} hf_model_ops;

/** Model `name`; on HF_ENOENT the message lists the known ones. */
hf_status hf_model_find(const hf_model_ops **out, const char *name);
/** Terms of a table. */
static inline size_t hf_terms_count(const hf_term *terms) {
    size_t n = 0;
    while (terms[n].name)
        n++;
    return n;
}

/** HF_ENOTSUP if `formula` has more than HF_MAX_TERMS inputs or outputs. */
hf_status hf_formula_check(const hf_formula *formula);
/** Formula number `index` of `model`, checked; HF_ENOENT past the last. */
hf_status hf_formula_find(const hf_formula **out, const char *model, size_t index);

#endif
