/* bench.h - what is computed: a benchmark is a description and up to two paths.
 *
 * The session owns the loop, the clock and the statistics. A benchmark holds no clock,
 * calls no MPI, prints nothing, and allocates nothing in `step`.
 */
#ifndef HF_BENCH_H
#define HF_BENCH_H

#include "core/param.h"
#include "env.h"
#include "hf_numbered.h"
#include "launches.h"

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

enum { HF_MAX_LABELS = 4, HF_MAX_METRICS = 4, HF_MAX_FINDINGS = 8 };

/** What `setup` says of a run; all-zero at first. */
typedef struct hf_outline {
    size_t n_points;
    size_t longest; /**< message at any point [B], 0: not known before it is planned */
    const char *note; /**< a remark for the result, or NULL */
} hf_outline;

/** A point of a run; a plain value, all-zero at first. */
typedef struct hf_setting {
    double labels[HF_MAX_LABELS]; /**< integers up to 2^53 pass through a double */
    size_t fewest,
        most; /**< steps of a sample; 0: 1. Between them the session takes as many
                              as the clock needs */
    double tolerance; /**< largest error of right data */
} hf_setting;

/** What `verify` says of a sample; error and findings are NaN at first, work is 0. */
typedef struct hf_outcome {
    double error;                     /**< 0 means correct */
    double findings[HF_MAX_FINDINGS]; /**< as the benchmark's table of them */
    double work[HF_MAX_METRICS]; /**< of a step, of this rank: metrics are that of all
                                      ranks per second */
} hf_outcome;

/** A benchmark over one kind of schemes. */
typedef struct hf_bench_path {
    size_t state_size;
    /** Kernels of a launch that wait for each other, for each replication, at most: all must run
     *  at the same time. 0 over host-routed schemes. */
    size_t side_by_side;
    /** Refuse parameters that no run over this kind of schemes can have, and a number of ranks
     *  that does not go with them. The message says what does. NULL: all go. `exchange` is the
     *  scheme's name. */
    hf_status (*ranks_check)(const hf_args *args, const char *exchange, int ranks);
    /** Take parameters, allocate, load kernels. `state` is zeroed. */
    hf_status (*setup)(void *state, const hf_args *args, const hf_env *env,
                       hf_outline *out);
    /** What takes all ranks, after each one's `setup` went well; may be NULL. */
    hf_status (*connect)(void *state);
    /** Say what a point is, and plan its messages in place of those before. Collective. */
    hf_status (*plan)(void *state, size_t point, hf_setting *out);
    /** Fresh input for sample number `sample`, untimed. */
    hf_status (*prepare)(void *state, size_t point, uint64_t sample);
    /** The timed part: `inner` steps. */
    hf_status (*step)(void *state, size_t point, size_t inner);
    /** Compare what the last sample has left with what `steps` steps should leave, untimed. */
    hf_status (*verify)(void *state, size_t point, size_t steps, hf_outcome *out);
    /** Also of a state whose `setup` failed. */
    void (*teardown)(void *state);
} hf_bench_path;

typedef struct hf_bench {
    const char *name, *summary;
    const hf_param *params;
    hf_problem problem;
    bool banked;   /**< each replication has its buffers in a memory bank of its own */
    bool computes; /**< it times kernels, not copies and messages alone */
    bool brief;    /**< samples over host-routed schemes may be shorter than 2 ms */
    unsigned kernels;  /**< kernel files it has; 0: host code only */
    const char *error; /**< what `verify` finds, if it is a figure: name of its column
                            and, of all points' largest, in the summary; NULL: "error" */

    const hf_quantity *labels;  /**< what a point is: known before it runs */
    const hf_quantity *metrics; /**< rates: work per second; doubles */
    /** What else `verify` finds, at most HF_MAX_FINDINGS. Doubles: the largest of all samples,
     *  also of each rank as <finding>_ranks. Whole numbers: rank 0's in the best sample. They
     *  decide nothing. */
    const hf_quantity *findings;
    /** What hf_lap counted [s], at most HF_MAX_PARTS: in the best sample, of its slowest rank
     *  and, as <part>_ranks, of each. What `step` counts is per step. Parts that an exchange
     *  counts (HF_LAP_TRANSFER, HF_LAP_EXCHANGE) come first. */
    const hf_quantity *parts;
    /** What hf_stage_add counted of each stage of a step on each rank, in the best sample:
     *  columns of [points, stages, ranks]. The last two are always the times [s] that
     *  hf_stages_end adds, so there are at least two. A sample must be one step, as rows of
     *  all its steps are added up. */
    const hf_quantity *stages;
    const hf_figure *figures; /**< what follows from all points */

    const hf_bench_path *blocks;  /**< over host-routed schemes; NULL: not there */
    const hf_bench_path *streams; /**< over kernel-routed schemes; NULL: not there */
} hf_bench;

/** Name of the column of what `verify` found. */
static inline const char *hf_error_column(const hf_bench *bench) {
    return bench->error ? bench->error : "error";
}

#endif
