/* bench.h - what is computed: a benchmark is one table of functions in one file.
 *
 * The session owns the loop, the clock and the statistics. A benchmark holds no clock,
 * calls no MPI, prints nothing, and allocates nothing between `setup` and `teardown`.
 */
#ifndef HF_BENCH_H
#define HF_BENCH_H

#include "core/laps.h"
#include "core/param.h"
#include "device.h"
#include "exchange.h"
#include "launches.h"

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
    uint64_t seed;
    hf_seals *seals;
    bool ndrange;  /**< the kernels are those for many work-items */
    hf_laps *laps; /**< for the benchmark's `parts` */
} hf_env;

/** Kernel files that a benchmark has. */
enum {
    HF_KERNELS_MEMORY = 1,  /**< <bench>_memory: pipelines in global memory */
    HF_KERNELS_STREAM = 2,  /**< <bench>_stream: pipelines that send and receive */
    HF_KERNELS_NDRANGE = 4, /**< <bench>_ndrange: as _memory, for CPUs and GPUs */
};

/** The entry of a benchmark that has two shapes in its table of parameters. */
/* clang-format off */
#define HF_SHAPE_PARAM                                                                 \
    {"shape", "kernels: pipeline, one work-item each, as on FPGAs; ndrange, many "     \
     "work-items, as on CPUs and GPUs; auto, by the device",                           \
     "auto", "auto|pipeline|ndrange", NULL, 0, 0, HF_TEXT}
/* clang-format on */

typedef struct hf_bench_ops {
    const char *name, *summary;
    const hf_param *params;
    hf_problem problem;
    bool banked; /**< each replication has its buffers in a memory bank of its own */
    unsigned kernels; /**< kernel files it has; 0: host code only */
    size_t state_size;
    const char *error; /**< what `verify` finds, if it is a figure: name of its column
                            and, of all points' largest, in the summary; NULL: "error" */

    const hf_quantity *labels;  /**< what a point is: known before it runs */
    const hf_quantity *metrics; /**< what follows from its seconds; doubles */
    const hf_quantity *parts;   /**< seconds that hf_lap counted, of the best sample's
                                     slowest rank and, as <part>_ranks, of each; those of
                                     `step` are per step, and those of a plan first */
    const hf_quantity *figures; /**< what follows from all points; doubles */

    /** Take parameters, allocate, load kernels. `state` is zeroed. */
    hf_status (*setup)(void *state, const hf_args *args, const hf_env *env,
                       size_t *n_points);
    /** What takes all ranks, after each one's `setup` went well; may be NULL. */
    hf_status (*connect)(void *state);
    /** The values of `labels` at a point; integers up to 2^53 pass through a double. */
    void (*label)(const void *state, size_t point, double *values);
    /** Plan the messages of a point, in place of those before; NULL: none travel.
     *  Collective. */
    hf_status (*plan)(void *state, size_t point);
    /** Steps of one sample; the clock needs at least `fewest`. NULL: 1. */
    size_t (*inner)(const void *state, size_t point, size_t fewest);
    /** Fresh input for sample number `sample`, untimed. */
    hf_status (*prepare)(void *state, size_t point, uint64_t sample);
    /** The timed part: `inner` steps. */
    hf_status (*step)(void *state, size_t point, size_t inner);
    /** Compare the outcome of the sample just taken, untimed; 0 means correct. */
    hf_status (*verify)(void *state, size_t point, size_t inner, double *error);
    /** Largest error of right data; NULL: 0. */
    double (*tolerance)(const void *state, size_t point);
    /** Values of `metrics` from seconds per step; pure. */
    void (*metric)(const void *state, size_t point, double seconds, double *values);
    /** Each rank's share of the work at a point: [ranks], 1 together; pure. NULL: metrics
     *  have no <metric>_ranks. */
    void (*shares)(const void *state, size_t point, double *values);
    /** Values of `figures` from seconds per step of all points; pure. */
    void (*figure)(const void *state, const double *seconds, double *values);
    /** A remark about this run for the result, or NULL. */
    const char *(*note)(const void *state);
    void (*teardown)(void *state);
} hf_bench_ops;

#endif
