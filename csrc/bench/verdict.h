/* verdict.h - what a check kernel says of a sample, and whether it said it at all. */
#ifndef HF_VERDICT_H
#define HF_VERDICT_H

#include "bench.h"
#include "hf_finding.h"

enum {
    HF_VERDICT_ARGS = 2, /**< arguments of a check kernel behind its own */
    HF_LOOKED = 32, /**< numbers at which the host looks: blocks are multiples of it */
};

/** How the findings of the work-items become one error. */
typedef enum hf_verdict_kind {
    HF_VERDICT_COUNT,   /**< wrong values: their sum */
    HF_VERDICT_LARGEST, /**< magnitudes of errors: the largest */
} hf_verdict_kind;

/** All-zero before `new`; `free` takes that, too. */
typedef struct hf_verdict {
    hf_device *device;
    hf_seals *seals;
    hf_buffer *buffer;    /**< [items] findings */
    hf_finding *findings; /**< the same on the host */
    size_t items;
} hf_verdict;

/** Memory for `items` work-items, at `spot` or where the runtime likes. */
hf_status hf_verdict_new(hf_verdict *v, const hf_env *env, size_t items,
                         const hf_spot *spot);
void hf_verdict_free(hf_verdict *v);

/** Launch a check kernel and read what its work-items found.
 *
 *  `args` holds the kernel's `n_args` own arguments and has room for HF_VERDICT_ARGS more:
 *  the findings [items] and, a uint, their seal. `group` is the work-items of a work-group; 0:
 *  the runtime chooses. *error is NaN unless all findings carry that seal and the work-items
 *  have seen `values` values together. */
hf_status hf_verdict_take(hf_verdict *v, hf_verdict_kind kind, hf_kernel *check,
                          hf_arg *args, size_t n_args, size_t group, uint64_t values,
                          double *error);

/** *astray becomes true unless a buffer holds these bytes at `at`, behind all that queue 0 has. A
 *  check kernel and the kernel that fills agree with each other, also where both are given wrong
 *  numbers or make wrong ones: so the host looks at some itself. */
hf_status hf_verdict_look(bool *astray, hf_device *device, const hf_buffer *buffer,
                          size_t at, const void *wanted, size_t bytes);
/** The same of HF_LOOKED numbers of `real` bytes, from number `at` on; they are exact in both. */
hf_status hf_verdict_look_reals(bool *astray, hf_device *device,
                                const hf_buffer *buffer, size_t at,
                                const double *wanted, size_t real);

#endif
