/* laps.h - a stopwatch for the parts of a sample. */
#ifndef HF_LAPS_H
#define HF_LAPS_H

#include <stddef.h>

enum { HF_MAX_PARTS = 6 };

/** Seconds of each part so far; the session reads and restarts it. */
typedef struct hf_laps {
    double seconds[HF_MAX_PARTS], since;
} hf_laps;

/** Give the time since the last lap to part `part`; nothing where `laps` is NULL. */
void hf_lap(hf_laps *laps, size_t part);

#endif
