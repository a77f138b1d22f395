/* laps.h - a stopwatch for the parts of a sample. */
#ifndef HF_LAPS_H
#define HF_LAPS_H

#include <stddef.h>

/** Parts that have a place of their own: what a plan takes between host and device, and between
 *  hosts; kernels, where a benchmark counts them; what `verify` took beside the parts. */
enum {
    HF_LAP_TRANSFER,
    HF_LAP_EXCHANGE,
    HF_LAP_KERNEL,
    HF_MAX_PARTS = 6,
    HF_LAP_VERIFY = HF_MAX_PARTS,
    HF_N_LAPS
};

/** Seconds of each part so far; the session reads and restarts it. */
typedef struct hf_laps {
    double seconds[HF_N_LAPS], since;
} hf_laps;

/** Give the time since the last lap to part `part`; nothing where `laps` is NULL. */
void hf_lap(hf_laps *laps, size_t part);

#endif
