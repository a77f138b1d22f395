/* largest.h - the largest size that a device's memory holds. */
#ifndef HF_LARGEST_H
#define HF_LARGEST_H

#include <stdbool.h>
#include <stddef.h>

/** The largest size below `over` for which `fits` is true, 0 if none; `over` does not fit. */
size_t hf_largest(size_t over, bool (*fits)(const void *state, size_t size),
                  const void *state);

#endif
