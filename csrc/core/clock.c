/* clock.c - the one clock of the library. */
#include "core/clock.h"

#include <math.h>

#include "core/stats.h"

static const double MOST = 0.5; /* that counts between two looks [s] */

double hf_clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct timespec hf_clock_after(double seconds) {
    double at = hf_clock_now() + seconds;
    time_t whole = (time_t)at;
    return (struct timespec){whole, (long)(1e9 * (at - (double)whole))};
}

double hf_clock_passed(double *last) {
    double before = *last;
    *last = hf_clock_now();
    return fmin(*last - before, MOST);
}

void hf_clock_condition(pthread_cond_t *out) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(out, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

double hf_clock_cost(void) {
    enum { ROUNDS = 31, READS = 64 };
    double costs[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double start = hf_clock_now(), end = start;
        for (int k = 0; k < READS; k++)
            end = hf_clock_now();
        costs[i] = (end - start) / READS;
    }
    return hf_stats_of(ROUNDS, costs).median;
}
