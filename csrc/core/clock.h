/* clock.h - the one clock of the library. */
#ifndef HF_CLOCK_H
#define HF_CLOCK_H

/** CLOCK_MONOTONIC [s]. */
double hf_clock_now(void);

/** Cost of one reading, the median of many [s]. */
double hf_clock_cost(void);

#endif
