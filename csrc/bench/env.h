/* env.h - what a benchmark works with. */
#ifndef HF_ENV_H
#define HF_ENV_H

#include "core/laps.h"
#include "core/result.h"
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
    bool ndrange;         /**< the kernels are those for many work-items */
    hf_laps *laps;        /**< for the benchmark's `parts` */
    hf_stages *stages;    /**< for its `stages` */
    struct hf_loop *loop; /**< of the session, for what follows */
} hf_env;

/** Whether a long step or check may go on: it fails once the caller has asked to stop and,
 *  unless the step surely `ends`, after the run's deadline. Cheap. */
hf_status hf_go_on(const hf_env *env, bool ends);

/** What the run leaves beside its columns: of its last sample, the same on all ranks. It stays
 *  where it is until `teardown`. */
void hf_leave(const hf_env *env, hf_records records);

#endif
