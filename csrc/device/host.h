/* host.h - how kernels compiled as C meet the runtime `host`. */
#ifndef HF_HOST_H
#define HF_HOST_H

#include <stddef.h>

/** One kernel of a file. `call` runs all work-items; args[i] points at the value of
 *  argument i, for a buffer at its address. The file `kernels/<stem>.cl` defines
 *  `const hf_host_kernel hf_kernels_<stem>[]`, which ends with name == NULL. */
typedef struct hf_host_kernel {
    const char *name;
    void (*call)(void *const *args, size_t items);
} hf_host_kernel;

#endif
