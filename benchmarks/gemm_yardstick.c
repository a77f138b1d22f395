/* gemm_yardstick.c - OpenBLAS's sgemm: the yardstick of gemm.
 *
 * cc -O2 gemm_yardstick.c -o gemm_yardstick -lopenblas
 * gemm_yardstick N REPETITIONS THREADS prints the best rate of C = alpha A B + beta C with
 * N x N matrices, 2 N^3 over the seconds of one call [FLOP/s].
 */
#define _POSIX_C_SOURCE 200809L
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    int n = argc > 3 ? atoi(argv[1]) : 0, reps = argc > 3 ? atoi(argv[2]) : 0;
    size_t words = (size_t)n * (size_t)n;
    float *m = n > 0 && reps > 0 ? malloc(3 * words * sizeof *m) : NULL;
    if (!m) {
        fprintf(stderr, "usage: gemm_yardstick N REPETITIONS THREADS\n");
        return 2;
    }
    for (size_t i = 0; i < 3 * words; i++)
        m[i] = (float)(i * 2654435761u % 1024) / 512 - 1;
    openblas_set_num_threads(atoi(argv[3]));
    double best = 1e30;
    for (int rep = 0; rep <= reps; rep++) { /* the first one warms up */
        double start = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 0.5f, m, n,
                    m + words, n, -0.5f, m + 2 * words, n);
        double seconds = now() - start;
        if (rep > 0 && seconds < best)
            best = seconds;
    }
    free(m);
    printf("%.6g\n", 2.0 * n * n * n / best);
    return 0;
}
