/* rings.h - the memory of channels on a node: rings, and what ranks tell of their kernels. */
#ifndef HF_RINGS_H
#define HF_RINGS_H

#include "hf_ring.h"
#include "medium.h"
#include "node.h"
#include "scheduler.h"

/** What a rank tells of the kernels that it started last: the others read it for reports. */
typedef struct hf_roster {
    hf_word n;        /**< kernels; 0: none yet */
    hf_word launches; /**< since the channels were emptied, each of `n` kernels */
    hf_word looks; /**< times that the rank has looked at them; rises while they run */
    hf_word ended[HF_MAX_QUEUES];
    char names[HF_MAX_QUEUES][48]; /**< "rank 0 b_eff_send_0" */
    char why[512];                 /**< it stopped the kernels of all; "": it has not */
} hf_roster;

/** A ring as a kernel of this rank takes it. */
typedef struct hf_endpoint {
    hf_ring *ring;
    hf_buffer *buffer;
} hf_endpoint;

typedef struct hf_rings {
    hf_medium base;
    hf_shared *shared;
    hf_endpoint out[HF_MAX_PORTS], in[HF_MAX_PORTS], inner[HF_MAX_PORTS];
    hf_scheduler *scheduler;
    hf_word
        hosts[HF_MAX_QUEUES]; /**< [n] addresses of the hf_ring_host of each kernel */
    hf_word *looks;           /**< [ranks] those of each when a report began */
} hf_rings;

/** Number of kernel `i` of a rank among those of all ranks. */
static inline hf_word hf_rings_kernel(int rank, size_t i) {
    return 1 + (hf_word)rank * HF_MAX_QUEUES + i;
}

hf_roster *hf_rings_roster(const hf_rings *r, int rank);
/** Every ring of every rank, by number; NULL past the last. */
hf_ring *hf_rings_at(const hf_rings *r, size_t i);
/** Has a rank told the kernels to leave? */
bool hf_rings_halted(const hf_rings *r);

/** A failure with the words of the rank that did. */
hf_status hf_rings_stopped_fail(const hf_rings *r);

void hf_rings_look(hf_medium *base, const bool *ended);
hf_status hf_rings_report(hf_medium *base, hf_report *report, const bool *ended);

#endif
