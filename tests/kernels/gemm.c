/* gemm.c - kernels/gemm_memory.cl, or with NDRANGE gemm_ndrange.cl, as plain C against a
 * naive reference; small whole numbers, so that both are exact.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/gemm.c [-DNDRANGE -DHF_REAL=double -DHF_BLOCK=32 ...]
 */
#include <stdio.h>
#include <stdlib.h>

#include "check_kernel.h"

#ifdef NDRANGE
#include "../../kernels/gemm_ndrange.cl"
#else
#include "../../kernels/gemm_memory.cl"
#endif

/* Memory whose end a sanitizer knows. */
static void *room(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CHECK(memory, "no memory");
    return memory;
}

/* n rows of whole numbers from -2 to 2, padded with zeros. */
static HF_REAL *matrix(size_t n, unsigned seed) {
    size_t row = HF_GEMM_ROW(n);
    HF_REAL *m = room(n * row * sizeof *m);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < row; j++) {
            seed = seed * 1664525u + 1013904223u;
            m[i * row + j] = (HF_REAL)(j < n ? (int)((seed >> 16) % 5) - 2 : 0);
        }
    return m;
}

static void launch(HF_REAL *a, HF_REAL *b, HF_REAL *c0, HF_REAL *c, uint n, uint first,
                   uint end) {
    HF_SUM alpha = 2, beta = -3;
#ifdef NDRANGE
    uint shape[3], *told = shape;
    hf_kernels_gemm_ndrange[0].call((void *[]){&told}, 1);
    size_t row = HF_GEMM_ROW(n), down = (n + shape[0] - 1) / shape[0],
           across = (n + shape[1] - 1) / shape[1];
    HF_SUM *a_panels = room(down * shape[0] * row * sizeof *a_panels),
           *b_panels = room(across * shape[1] * row * sizeof *b_panels);
    hf_kernels_gemm_ndrange[1].call((void *[]){&a, &a_panels, &n},
                                    down * shape[0] * row / HF_GEMM_STRIP);
    hf_kernels_gemm_ndrange[2].call((void *[]){&b, &b_panels, &n},
                                    across * shape[1] * row / HF_GEMM_STRIP);
    size_t rows = (end - first + shape[0] - 1) / shape[0];
    hf_kernels_gemm_ndrange[3].call(
        (void *[]){&a_panels, &b_panels, &c0, &c, &alpha, &beta, &n, &first, &end},
        rows * across * shape[2]);
    free(a_panels);
    free(b_panels);
#else
    hf_kernels_gemm_memory[0].call(
        (void *[]){&a, &b, &c0, &c, &alpha, &beta, &n, &first, &end}, 1);
#endif
}

/* Rows from `first` to end - 1; the others must stay. */
static void comparison(uint n, uint first, uint end) {
    size_t row = HF_GEMM_ROW(n);
    HF_REAL *a = matrix(n, 1), *b = matrix(n, 2), *c0 = matrix(n, 3), *c = matrix(n, 4),
            *was = matrix(n, 4);
    launch(a, b, c0, c, n, first, end);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int inside = i >= first && i < end;
            int sum = 0;
            for (size_t k = 0; k < n && inside; k++)
                sum += (int)a[i * row + k] * (int)b[k * row + j];
            int right =
                inside ? 2 * sum - 3 * (int)c0[i * row + j] : (int)was[i * row + j];
            CHECK((int)c[i * row + j] == right, "n = %u: (%zu, %zu) is %d, not %d", n,
                  i, j, (int)c[i * row + j], right);
        }
    free(a);
    free(b);
    free(c0);
    free(c);
    free(was);
}

int main(void) {
    static const uint sizes[] = {1, 2, 15, 16, 17, 31, 48, 64, 65, 100, 130};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        comparison(sizes[i], 0, sizes[i]);
    comparison(100, 96, 100); /* the last rows of blocks of 16, 32, 48, 96 */
    comparison(100, 48, 96);
    comparison(100, 40, 40);
    comparison(529, 480, 529); /* deeper than one go */
    return 0;
}
