/* fft_input.h - the input of the transforms, for kernels and for whoever checks them.
 *
 * Point j of transform b is the product of a complex factor of b and a value of j: the
 * transform of one row of values, times its factor, is the right answer for each b. No two
 * transforms of a batch have the same factor.
 */
#ifndef FFT_INPUT_H
#define FFT_INPUT_H

typedef struct fft_complex {
    float re, im;
} fft_complex;

static inline unsigned fft_mix(unsigned h) {
    h ^= h >> 16;
    h *= 0x7FEB352Du;
    h ^= h >> 15;
    h *= 0x846CA68Bu;
    return h ^ h >> 16;
}

/** Point `j` of the row of values: both parts in -1 .. 1. */
static inline fft_complex fft_value(unsigned j, unsigned key) {
    const unsigned h = fft_mix(j + key);
    const fft_complex value = {(float)(int)(h >> 16) / 32768 - 1,
                               (float)(int)(h & 0xFFFF) / 32768 - 1};
    return value;
}

/** The factor of transform `b`: both parts in 0.5 .. 1. */
static inline fft_complex fft_factor(unsigned b, unsigned key) {
    const unsigned even = b * 0x9E3779B1u + key, h = fft_mix(even);
    const fft_complex factor = {(float)(int)(even >> 8) / 33554432 + 0.5f,
                                (float)(int)(h >> 8) / 33554432 + 0.5f};
    return factor;
}

#endif
