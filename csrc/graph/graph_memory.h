/* graph_memory.h - memory of the host, looked at before much of it is taken. */
#ifndef HF_GRAPH_MEMORY_H
#define HF_GRAPH_MEMORY_H

#include <stdint.h>

/** Memory that processes may still take, as far as the system tells [B]. */
uint64_t memory_free(void);

#endif
