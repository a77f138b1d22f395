/* b_eff_byte.h - the payload of b_eff, naively. */
#ifndef B_EFF_BYTE_H
#define B_EFF_BYTE_H

#include <stdint.h>

/** Byte `at` of the payload whose windows are `distance` bytes apart, in 64-bit arithmetic,
 *  one operation at a time. */
static unsigned reference_byte(uint64_t at, uint64_t distance, uint64_t key,
                               uint64_t stamp) {
    const uint64_t two32 = 4294967296u;
    at = at % two32;
    uint64_t window = at / distance, group = window / 256, inside = at % (distance / 2),
             half = at % distance / (distance / 2);
    uint64_t h = ((inside + distance * group) * 2654435761u + key) % two32;
    h = h ^ h / 32768;
    h = h * 2246822519u % two32;
    for (uint64_t k = 0; k < at % 8; k++)
        stamp /= 256;
    return (unsigned)((h / 16777216 + 47 * window + 90 * half + stamp % 256) % 256);
}

#endif
