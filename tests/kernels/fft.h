/* fft.h - what the tests of the transforms' kernels must find: sums by definition. */
#ifndef FFT_H
#define FFT_H

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernel.h"

enum { SIZE = FFT_SIZE, BATCH = 5 };

/** A block of BATCH transforms, aligned as packets are. */
static fft_complex *block_new(size_t points) {
    fft_complex *block = aligned_alloc(64, points * sizeof *block);
    CHECK(block, "no memory");
    memset(block, 0xFF, points * sizeof *block); /* NaN */
    return block;
}

static double complex point_of(const fft_complex *block, size_t i) {
    return (double)block[i].re + I * (double)block[i].im;
}

/** exp(-2 pi i k / SIZE), single precision. */
static fft_complex *roots_new(void) {
    fft_complex *roots = block_new(SIZE);
    for (size_t k = 0; k < SIZE; k++) {
        double turn = 8 * atan(1) * (double)k / SIZE;
        roots[k] = (fft_complex){(float)cos(turn), (float)-sin(turn)};
    }
    return roots;
}

/** Largest difference of `y` from the sums over `x`, in units of the norm of a transform
 *  and of the rounding of log2(SIZE) stages. */
static double transform_error(const fft_complex *y, const fft_complex *x, float sign) {
    double most = 0;
    for (size_t b = 0; b < BATCH; b++)
        for (size_t k = 0; k < SIZE; k++) {
            double complex sum = 0;
            double norm = 0;
            for (size_t j = 0; j < SIZE; j++) {
                double complex value = point_of(x, b * SIZE + j);
                double turn = 8 * atan(1) * (double)(j * k % SIZE) / SIZE;
                sum += value * (cos(turn) - I * (double)sign * sin(turn));
                norm += creal(value) * creal(value) + cimag(value) * cimag(value);
            }
            double error = cabs(point_of(y, b * SIZE + k) - sum) / sqrt(norm);
            if (isnan(error) || error > most)
                most = error;
        }
    return most / (FLT_EPSILON * log2(SIZE));
}

#endif
