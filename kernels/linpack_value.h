/* linpack_value.h - elements of A and x, for kernels and for the host, which looks at some. */
#ifndef LINPACK_VALUE_H
#define LINPACK_VALUE_H

#include "hf_mix.h"

/** Another key for x than for A. */
#define LINPACK_X 0x5BD1E995u

static inline unsigned linpack_hash(unsigned row, unsigned column, unsigned key) {
    return hf_mix(row * 0x9E3779B1u + column * 0x85EBCA6Bu + key);
}

/** Element (row, column): a multiple of 2^-24 in [-1/2, 1/2); on the diagonal n / 2, which is more
 *  than the others of a row together. */
#define LINPACK_VALUE(type, row, column, n, key)                            \
    ((row) == (column) ? (type)(n) * (type)0.5f                             \
                       : (type)((int)linpack_hash(row, column, key) >> 8) * \
                             (type)(1.0f / 16777216.0f))

/** Is element `column` of x a small one? A half of them is. */
static inline unsigned linpack_small(unsigned column, unsigned key) {
    return linpack_hash(column, 0, key ^ LINPACK_X) >> 1 & 1;
}

/** x: of any sign, in [1/2, 1), where it is small times a power of 2 from 1/2 to 1 over sqrt(n).
 *  The roundoff of the diagonal, by far the largest one, hides little in a row of such an x. */
static inline double linpack_solution(unsigned column, unsigned n, unsigned key) {
    const unsigned bits = linpack_hash(column, 0, key ^ LINPACK_X);
    double size = 0.5 + (double)(bits >> 9) * (1.0 / 16777216);
    for (unsigned rest = linpack_small(column, key) ? n : 0; rest > 0; rest /= 4)
        size *= 0.5;
    /* One expression for both would end a process of PoCL 6 for AVX2: LLVM 18 gives it up. */
    size = bits & 1 ? -size : size;
    return column < n ? size : 0;
}

#endif
