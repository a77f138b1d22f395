/* figure.c - what follows from all points of a run, or of a model. */
#include "core/figure.h"

#include <math.h>

double hf_figure_of(const hf_figure *figure, size_t n, const double *sizes,
                    const double *values) {
    size_t point = (size_t)(figure->reduction - HF_FIGURE_POINT), smallest = 0,
           largest = 0;
    double sum = 0, inverses = 0, best = NAN;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        inverses += 1 / values[i];
        best = fmax(best, values[i]);
        smallest = sizes[i] < sizes[smallest] ? i : smallest;
        largest = sizes[i] > sizes[largest] ? i : largest;
    }
    switch (figure->reduction) {
    case HF_FIGURE_MEAN:
        return sum / (double)n;
    case HF_FIGURE_HARMONIC:
        return (double)n / inverses;
    case HF_FIGURE_MAX:
        return best;
    case HF_FIGURE_SMALLEST:
        return n > 0 ? values[smallest] : NAN;
    case HF_FIGURE_LARGEST:
        return n > 0 ? values[largest] : NAN;
    default:
        return point < n ? values[point] : NAN;
    }
}
