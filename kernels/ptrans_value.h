/* ptrans_value.h - elements of A and B, for kernels and for the host, which looks at some. */
#ifndef PTRANS_VALUE_H
#define PTRANS_VALUE_H

#include "hf_mix.h"

/** Another key for B than for A. */
#define PTRANS_B 0x5BD1E995u

/** Hash of element (row, column): one of an even and one of an odd multiple, so that no
 *  element off the diagonal has that of its mirror. */
static inline int ptrans_bits(unsigned row, unsigned column, unsigned key) {
    return (int)hf_mix(row * 0x9E3779B1u + column * 0x85EBCA6Au + key);
}

/** The element in [-1, 1): 23 bits of it, or 32 where sums of those are exact. */
#define PTRANS_VALUE(type, bits)                                    \
    (sizeof(type) > 4 ? (type)(bits) * (type)(1.0f / 2147483648.0f) \
                      : (type)((bits) >> 9) * (type)(1.0f / 4194304.0f))

#endif
