/* laps.c - a stopwatch for the parts of a sample. */
#include "core/laps.h"

#include "core/clock.h"

void hf_lap(hf_laps *laps, size_t part) {
    if (!laps)
        return;
    double now = hf_clock_now();
    laps->seconds[part] += now - laps->since;
    laps->since = now;
}
