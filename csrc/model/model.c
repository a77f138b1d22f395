/* model.c - formulas of the models. */
#include "model.h"

#include "core/error.h"

hf_status hf_formula_check(const hf_formula *formula) {
    size_t n_in = hf_terms_count(formula->inputs),
           n_out = hf_terms_count(formula->outputs);
    if (n_in <= HF_MAX_TERMS && n_out <= HF_MAX_TERMS)
        return HF_OK;
    return hf_fail(HF_ENOTSUP,
                   "formula \"%s\" has %zu inputs and %zu outputs; at most %d of each "
                   "are possible",
                   formula->summary, n_in, n_out, HF_MAX_TERMS);
}

hf_status hf_formula_find(const hf_formula **out, const char *model, size_t index) {
    const hf_model_ops *ops;
    HF_TRY(hf_model_find(&ops, model));
    for (size_t i = 0; ops->formulas[i].summary; i++)
        if (i == index) {
            *out = &ops->formulas[i];
            return hf_formula_check(*out);
        }
    return hf_fail(HF_ENOENT, "model \"%s\" has no formula %zu", model, index);
}
