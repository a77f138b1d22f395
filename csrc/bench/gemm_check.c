/* gemm_check.c - whether a product is that of its matrices.
 *
 * A product C is tried with eight random vectors x: in every row, the root mean square of
 * their eight residuals
 *     r = C x - (alpha A (B x) + beta C0 x)
 * must be within what rounding explains. x_j has a random sign and a size that is uniform in
 * [1/2, 1), another one for each sample. The cores share the rows.
 *
 * What rounding explains. A sum of n products has a standard deviation of s = sqrt(n) / 3,
 * and so have, at most, its partial sums. Each of n additions rounds one of them by at most
 * u, the unit roundoff of sums, times its size, with a sign of its own: together
 * u s sqrt(n). Then come three operations of the size |alpha| s + |beta|. So the error of
 * an element before it is written has a standard deviation below
 *     d = |alpha| u n / 3 + 3 u (|alpha| s + |beta|).
 * Other orders of summation only come closer. The check itself computes in double: that adds
 * 2^-53 to the first u. A type that is shorter than its sums, half, is rounded once more, by
 * at most v max(|c|, m) with the unit roundoff v and the least normal number m, and, as any
 * place between is as likely, by 1 / sqrt(3) of that in the root mean square. So the squared
 * errors of a row add up to
 *     S = n d^2 + v^2 / 3 sum (c_ij^2 + m^2),
 * where the elements c_ij are those found; without the second term in float and double.
 *
 * The x_j are independent of these errors, have zero mean, a variance of 7/12, and no moment
 * beyond that of normal numbers of this variance. So eight r^2 have the Chernoff bound
 * of a chi-squared distribution with eight degrees of freedom, and their mean is
 *     above 2.6^2 S   with probability below (c / 8)^4 exp(4 - c / 2) < 1e-14
 * in a row that is right, c = 8 * 2.6^2 * 12 / 7; b = 2.6 sqrt(S) is the bound for rows.
 * Single elements, compared with their sum in double, may be off by 8 d + v max(|c|, m).
 *
 * What it sees. Let an element of a row be wrong by e. If it is the only one, the root mean
 * square is e / 2 - b at least for every x: it is always found from e = 4 b on, and mostly
 * from 1.6 b on. If others are wrong too, x_j still has a uniform distribution of density 1
 * whatever they are. The eight r lie in a ball of radius sqrt(8) b, whose volume is
 * (3.4 b)^8, with probability below (3.4 b / e)^8 < 2^-40 from e = 109 b on; m elements that
 * are as wrong count as about one that is sqrt(m) times as wrong.
 *
 * For n = 2048 and alpha = 0.5, elements are of size 7.5: another element, another sample's
 * element or a swapped block is off by about 10. b is 0.0026 in float, 1e-11 in double and 0.25
 * in half, where a single element that is wrong by less than 1 may pass.
 */
#include <math.h>
#include <string.h>

#include "core/parallel.h"
#include "core/random.h"
#include "core/stats.h"
#include "gemm.h"

enum { V = HF_GEMM_VECTORS, ENTRIES = 16, PART = 256, ROWS = 4 };
static const double MAX_DEVIATIONS = 8, MAX_SQUARES = 2.6 * 2.6;
static const double LEAST_SEEN =
    64; /* what is 64 times d is not lost without being seen */
static const double LEAST_HALF = 0x1p-14; /* normal number */
static const double TINY = 1e-150;        /* where alpha and beta are 0 */

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
    double alpha, beta, deviation; /* the last: of an element before it is written */
    double shortened, least;       /* v, or 0 where it is that of sums, and m */
    uint64_t stream;               /* of random numbers */
    size_t parts;                  /* of the rows */
    double worst[HF_MAX_CORES];
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

/* Deviation of element (i, j) over what rounding explains. */
static double entry_error(const trial *t, size_t i, size_t j) {
    const gemm_data *d = t->d;
    double sum = 0;
    for (size_t k = 0; k < d->n; k++)
        sum +=
            entry(d, gemm_data_rows(d, 0), i, k) * entry(d, gemm_data_rows(d, 1), k, j);
    double right = t->alpha * sum + t->beta * entry(d, gemm_data_rows(d, 2), i, j);
    double is = entry(d, t->product, i, j);
    return fabs(is - right) /
           (MAX_DEVIATIONS * t->deviation + t->shortened * fmax(fabs(is), t->least));
}

/* The part's rows of B x. */
static void part_prepare(void *context, size_t part) {
    const trial *t = context;
    const gemm_data *d = t->d;
    size_t first = d->n * part / t->parts, end = d->n * (part + 1) / t->parts;
    memset(d->bx + first * V, 0, (end - first) * V * sizeof *d->bx);
    rows_multiply(d, d->bx, 1, gemm_data_rows(d, 1), d->x, first, end);
}

/* What rounding explains of the residuals of row i, squared. */
static double row_bound(const trial *t, size_t i) {
    const gemm_data *d = t->d;
    double n = (double)d->n, squares = n * t->least * t->least, row[PART];
    const unsigned char *at = t->product + i * HF_GEMM_ROW(d->n) * d->type->bytes;
    for (size_t from = 0; t->shortened > 0 && from < d->n; from += PART) {
        size_t part = d->n - from < PART ? d->n - from : PART;
        hf_elements_read(d->type, row, at + from * d->type->bytes, part);
        for (size_t j = 0; j < part; j++)
            squares += row[j] * row[j];
    }
    return MAX_SQUARES * (n * t->deviation * t->deviation +
                          t->shortened * t->shortened / 3 * squares);
}

/* The residuals of row i over what rounding explains. */
static double row_error(const trial *t, size_t i) {
    double squares = 0;
    for (size_t k = 0; k < V; k++)
        squares += t->d->y[i * V + k] * t->d->y[i * V + k];
    return sqrt(squares / V / row_bound(t, i));
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
    for (size_t i = first; i < end; i++)
        worst = hf_larger(worst, row_error(t, i));
    for (uint64_t e = part; e < ENTRIES; e += t->parts) {
        uint64_t word = hf_random(t->stream, UINT64_MAX - 1 - e);
        worst = hf_larger(
            worst, entry_error(t, (word >> 32) % d->n, (word & UINT32_MAX) % d->n));
    }
    t->worst[part] = worst;
}

/* d of an element before it is written. */
static double deviation_of(const hf_element *type, double n, double alpha,
                           double beta) {
    double u = ldexp(1, -type->sum_digits);
    return fabs(alpha) * (u + ldexp(1, -53)) * n / 3 +
           3 * u * (fabs(alpha) * sqrt(n) / 3 + fabs(beta)) + TINY;
}

/* v, or 0 where it is that of sums. */
static double shortened_of(const hf_element *type) {
    return type->digits < type->sum_digits ? ldexp(1, -type->digits) : 0;
}

bool gemm_data_sees(const hf_element *type, size_t n, double alpha, double beta) {
    double size = fabs(alpha) * sqrt((double)n) / 3,
           written = shortened_of(type) * (size + fabs(beta)) / sqrt(3);
    return size >=
           LEAST_SEEN * hypot(deviation_of(type, (double)n, alpha, beta), written);
}

double gemm_data_error(const gemm_data *d, const void *product, double alpha,
                       double beta, uint64_t sample) {
    trial t = {.d = d,
               .product = product,
               .alpha = alpha,
               .beta = beta,
               .deviation = deviation_of(d->type, (double)d->n, alpha, beta),
               .shortened = shortened_of(d->type),
               .least = LEAST_HALF,
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
