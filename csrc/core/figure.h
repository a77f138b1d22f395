/* figure.h - what follows from all points of a run, or of a model. */
#ifndef HF_FIGURE_H
#define HF_FIGURE_H

#include <stddef.h>

/** How a figure follows from the values of all points. Sizes are the first label's. */
typedef enum hf_figure_kind {
    HF_FIGURE_MEAN,
    HF_FIGURE_HARMONIC, /**< harmonic mean */
    HF_FIGURE_MAX,      /**< of the values that are not NaN */
    HF_FIGURE_SMALLEST,
    HF_FIGURE_LARGEST,
    HF_FIGURE_POINT /**< the first point; + k: point k */
} hf_figure_kind;

/** A figure; a table of them ends with name == NULL. */
typedef struct hf_figure {
    const char *name, *unit;
    const char *of; /**< a metric, or "time" */
    int reduction;
} hf_figure;

/** The figure of `n` points with these sizes and values; NaN where its point is missing. */
double hf_figure_of(const hf_figure *figure, size_t n, const double *sizes,
                    const double *values);

#endif
