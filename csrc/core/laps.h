/* laps.h - a stopwatch for the parts of a sample. */
#ifndef HF_LAPS_H
#define HF_LAPS_H

#include <stddef.h>

/* The last part is what `verify` took beside the benchmark's own parts. */
enum { HF_MAX_PARTS = 6, HF_LAP_VERIFY = HF_MAX_PARTS, HF_N_LAPS };

/** Seconds of each part so far; the session reads and restarts it. */
typedef struct hf_laps {
    double seconds[HF_N_LAPS], since;
} hf_laps;

/** Give the time since the last lap to part `part`; nothing where `laps` is NULL. */
void hf_lap(hf_laps *laps, size_t part);

#endif
