/* scarce.h - memory that lacks in one allocation of this process (--wrap). */
#ifndef HF_SCARCE_H
#define HF_SCARCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/** Allocations that succeed before the one that does not; below 0: all do. */
static _Atomic int scarce = -1;
/** Has it been asked for since this was false? */
static _Atomic bool lacked;

static bool lacks(void) {
    bool none = scarce >= 0 && atomic_fetch_sub(&scarce, 1) == 0;
    if (none)
        lacked = true;
    return none;
}

#define SCARCE(name, params, ...)                           \
    void *__real_##name params;                             \
    void *__wrap_##name params;                             \
    void *__wrap_##name params {                            \
        return lacks() ? NULL : __real_##name(__VA_ARGS__); \
    }
SCARCE(malloc, (size_t bytes), bytes)
SCARCE(calloc, (size_t n, size_t bytes), n, bytes)
SCARCE(realloc, (void *memory, size_t bytes), memory, bytes)
SCARCE(aligned_alloc, (size_t to, size_t bytes), to, bytes)

#endif
