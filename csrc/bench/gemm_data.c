/* gemm_data.c - the matrices of gemm, and whether a product is theirs.
 *
 * Elements are uniform in [-1, 1) with as many binary digits as their type has, from a closed
 * formula of seed, rank, row and column. A sample takes its rows from one further on.
 *
 * A product C is tried with random vectors x: in every row, the residual
 *     r = C x - (alpha A (B x) + beta C0 x)
 * must be within what rounding explains. x_j has a random sign and a size that is uniform in
 * [1/2, 1), another one for each sample.
 *
 * What rounding explains. A sum of n products has a standard deviation of s = sqrt(n) / 3,
 * and so have, at most, its partial sums. Each of n additions rounds one of them by at most
 * u, the unit roundoff, times its size, with a sign of its own: together u s sqrt(n). Then
 * come three operations of the size |alpha| s + |beta|, rounded by v, that of the element.
 * So an element's error has a standard deviation below
 *     d = |alpha| u n / 3 + 3 v (|alpha| s + |beta|).
 * Other orders of summation only come closer. The check itself computes in double: that adds
 * 2^-53 to u. The x_j are independent of these errors, have zero mean and |x_j| <= 1, so that
 * by Hoeffding's inequality
 *     |r| > 8 sqrt(n) d   with probability below 2 exp(-8^2 / 2) = 3e-14
 * in a row that is right; that is the bound b for rows. Single elements, compared with their
 * sum in double, may be off by 8 d.
 *
 * What it sees. Let an element of a row be wrong by e. If it is the only one, |r| >= e / 2 - b
 * for every x: it is always found from e = 4 b on. If others are wrong too, x_j still has a
 * uniform distribution of density 1 whatever they are, so |r| <= b with probability below 2 b / e
 * for one vector, and (2 b / e)^8 < 2^-40 for eight from e = 64 b on. For n = 2048, float and
 * alpha = 0.5 b is 0.008, while elements are of size 7.5: another element, another
 * sample's element or a swapped block is off by about 10.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "core/stats.h"
#include "gemm.h"

enum { V = HF_GEMM_VECTORS, ENTRIES = 16, PART = 256 };
static const double MOST_DEVIATIONS = 8;

/* ---- matrices ---- */

static size_t row_bytes(const gemm_data *d, size_t n) {
    return HF_GEMM_ROW(n) * d->type->bytes;
}

hf_status gemm_data_new(gemm_data *d, const hf_element *type, size_t largest) {
    size_t vectors = largest * V * sizeof(double);
    d->type = type;
    bool whole = true;
    for (size_t m = 0; m < 3; m++) {
        d->matrix[m] = malloc((largest + HF_GEMM_SHIFTS) * row_bytes(d, largest));
        whole = whole && d->matrix[m];
    }
    d->product = malloc(largest * row_bytes(d, largest));
    d->x = malloc(vectors);
    d->bx = malloc(vectors);
    d->y = malloc(vectors);
    return whole && d->product && d->x && d->bx && d->y
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no host memory for four %zu x %zu matrices",
                         largest, largest);
}

void gemm_data_free(gemm_data *d) {
    for (size_t m = 0; m < 3; m++)
        free(d->matrix[m]);
    free(d->product);
    free(d->x);
    free(d->bx);
    free(d->y);
}

static void matrix_make(const gemm_data *d, size_t m) {
    uint64_t stream = hf_random(d->seed, m);
    int digits = d->type->digits;
    for (size_t i = 0; i < d->n + HF_GEMM_SHIFTS; i++) {
        unsigned char *row = d->matrix[m] + i * row_bytes(d, d->n);
        memset(row, 0, row_bytes(d, d->n));
        for (size_t j = 0; j < d->n; j++) {
            uint64_t word = hf_random(stream, (uint64_t)i << 32 | j) >> (64 - digits);
            hf_element_write(d->type, row + j * d->type->bytes,
                             (double)word * ldexp(1, 1 - digits) - 1);
        }
    }
}

void gemm_data_make(gemm_data *d, size_t n, uint64_t sample) {
    d->shift = sample % HF_GEMM_SHIFTS;
    if (d->n == n)
        return;
    d->n = n;
    for (size_t m = 0; m < 3; m++)
        matrix_make(d, m);
}

