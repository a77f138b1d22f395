/* clock.h - the one clock of the library. */
#ifndef HF_CLOCK_H
#define HF_CLOCK_H

#include <pthread.h>
#include <time.h>

/** CLOCK_MONOTONIC [s]. */
double hf_clock_now(void);

/** The time of CLOCK_MONOTONIC in `seconds` from now. */
struct timespec hf_clock_after(double seconds);

/** Seconds since *last, which is now from then on, for waits that look many times in a second: at
 *  most half a second, since all of a process may have stood still, as by SIGSTOP. */
double hf_clock_passed(double *last);

/** Make a condition for timed waits until such a time. */
void hf_clock_condition(pthread_cond_t *out);

/** Cost of one reading, the median of many [s]. */
double hf_clock_cost(void);

#endif
