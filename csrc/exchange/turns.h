/* turns.h - kernels that take turns on a thread, where cores are fewer than kernels.
 *
 * A hand-over of a core between threads is a matter of microseconds. So a kernel that waits
 * for a packet calls the host (hf_ring_host), which goes on in another kernel of the rank, on
 * the same thread: the threads of the others sleep meanwhile, and each gets its kernel back
 * at the end. A rank has a thread for each core that is its share, at most one a kernel.
 */
#ifndef HF_TURNS_H
#define HF_TURNS_H

#include "hf.h"

typedef struct hf_turns hf_turns;

/** For `n` kernels of rank `rank` of the `ranks` that share its cores. */
hf_status hf_turns_new(hf_turns **out, size_t n, int rank, int ranks);
/** Not before all kernels have ended. Accepts NULL. */
void hf_turns_free(hf_turns *turns);

/** What kernel `i` finds in its rings as `host`. */
uint64_t hf_turns_host(hf_turns *turns, size_t i);

#endif
