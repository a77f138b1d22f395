/* work.h - what runs and their models must have in common: what HPC Challenge counts, and how
 * messages are cut. */
#ifndef HF_WORK_H
#define HF_WORK_H

#include <math.h>
#include <stddef.h>

/** Operations of a complex transform of so many points. */
static inline double hf_fft_operations(double points) {
    return 5 * points * log2(points);
}

/** Operations of a product of two n x n matrices. */
static inline double hf_gemm_operations(double n) {
    return 2 * pow(n, 3);
}

/** Operations of the factorisation of an n x n matrix, without those of lower order. */
static inline double hf_linpack_operations(double n) {
    return 2 * pow(n, 3) / 3;
}

/** The same with the solution and its refinement, as HPL-MxP counts them. */
static inline double hf_linpack_refined_operations(double n) {
    return hf_linpack_operations(n) + 3 * n * n / 2;
}

enum { HF_LINPACK_MAX_CORRECTIONS = 2 };

/** Corrections of its solution in double: each adds nearly the digits of factors whose values
 *  have so many bytes. */
static inline unsigned hf_linpack_corrections(double bytes) {
    return bytes < sizeof(double) ? HF_LINPACK_MAX_CORRECTIONS : 1;
}

/** P of a grid of P x Q ranks that is as square as can be, P <= Q. */
static inline double hf_grid_rows(double ranks) {
    double p = floor(sqrt(ranks));
    while (p > 1 && fmod(ranks, p) > 0)
        p--;
    return p;
}

/** Greatest common divisor of two whole numbers. */
static inline double hf_common_divisor(double a, double b) {
    return b > 0 ? hf_common_divisor(b, fmod(a, b)) : a;
}

/** Additions of n x n matrices C = B + A^T. */
static inline double hf_ptrans_operations(double n) {
    return n * n;
}

enum {
    HF_PTRANS_ARRAYS = 3,        /**< A and B are read, C written, once */
    HF_RANDOMACCESS_UPDATES = 4, /**< of a sample, for each word of the table */
};

/** Arrays that an operation of STREAM reads and writes: copy, scale, add or triad. */
static inline double hf_stream_arrays(size_t operation) {
    return operation < 2 ? 2 : 3;
}

/** Longest chunk of a message [B] where its parts overlap. k chunks take the time of k + 1,
 *  and each takes what HF_CHUNK_BEGIN and its own bytes do: that is least for the root. */
enum { HF_CHUNK_BEGIN = 256 << 10, HF_CHUNK_MIN = 512 << 10, HF_CHUNK_MAX = 4 << 20 };
static inline double hf_chunk(double message) {
    enum { PAGE = 4096 };
    double bytes = floor(sqrt(HF_CHUNK_BEGIN * message) / PAGE) * PAGE;
    return fmin(message, fmin(fmax(bytes, HF_CHUNK_MIN), HF_CHUNK_MAX));
}

#endif
