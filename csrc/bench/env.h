/* env.h - what a benchmark works with. */
#ifndef HF_ENV_H
#define HF_ENV_H

#include "core/laps.h"
#include "core/stages.h"
#include "device.h"
#include "exchange.h"

/** Numbers that seal the findings of check kernels. Each is drawn once: no other rank, run or
 *  process draws the same. */
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
    bool ndrange;      /**< the kernels are those for many work-items */
    hf_laps *laps;     /**< for the benchmark's `parts` */
    hf_stages *stages; /**< for its `stages` */
    /** Whether a long step or check may go on: it fails once the caller has asked to stop and,
     *  unless the step surely `ends`, after the run's deadline. Cheap. `loop` is the next field. */
    hf_status (*go_on)(void *loop, bool ends);
    void *loop;
} hf_env;

#endif
