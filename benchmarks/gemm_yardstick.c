/* gemm_yardstick.c - OpenBLAS's sgemm, or blocks in plain C: the yardsticks of gemm.
 *
 * cc -O3 -march=native gemm_yardstick.c -o gemm_yardstick -lopenblas
 * gemm_yardstick N REPETITIONS THREADS [BLOCK] prints the best rate of C = alpha A B + beta C
 * with N x N matrices, 2 N^3 over the seconds of one call [FLOP/s]. With BLOCK, three levels
 * of blocks as in gemm_memory.cl, of BLOCK and of 8, without any copies, on one thread.
 */
#define _POSIX_C_SOURCE 200809L
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

#include "yardstick.h"

enum { TILE = 8 };

static int min(int a, int b) {
    return a < b ? a : b;
}

/* One block of C += alpha A B, tile by tile. */
static void block_multiply(int n, int b, const float *A, const float *B, float *C,
                           int top, int left, int depth) {
    int bottom = min(top + b, n), right = min(left + b, n), deep = min(depth + b, n);
    for (int kk = depth; kk < deep; kk += TILE)
        for (int ii = top; ii < bottom; ii += TILE)
            for (int jj = left; jj < right; jj += TILE)
                for (int i = ii; i < min(ii + TILE, bottom); i++)
                    for (int k = kk; k < min(kk + TILE, deep); k++)
                        for (int j = jj; j < min(jj + TILE, right); j++)
                            C[i * n + j] += 0.5f * A[i * n + k] * B[k * n + j];
}

static void multiply(int n, int b, const float *A, const float *B, float *C) {
    for (int i = 0; i < n * n; i++)
        C[i] *= -0.5f;
    for (int top = 0; top < n; top += b)
        for (int left = 0; left < n; left += b)
            for (int depth = 0; depth < n; depth += b)
                block_multiply(n, b, A, B, C, top, left, depth);
}

int main(int argc, char **argv) {
    int n = argc > 3 ? atoi(argv[1]) : 0, reps = argc > 3 ? atoi(argv[2]) : 0;
    int block = argc > 4 ? atoi(argv[4]) : 0;
    size_t words = (size_t)n * (size_t)n;
    float *m = n > 0 && reps > 0 ? malloc(3 * words * sizeof *m) : NULL;
    if (!m) {
        fprintf(stderr, "usage: gemm_yardstick N REPETITIONS THREADS [BLOCK]\n");
        return 2;
    }
    for (size_t i = 0; i < 3 * words; i++)
        m[i] = (float)(i * 2654435761u % 1024) / 512 - 1;
    openblas_set_num_threads(atoi(argv[3]));
    double best = 1e30;
    for (int rep = 0; rep <= reps; rep++) { /* the first one warms up */
        double start = now();
        if (block > 0)
            multiply(n, block, m, m + words, m + 2 * words);
        else
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
