/* env.h - what a benchmark works with. */
#ifndef HF_ENV_H
#define HF_ENV_H

#include "core/laps.h"
#include "device.h"
#include "exchange.h"

/** Numbers that seal the findings of check kernels: each is drawn once, and those of other
 *  ranks, runs and processes are others. */
typedef struct hf_seals {
    uint64_t key, drawn;
} hf_seals;

/** What a benchmark works with; borrowed until `teardown`. */
typedef struct hf_env {
    hf_device *device;
    hf_exchange *exchange;
    int rank, size;
    uint64_t memory_left; /**< on the host for this rank, as the run starts [B] */
    uint64_t seed;
    hf_seals *seals;
    bool ndrange;  /**< the kernels are those for many work-items */
    hf_laps *laps; /**< for the benchmark's `parts` */
    /** May a step or a check that takes long go on? No where the caller says so, or, unless it
     *  surely `ends`, once it has outlasted the run's deadline. Cheap. `loop` is from here. */
    hf_status (*go_on)(void *loop, bool ends);
    void *loop;
} hf_env;

#endif
