/* bench.h - what is computed: a benchmark is one table of functions in one file.
 *
 * The session owns the loop, the clock and the statistics. A benchmark holds no clock,
 * calls no MPI, prints nothing, and allocates nothing between `setup` and `teardown`.
 */
#ifndef HF_BENCH_H
#define HF_BENCH_H

#include "core/param.h"
#include "core/result.h"
#include "device.h"
#include "exchange.h"

/** What a benchmark works with; borrowed until `teardown`. */
typedef struct hf_env {
    hf_device *device;
    hf_exchange *exchange;
    int rank, size;
    uint64_t seed;
} hf_env;

/** A named quantity; a table of them ends with name == NULL. */
typedef struct hf_quantity {
    const char *name, *unit;
    hf_dtype dtype;
} hf_quantity;

enum { HF_KERNELS_MEMORY = 1, HF_KERNELS_STREAM = 2 };

typedef struct hf_bench_ops {
    const char *name, *summary;
    const hf_param *params;
    unsigned kernels; /**< kernel files it has; 0: host code only */
    size_t state_size;

    const hf_quantity *labels;  /**< what a point is: known before it runs */
    const hf_quantity *metrics; /**< what follows from its seconds; doubles */
    const hf_quantity *figures; /**< what follows from all points; doubles */

    /** Take parameters, allocate, load kernels. `state` is zeroed. */
    hf_status (*setup)(void *state, const hf_args *args, const hf_env *env,
                       size_t *n_points);
    /** What takes all ranks, after each one's `setup` went well; may be NULL. */
    hf_status (*connect)(void *state);
    /** The values of `labels` at a point; integers up to 2^53 pass through a double. */
    void (*label)(const void *state, size_t point, double *values);
    /** The messages of this rank at a point, which the session checks with the other
     *  ranks' before the first sample; NULL: none travel. */
    const hf_message *(*plan)(void *state, size_t point, size_t *n);
    /** Steps in one sample; 0 leaves the choice to the session's timer floor. */
    size_t (*inner)(const void *state, size_t point);
    /** Fresh input for sample number `sample`, untimed. */
    hf_status (*prepare)(void *state, size_t point, uint64_t sample);
    /** The timed part: `inner` steps. */
    hf_status (*step)(void *state, size_t point, size_t inner);
    /** Compare the outcome of the sample just taken, untimed; 0 means correct. */
    hf_status (*verify)(void *state, size_t point, size_t inner, double *error);
    /** Values of `metrics` from seconds per step; pure. */
    void (*metric)(const void *state, size_t point, double seconds, double *values);
    /** Values of `figures` from seconds per step of all points; pure. */
    void (*figure)(const void *state, const double *seconds, double *values);
    /** A remark about this run for the result, or NULL. */
    const char *(*note)(const void *state);
    void (*teardown)(void *state);
} hf_bench_ops;

#endif
