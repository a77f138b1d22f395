/* turns.h - kernels that take turns on a thread, where cores are fewer than kernels.
 *
 * A hand-over of a core between threads is a matter of microseconds. So a kernel that waits
 * for a packet calls the host (hf_ring_host), which goes on in another kernel of the rank, on
 * the same thread: the threads of the others sleep meanwhile, and each gets its kernel back
 * when that ends. A rank has such a thread on each core that is its share.
 */
#ifndef HF_TURNS_H
#define HF_TURNS_H

#include "transport.h"

typedef struct hf_turns hf_turns;

/** Shares the cores among the ranks, all on one node. Collective. */
hf_status hf_turns_new(hf_turns **out, hf_transport *net);
/** Not before all kernels have ended. Accepts NULL. */
void hf_turns_free(hf_turns *turns);

/** Get ready for the next `n` kernels, below HF_LANES_MOST; all before have ended. */
void hf_turns_prepare(hf_turns *turns, size_t n);

/** The hf_ring_host of kernel `i`, as its rings and its last argument hold it. */
uint64_t hf_turns_host(const hf_turns *turns, size_t i);

#endif
