/* scheduler.h - what a CPU core does while a kernel waits for a packet.
 *
 * A kernel that finds its ring empty or full calls the host (hf_ring_host). Two schedulers
 * answer, one table of functions each:
 *   fibers  runs another kernel of the rank on the same thread
 *   yield   gives the core to another thread
 * CMake's option HF_FIBERS picks one. Fibers are faster where a rank has fewer cores than
 * kernels; they need the functions of <ucontext.h>.
 */
#ifndef HF_SCHEDULER_H
#define HF_SCHEDULER_H

#include "hf_ring.h"
#include "stream.h"
#include "transport.h"

typedef struct hf_scheduler hf_scheduler;

typedef struct hf_scheduler_ops {
    /** Share the cores among the ranks, all on one node. Collective. */
    hf_status (*open)(hf_scheduler **out, hf_transport *net);
    /** Get ready for `n` kernels, below HF_MAX_QUEUES; all before have ended. */
    void (*prepare)(hf_scheduler *scheduler, size_t n);
    /** Before kernel `i` is launched, once for each of its ends, HF_MAX_ENDS at most: while it
     *  waits, the scheduler may publish what it has moved there. */
    void (*attach)(hf_scheduler *scheduler, size_t i, hf_ring_side *side);
    /** Whom kernel `i` calls. */
    const hf_ring_host *(*host)(const hf_scheduler *scheduler, size_t i);
    /** Not before all kernels have ended. Accepts NULL. */
    void (*close)(hf_scheduler *scheduler);
} hf_scheduler_ops;

extern const hf_scheduler_ops hf_scheduler_fibers, hf_scheduler_yield;

#endif
