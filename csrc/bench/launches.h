/* launches.h - kernels that run side by side, each in its queue; and what a kernel tells. */
#ifndef HF_LAUNCHES_H
#define HF_LAUNCHES_H

#include "device.h"

/** What runs at the same time; all-zero but for the device. */
typedef struct hf_launches {
    hf_device *device;
    hf_event *done[2 * HF_MAX_QUEUES]; /**< [n] */
    size_t n;
    hf_status status; /**< the first failure */
    size_t items;     /**< work-items of each */
} hf_launches;

/** Compute unit and memory bank of replication `i` of `n`, from 1; 0, any, where n is 1. */
static inline unsigned hf_replica_unit(size_t i, size_t n) {
    return n > 1 ? (unsigned)i + 1 : 0;
}

/** Refuse several replications of a kernel with many work-items: one launch fills the device. */
hf_status hf_replicas_check(size_t n, bool ndrange);

/** Start a kernel in queue `queue`, unless one before it failed. All launches need equal
 *  numbers of work-items: PoCL up to 5.0 mixes up a kernel's binaries for different numbers,
 *  and aborts. */
void hf_launches_add(hf_launches *l, const hf_launch *launch, unsigned queue);
/** Wait for all that were started; the first failure of a launch or of a kernel. */
hf_status hf_launches_wait(hf_launches *l);

/** `bytes` bytes that a kernel writes, whose only argument is where to. */
hf_status hf_kernel_ask(hf_device *device, const char *kernel, void *to, size_t bytes);

#endif
