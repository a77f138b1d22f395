/* rings.h - the memory of channels on a node: rings, and what ranks tell of their kernels. */
#ifndef HF_RINGS_H
#define HF_RINGS_H

#include "hf_ring.h"
#include "medium.h"
#include "node.h"
#include "scheduler.h"

/** What a rank tells of the kernels that it started last: the others read it for reports. */
typedef struct roster {
    hf_word n;     /**< kernels; 0: none yet */
    hf_word looks; /**< of the rank at its kernels: more and more while they run */
    hf_word ended[HF_MAX_QUEUES];
    char names[HF_MAX_QUEUES][48]; /**< "rank 0 b_eff_send_0" */
} roster;

/** A ring as a kernel of this rank takes it. */
typedef struct endpoint {
    hf_ring *ring;
    hf_buffer *buffer;
} endpoint;

typedef struct rings {
    hf_medium base;
    hf_shared *shared;
    endpoint out[HF_MAX_PORTS], in[HF_MAX_PORTS], inner[HF_MAX_PORTS];
    hf_scheduler *scheduler;
    hf_word
        hosts[HF_MAX_QUEUES]; /**< [n] addresses of the hf_ring_host of each kernel */
    hf_word *looks;           /**< [ranks] those of each when a report began */
} rings;

/** Number of kernel `i` of a rank among those of all ranks. */
static inline hf_word rings_kernel(int rank, size_t i) {
    return 1 + (hf_word)rank * HF_MAX_QUEUES + i;
}

roster *rings_roster(const rings *r, int rank);
/** Every ring of every rank, by number; NULL past the last. */
hf_ring *rings_at(const rings *r, size_t i);
/** Has a rank told the kernels to leave? */
bool rings_halted(const rings *r);

#define RINGS_STOPPED "another rank stopped the channels"

void rings_look(hf_medium *base, const bool *ended);
hf_status rings_report(hf_medium *base, hf_report *report, const bool *ended);

#endif
