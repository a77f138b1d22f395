/* stats.h - order statistics of repeated samples. */
#ifndef HF_STATS_H
#define HF_STATS_H

#include <stddef.h>

/** Samples that the interval of the median needs. */
enum { HF_INTERVAL_SAMPLES = 6 };

/** NaN where there are too few samples: quartiles need 4, the interval 6, p95 20, p99
 *  100. All in the unit of the samples. */
typedef struct hf_stats {
    double best; /**< the smallest */
    double median;
    double low, high;        /**< distribution-free 95 % interval of the median */
    double q1, q3, p95, p99; /**< linear interpolation between order statistics */
} hf_stats;

/** The larger one; a NaN stays, whichever it is. */
double hf_larger(double most, double value);

/** Statistics of `n` samples, which are sorted in place. */
hf_stats hf_stats_of(size_t n, double *samples);

#endif
