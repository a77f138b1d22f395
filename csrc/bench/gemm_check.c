/* gemm_check.c - whether a product is that of its matrices.
 *
 * A product C is tried with random vectors x: in every row, the residual
 *     r = C x - (alpha A (B x) + beta C0 x)
 * must be within what rounding explains. x_j has a random sign and a size that is uniform in
 * [1/2, 1), another one for each sample. The cores share the rows.
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
#include <string.h>

#include "core/parallel.h"
#include "core/random.h"
#include "core/stats.h"
#include "gemm.h"

enum { V = HF_GEMM_VECTORS, ENTRIES = 16, PART = 256, ROWS = 4 };
static const double MOST_DEVIATIONS = 8;

/* Elements of four vectors, side by side in a register. */
typedef double quad __attribute__((vector_size(4 * sizeof(double)), aligned(8)));

/* The same function for several kinds of x86-64, chosen when the library is loaded. */
#ifdef __x86_64__
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* A product that is tried, and what its parts came to. */
typedef struct trial {
    const gemm_data *d;
    const unsigned char *product;
    double alpha, beta, row_bound, entry_bound;
    uint64_t stream; /* of random numbers */
    size_t parts;    /* of the rows */
    double worst[HF_MOST_CORES];
} trial;

/* Rows `first` to `end` - 1 of y += scale M x for all vectors, part after part of x, which
 * stays in the first cache. */
CLONES static void rows_multiply(const gemm_data *d, double *y, double scale,
                                 const unsigned char *rows, const double *x,
                                 size_t first, size_t end) {
    _Static_assert(V == 8, "two quads");
    size_t row_bytes = HF_GEMM_ROW(d->n) * d->type->bytes;
    for (size_t from = 0; from < d->n; from += PART) {
        size_t part = d->n - from < PART ? d->n - from : PART;
        for (size_t i = first; i < end; i += ROWS) {
            double row[ROWS][PART];
            size_t height = end - i < ROWS ? end - i : ROWS;
            quad sum[ROWS][2] = {{{0}}};
            for (size_t r = 0; r < ROWS; r++) /* the last one again beyond the end */
                hf_elements_read(d->type, row[r],
                                 rows +
                                     (i + (r < height ? r : height - 1)) * row_bytes +
                                     from * d->type->bytes,
                                 part);
            const quad *at = (const void *)(x + from * V);
            for (size_t j = 0; j < part; j++, at += 2)
#pragma GCC unroll 4
                for (size_t r = 0; r < ROWS; r++) {
                    sum[r][0] += row[r][j] * at[0];
                    sum[r][1] += row[r][j] * at[1];
                }
            for (size_t r = 0; r < height; r++) {
                quad *out = (void *)(y + (i + r) * V);
                out[0] += scale * sum[r][0];
                out[1] += scale * sum[r][1];
            }
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
                     rows + (i * HF_GEMM_ROW(d->n) + j) * d->type->bytes, 1);
    return value;
}

/* Deviation of element (i, j). */
static double entry_error(const trial *t, size_t i, size_t j) {
    const gemm_data *d = t->d;
    double sum = 0;
    for (size_t k = 0; k < d->n; k++)
        sum +=
            entry(d, gemm_data_rows(d, 0), i, k) * entry(d, gemm_data_rows(d, 1), k, j);
    double right = t->alpha * sum + t->beta * entry(d, gemm_data_rows(d, 2), i, j);
    return entry(d, t->product, i, j) - right;
}

/* The part's rows of B x. */
static void part_prepare(void *context, size_t part) {
    const trial *t = context;
    const gemm_data *d = t->d;
    size_t first = d->n * part / t->parts, end = d->n * (part + 1) / t->parts;
    memset(d->bx + first * V, 0, (end - first) * V * sizeof *d->bx);
    rows_multiply(d, d->bx, 1, gemm_data_rows(d, 1), d->x, first, end);
}

/* The part's rows of the residual, and its share of the entries. */
static void part_try(void *context, size_t part) {
    trial *t = context;
    const gemm_data *d = t->d;
    size_t first = d->n * part / t->parts, end = d->n * (part + 1) / t->parts;
    double worst = 0;
    memset(d->y + first * V, 0, (end - first) * V * sizeof *d->y);
    rows_multiply(d, d->y, t->alpha, gemm_data_rows(d, 0), d->bx, first, end);
    rows_multiply(d, d->y, t->beta, gemm_data_rows(d, 2), d->x, first, end);
    rows_multiply(d, d->y, -1, t->product, d->x, first, end);
    for (size_t i = first * V; i < end * V; i++)
        worst = hf_larger(worst, fabs(d->y[i]) / t->row_bound);
    for (uint64_t e = part; e < ENTRIES; e += t->parts) {
        uint64_t word = hf_random(t->stream, UINT64_MAX - 1 - e);
        double off = entry_error(t, (word >> 32) % d->n, (word & UINT32_MAX) % d->n);
        worst = hf_larger(worst, fabs(off) / t->entry_bound);
    }
    t->worst[part] = worst;
}

double gemm_data_error(const gemm_data *d, const void *product, double alpha,
                       double beta, uint64_t sample) {
    double n = (double)d->n, size = sqrt(n) / 3;
    double u = ldexp(1, -d->type->sum_digits) + ldexp(1, -53);
    double v = ldexp(1, -d->type->digits);
    double deviation =
        fabs(alpha) * u * n / 3 + 3 * v * (fabs(alpha) * size + fabs(beta)) + DBL_MIN;
    trial t = {.d = d,
               .product = product,
               .alpha = alpha,
               .beta = beta,
               .row_bound = sqrt(n) * MOST_DEVIATIONS * deviation,
               .entry_bound = MOST_DEVIATIONS * deviation,
               .stream = hf_random(hf_random(d->seed, 3), sample),
               .parts = hf_cores()};
    vectors_make(d, t.stream);
    hf_parallel(t.parts, part_prepare, &t);
    hf_parallel(t.parts, part_try, &t);
    double error = 0;
    for (size_t part = 0; part < t.parts; part++)
        error = hf_larger(error, t.worst[part]);
    return error;
}
