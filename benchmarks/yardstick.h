/* yardstick.h - what yardsticks share: the clock, and samples as JSON. */
#ifndef YARDSTICK_H
#define YARDSTICK_H
#include <stdio.h>
#include <time.h>

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As one more member of an object. */
static inline void samples_print(const char *name, long n, const double *samples) {
    printf(", \"%s\": [", name);
    for (long i = 0; i < n; i++)
        printf("%s%.9e", i ? ", " : "", samples[i]);
    printf("]");
}
#endif
