/* gemm_data.c - the matrices of gemm.
 *
 * Elements are uniform in [-1, 1) with as many binary digits as their type has, from a closed
 * formula of seed, rank, row and column. A sample takes its rows from one further on.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/host_memory.h"
#include "core/parallel.h"
#include "core/random.h"
#include "gemm.h"

enum { V = HF_GEMM_VECTORS };

static size_t row_bytes(const gemm_data *d, size_t n) {
    return HF_GEMM_ROW(n) * d->type->bytes;
}

hf_status gemm_data_new(gemm_data *d, const hf_element *type, size_t largest,
                        uint64_t left) {
    d->type = type;
    size_t vectors = largest * V * sizeof(double),
           matrix = (largest + HF_GEMM_SHIFTS) * row_bytes(d, largest);
    bool whole = true;
    HF_TRY(hf_host_memory_check("sizes: copies of the matrices",
                                3 * (uint64_t)(matrix + vectors), left));
    for (size_t m = 0; m < 3; m++) {
        d->matrix[m] = malloc(matrix);
        whole = whole && d->matrix[m];
    }
    d->x = malloc(vectors);
    d->bx = malloc(vectors);
    d->y = malloc(vectors);
    return whole && d->x && d->bx && d->y
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no host memory for three %zu x %zu matrices",
                         largest, largest);
}

void gemm_data_free(gemm_data *d) {
    for (size_t m = 0; m < 3; m++)
        free(d->matrix[m]);
    free(d->x);
    free(d->bx);
    free(d->y);
}

static void row_make(const gemm_data *d, size_t m, size_t i) {
    uint64_t stream = hf_random(d->seed, m);
    int digits = d->type->digits;
    double unit = ldexp(1, 1 - digits);
    unsigned char *row = d->matrix[m] + i * row_bytes(d, d->n);
    memset(row, 0, row_bytes(d, d->n));
    for (size_t j = 0; j < d->n; j++) {
        uint64_t word = hf_random(stream, (uint64_t)i << 32 | j) >> (64 - digits);
        hf_element_write(d->type, row + j * d->type->bytes, (double)word * unit - 1);
    }
}

/* Every n-th row of all matrices. */
static void rows_make(void *context, size_t first) {
    const gemm_data *d = context;
    for (size_t m = 0; m < 3; m++)
        for (size_t i = first; i < d->n + HF_GEMM_SHIFTS; i += d->cores)
            row_make(d, m, i);
}

void gemm_data_make(gemm_data *d, size_t n, uint64_t sample) {
    d->shift = sample % HF_GEMM_SHIFTS;
    if (d->n == n)
        return;
    d->n = n;
    d->cores = hf_cores();
    hf_parallel(d->cores, rows_make, d);
}

const unsigned char *gemm_data_rows(const gemm_data *d, size_t matrix) {
    return d->matrix[matrix] + d->shift * row_bytes(d, d->n);
}
