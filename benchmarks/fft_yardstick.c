/* fft_yardstick.c - FFTW's batched transforms in single precision: the yardstick of fft.
 *
 * cc -O2 -fopenmp fft_yardstick.c -o fft_yardstick -lfftw3f_omp -lfftw3f -lm
 * fft_yardstick LOG BATCH REPETITIONS THREADS [naive] prints the best rate of BATCH
 * transforms of 2^LOG points, out of place, planned with FFTW_MEASURE: 5 n log2(n)
 * operations each over the seconds [FLOP/s]. With `naive`, butterflies of radix 2 from the
 * widest to the narrowest, as in fft_memory.cl, and then the order of bits reversed, in plain
 * C on one thread.
 */
#define _POSIX_C_SOURCE 200809L
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "yardstick.h"

static void naive(int log, const fftwf_complex *in, fftwf_complex *out,
                  fftwf_complex *work, const fftwf_complex *roots) {
    int n = 1 << log;
    for (int i = 0; i < n; i++) {
        work[i][0] = in[i][0];
        work[i][1] = in[i][1];
    }
    for (int half = n / 2, step = 1; half > 0; half /= 2, step *= 2)
        for (int from = 0; from < n; from += 2 * half)
            for (int i = 0; i < half; i++) {
                float *a = work[from + i], *b = work[from + i + half];
                float re = a[0] - b[0], im = a[1] - b[1];
                const float *root = roots[i * step];
                a[0] += b[0];
                a[1] += b[1];
                b[0] = re * root[0] - im * root[1];
                b[1] = re * root[1] + im * root[0];
            }
    for (int i = 0; i < n; i++) {
        int reversed = 0;
        for (int bit = 0; bit < log; bit++)
            reversed |= (i >> bit & 1) << (log - 1 - bit);
        out[reversed][0] = work[i][0];
        out[reversed][1] = work[i][1];
    }
}

int main(int argc, char **argv) {
    int log = argc > 4 ? atoi(argv[1]) : 0, batch = argc > 4 ? atoi(argv[2]) : 0;
    int reps = argc > 4 ? atoi(argv[3]) : 0, threads = argc > 4 ? atoi(argv[4]) : 0;
    if (log < 1 || log > 24 || batch < 1 || reps < 1 || threads < 1) {
        fprintf(stderr, "usage: fft_yardstick LOG BATCH REPETITIONS THREADS\n");
        return 2;
    }
    int n = 1 << log;
    size_t points = (size_t)n * (size_t)batch;
    fftwf_complex *in = fftwf_alloc_complex(points), *out = fftwf_alloc_complex(points);
    fftwf_complex *work = fftwf_alloc_complex((size_t)n);
    fftwf_complex *roots = fftwf_alloc_complex((size_t)n);
    if (!in || !out || !work || !roots || !fftwf_init_threads()) {
        fprintf(stderr, "no memory or no threads\n");
        return 1;
    }
    fftwf_plan_with_nthreads(threads);
    fftwf_plan plan = fftwf_plan_many_dft(1, &n, batch, in, NULL, 1, n, out, NULL, 1, n,
                                          FFTW_FORWARD, FFTW_MEASURE);
    for (size_t i = 0; i < points; i++) { /* planning leaves its own numbers */
        in[i][0] = (float)(i * 2654435761u % 1024) / 512 - 1;
        in[i][1] = (float)(i * 2246822519u % 1024) / 512 - 1;
    }
    for (int i = 0; i < n; i++) {
        roots[i][0] = (float)cos(8 * atan(1) * i / n);
        roots[i][1] = (float)-sin(8 * atan(1) * i / n);
    }
    double best = 1e30;
    for (int rep = 0; rep <= reps; rep++) { /* the first one warms up */
        double start = now();
        if (argc > 5)
            for (int b = 0; b < batch; b++)
                naive(log, in + (size_t)b * (size_t)n, out + (size_t)b * (size_t)n,
                      work, roots);
        else
            fftwf_execute(plan);
        double seconds = now() - start;
        if (rep > 0 && seconds < best)
            best = seconds;
    }
    printf("%.6g\n", 5.0 * log * (double)points / best);
    return 0;
}
