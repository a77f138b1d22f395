/* randomaccess_sequence.h - the sequence of updates, for kernels and for the host. */
#ifndef RANDOMACCESS_SEQUENCE_H
#define RANDOMACCESS_SEQUENCE_H

/* Generators of a pipeline or a work-item, side by side. */
#ifndef HF_RNG_COUNT_LOG
#define HF_RNG_COUNT_LOG 5
#endif
#if HF_RNG_COUNT_LOG < 0 || HF_RNG_COUNT_LOG > 8
#error "HF_RNG_COUNT_LOG, log2 of the generators of a kernel, must be 0 to 8"
#endif
#define HF_RNG_COUNT (1 << HF_RNG_COUNT_LOG)

/** HPC Challenge's number after x: multiply by x modulo x^64 + x^2 + x + 1 over GF(2). */
static inline unsigned long randomaccess_next(unsigned long x) {
    return (x << 1) ^ ((x >> 63) * 7);
}

#endif
