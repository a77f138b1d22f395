/* largest.c - the largest size that fits, by halves. */
#include "largest.h"

size_t hf_largest(size_t over, bool (*fits)(const void *state, size_t size),
                  const void *state) {
    size_t low = 0, high = over; /* low fits, high does not */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(fits(state, middle) ? &low : &high) = middle;
    }
    return low;
}