const unsigned char *gemm_data_rows(const gemm_data *d, size_t matrix) {
    return d->matrix[matrix] + d->shift * row_bytes(d, d->n);
}

/* ---- the product ---- */

/* Elements of two vectors, in a register: all compilers keep four of them there, while an
 * array of eight sums would go through memory. */
typedef double pair __attribute__((vector_size(2 * sizeof(double)), aligned(8)));

/* y += scale M x for all vectors, part after part of x, which stays in the first cache. */
static void vectors_multiply(const gemm_data *d, double *y, double scale,
                             const unsigned char *rows, const double *x) {
    _Static_assert(V == 8, "four pairs");
    for (size_t from = 0; from < d->n; from += PART) {
        size_t part = d->n - from < PART ? d->n - from : PART;
        for (size_t i = 0; i < d->n; i++) {
            double row[PART];
            const pair *at = (const void *)(x + from * V);
            pair *out = (void *)(y + i * V), s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
            hf_elements_read(d->type, row,
                             rows + i * row_bytes(d, d->n) + from * d->type->bytes,
                             part);
            for (size_t j = 0; j < part; j++, at += 4) {
                s0 += row[j] * at[0];
                s1 += row[j] * at[1];
                s2 += row[j] * at[2];
                s3 += row[j] * at[3];
            }
            out[0] += scale * s0;
            out[1] += scale * s1;
            out[2] += scale * s2;
            out[3] += scale * s3;
        }
    }
}

static void vectors_make(const gemm_data *d, uint64_t stream) {
    for (size_t i = 0; i < d->n * V; i++) {
        uint64_t word = hf_random(stream, i);
        double size = 0.5 + ldexp((double)(word >> 12), -53);
        d->x[i] = word & 1 ? -size : size;
    }
}

static double entry(const gemm_data *d, const unsigned char *rows, size_t i, size_t j) {
    double value;
    hf_elements_read(d->type, &value,
                     rows + i * row_bytes(d, d->n) + j * d->type->bytes, 1);
    return value;
}

/* Deviation of element (i, j). */
static double entry_error(const gemm_data *d, double alpha, double beta, size_t i,
                          size_t j) {
    double sum = 0;
    for (size_t k = 0; k < d->n; k++)
        sum +=
            entry(d, gemm_data_rows(d, 0), i, k) * entry(d, gemm_data_rows(d, 1), k, j);
    double right = alpha * sum + beta * entry(d, gemm_data_rows(d, 2), i, j);
    return entry(d, d->product, i, j) - right;
}

double gemm_data_error(gemm_data *d, double alpha, double beta, uint64_t sample) {
    double n = (double)d->n, size = sqrt(n) / 3;
    double u = ldexp(1, -d->type->sum_digits) + ldexp(1, -53);
    double v = ldexp(1, -d->type->digits);
    double deviation =
        fabs(alpha) * u * n / 3 + 3 * v * (fabs(alpha) * size + fabs(beta)) + DBL_MIN;
    double entry_bound = MOST_DEVIATIONS * deviation, row_bound = sqrt(n) * entry_bound;
    uint64_t stream = hf_random(hf_random(d->seed, 3), sample);

    vectors_make(d, stream);
    memset(d->bx, 0, d->n * V * sizeof *d->bx);
    memset(d->y, 0, d->n * V * sizeof *d->y);
    vectors_multiply(d, d->bx, 1, gemm_data_rows(d, 1), d->x);
    vectors_multiply(d, d->y, alpha, gemm_data_rows(d, 0), d->bx);
    vectors_multiply(d, d->y, beta, gemm_data_rows(d, 2), d->x);
    vectors_multiply(d, d->y, -1, d->product, d->x);
    double error = 0;
    for (size_t i = 0; i < d->n * V; i++)
        error = hf_larger(error, fabs(d->y[i]) / row_bound);
    for (uint64_t e = 0; e < ENTRIES; e++) {
        uint64_t word = hf_random(stream, UINT64_MAX - 1 - e);
        double off = entry_error(d, alpha, beta, (word >> 32) % d->n,
                                 (word & UINT32_MAX) % d->n);
        error = hf_larger(error, fabs(off) / entry_bound);
    }
    return error;
}
