/* stream_yardstick.c - STREAM with OpenMP and nothing else: the yardstick of `stream`.
 *
 * cc -std=c11 -D_POSIX_C_SOURCE=200809L -O3 -march=native -fopenmp ... -lm
 * stream_yardstick SIZE REPETITIONS THREADS [BUFFER]
 *
 * Prints the best rate of the triad [B/s]; floats, plain stores, three arrays of SIZE
 * elements. With BUFFER each operation goes through a buffer of so many elements, in one
 * thread, as the kernels for FPGAs do.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "yardstick.h"

enum { PAGE = 4096, FIRST = 1 };
static const float SCALAR = 0.5F; /* 2 s + s^2 = 1.25: values stay small */

static float *array(size_t n) {
    float *memory = aligned_alloc(PAGE, (n * sizeof *memory + PAGE - 1) / PAGE * PAGE);
    if (!memory) {
        fprintf(stderr, "no memory for %zu floats\n", n);
        exit(1);
    }
    return memory;
}

static void copy(size_t n, const float *restrict a, float *restrict c) {
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        c[i] = a[i];
}

static void scale(size_t n, float *restrict b, const float *restrict c) {
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        b[i] = SCALAR * c[i];
}

static void add(size_t n, const float *restrict a, const float *restrict b,
                float *restrict c) {
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

/* out = scalar * one + two, without `two` where it is NULL. */
static void buffered(size_t n, float *restrict out, float scalar,
                     const float *restrict one, const float *restrict two,
                     float *restrict buffer, size_t room) {
    for (size_t at = 0; at < n; at += room) {
        size_t count = n - at < room ? n - at : room;
        for (size_t i = 0; i < count; i++)
            buffer[i] = scalar * one[at + i];
        for (size_t i = 0; two && i < count; i++)
            buffer[i] += two[at + i];
        for (size_t i = 0; i < count; i++)
            out[at + i] = buffer[i];
    }
}

static void triad(size_t n, float *restrict a, const float *restrict b,
                  const float *restrict c) {
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + SCALAR * c[i];
}

int main(int argc, char **argv) {
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: %s SIZE REPETITIONS THREADS [BUFFER]\n", argv[0]);
        return 2;
    }
    size_t n = strtoull(argv[1], NULL, 10);
    int repetitions = atoi(argv[2]);
    omp_set_num_threads(atoi(argv[3]));
    size_t room = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    float *a = array(n), *b = array(n), *c = array(n), *buffer = array(room + 1);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        a[i] = FIRST;
        b[i] = c[i] = 0;
    }
    double best = INFINITY, expected = FIRST;
    for (int k = 0; k < repetitions; k++) {
        double start;
        if (room > 0) {
            buffered(n, c, 1, a, NULL, buffer, room);
            buffered(n, b, SCALAR, c, NULL, buffer, room);
            buffered(n, c, 1, a, b, buffer, room);
            start = now();
            buffered(n, a, SCALAR, c, b, buffer, room);
        } else {
            copy(n, a, c);
            scale(n, b, c);
            add(n, a, b, c);
            start = now();
            triad(n, a, b, c);
        }
        best = fmin(best, now() - start);
        expected *= 2 * SCALAR + SCALAR * SCALAR;
    }
    for (size_t i = 0; i < n; i++)
        if (fabs(a[i] - expected) > 1e-4 * expected) {
            fprintf(stderr, "element %zu is %g, not %g\n", i, a[i], expected);
            return 1;
        }
    printf("%.6e\n", 3.0 * (double)n * sizeof *a / best);
    return 0;
}
