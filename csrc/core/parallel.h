/* parallel.h - work of the host on all cores that this process may use. */
#ifndef HF_PARALLEL_H
#define HF_PARALLEL_H

#include <stddef.h>

enum { HF_MAX_CORES = 16 };

/** Cores that this process may use, at most HF_MAX_CORES. */
size_t hf_cores(void);
/** Call work(context, i) for i = 0 .. n - 1, each in a thread of its own as long as there
 *  are threads, and wait; n is at most HF_MAX_CORES. */
void hf_parallel(size_t n, void (*work)(void *context, size_t i), void *context);

/** Give new threads of this process the stacks that kernels take, whatever its limit says. */
void hf_stacks_grow(void);

#endif
