/* stats.c - order statistics of repeated samples. */
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(size_t n, const double *sorted, double q, size_t at_least) {
    if (n < at_least)
        return NAN;
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    double part = at - (double)below;
    return below + 1 < n ? sorted[below] * (1 - part) + sorted[below + 1] * part
                         : sorted[n - 1];
}

/* Largest k with P(X < k) <= 2.5 % for X ~ Binomial(n, 1/2): the order statistics k and
 * n + 1 - k enclose the median with at least 95 %. 0 when no such k exists. */
static size_t median_rank(size_t n) {
    double log_p = -(double)n * log(2), sum = 0;
    for (size_t k = 0; k < n; k++) {
        sum += exp(log_p);
        if (sum > 0.025)
            return k;
        log_p += log((double)(n - k)) - log((double)(k + 1));
    }
    return 0;
}

double hf_larger(double most, double value) {
    return value > most || isnan(value) ? value : most;
}

hf_stats hf_stats_of(size_t n, double *samples) {
    qsort(samples, n, sizeof *samples, compare);
    size_t k = median_rank(n);
    return (hf_stats){
        .best = quantile(n, samples, 0, 1),
        .median = quantile(n, samples, 0.5, 1),
        .low = k ? samples[k - 1] : NAN,
        .high = k ? samples[n - k] : NAN,
        .q1 = quantile(n, samples, 0.25, 4),
        .q3 = quantile(n, samples, 0.75, 4),
        .p95 = quantile(n, samples, 0.95, 20),
        .p99 = quantile(n, samples, 0.99, 100),
    };
}
