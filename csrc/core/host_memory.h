/* host_memory.h - how much memory the host has, and how much of it is left. */
#ifndef HF_HOST_MEMORY_H
#define HF_HOST_MEMORY_H

#include <stdint.h>

#include "core/status.h"

/** Of this host, or of the group of processes that this one is in: the least that any limit
 *  leaves [B]. Where the system does not tell, UINT64_MAX / 2. */
typedef struct hf_host_memory {
    uint64_t all;
    uint64_t free; /**< what may still be taken; caches of files are given back */
} hf_host_memory;

/** As the system's files tell, below the folder `root`: "" is the system's own. */
hf_host_memory hf_host_memory_of(const char *root);

/** HF_ENOMEM where a rank has less `left` than `what` takes [B]: what is not there would end the
 *  process when it is written. */
hf_status hf_host_memory_check(const char *what, uint64_t bytes, uint64_t left);

#endif
