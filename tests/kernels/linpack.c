/* linpack.c - kernels/linpack_memory.cl, or with NDRANGE linpack_ndrange.cl, as plain C against
 * a naive factorisation and solution.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/linpack.c [-DNDRANGE -DHF_REAL=double -DHF_BLOCK=64 ...] -lm
 */
#ifndef HF_BLOCK
#define HF_BLOCK 32
#endif
#ifdef NDRANGE
#include "../../kernels/linpack_ndrange.cl"
#define TABLE hf_kernels_linpack_ndrange
#else
#include "../../kernels/linpack_memory.cl"
#define TABLE hf_kernels_linpack_memory
#endif

#include <math.h>
#include <string.h>

#include "check_kernel.h"

enum {
    WIDTH = 3,
    SIDE = WIDTH * HF_BLOCK,
    N = SIDE - 7, /* the last block is cut */
    MAX_ITEMS = 7
};
/* In the order of HF_HOST_FILE. */
enum {
    SHAPE,
    LU,
    LEFT,
    TOP,
    INNER,
    FILL,
    RIGHT,
    PRODUCT,
    SOLVE,
    APPLY,
    RESIDUAL,
    ADD,
    DOT,
    CHECKS
};

static const uint key = 0xDEADBEEF, n = N, one = 1, zero = 0, width = WIDTH;
static double matrix[SIDE][SIDE], factors[SIDE][SIDE];

static void *room(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CHECK(memory, "no memory");
    memset(memory, 0xFF, bytes); /* NaN */
    return memory;
}

/* The hash in 64-bit arithmetic, one operation at a time. */
static uint64_t reference_hash(uint64_t row, uint64_t column, uint64_t with) {
    const uint64_t two32 = 4294967296u;
    uint64_t h =
        (with + row * 2654435761u % two32 + column * 2246822507u % two32) % two32;
    h = h ^ h / 32768;
    h = h * 739982445u % two32;
    return h ^ h / 8192;
}

static double reference_value(size_t row, size_t column) {
    if (row >= N || column >= N)
        return row == column;
    uint64_t h = reference_hash(row, column, key);
    double whole =
        floor((h < 2147483648u ? (double)h : (double)h - 4294967296.0) / 256);
    return row == column ? N / 2.0 : whole / 16777216.0;
}

static bool is_small(size_t column) {
    return reference_hash(column, 0, key ^ UINT64_C(1540483477)) % 4 > 1;
}

/* A small one is divided by the power of 2 that is next above sqrt(N). */
static double reference_x(size_t column) {
    uint64_t h = reference_hash(column, 0, key ^ UINT64_C(1540483477));
    double size = 0.5 + floor((double)h / 512) / 16777216.0;
    size *= is_small(column) ? pow(2, -1 - floor(log2(N + 0.5) / 2)) : 1;
    return column >= N ? 0 : h % 2 ? -size : size;
}

static HF_REAL at(const HF_REAL *a, size_t i, size_t j) {
    size_t block = i / HF_BLOCK * WIDTH + j / HF_BLOCK;
    return a[block * LINPACK_SIZE + i % HF_BLOCK * HF_BLOCK + j % HF_BLOCK];
}

static void fill_check(HF_REAL *a, size_t items) {
    TABLE[FILL].call((void *[]){&a, (void *)&n, (void *)&key, (void *)&zero,
                                (void *)&one, (void *)&zero, (void *)&one,
                                (void *)&width, (void *)&width},
                     items);
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            CHECK(at(a, i, j) == (HF_REAL)reference_value(i, j),
                  "(%zu, %zu) is %g, not %g", i, j, (double)at(a, i, j),
                  reference_value(i, j));
}

/* Blocks of a 2 x 3 grid are those of the matrix. */
static void grid_check(void) {
    HF_REAL *a = room(2 * LINPACK_SIZE * sizeof *a);
    const uint p = 1, grid_p = 2, q = 2, grid_q = 3, rows = 2;
    TABLE[FILL].call((void *[]){&a, (void *)&n, (void *)&key, (void *)&p,
                                (void *)&grid_p, (void *)&q, (void *)&grid_q,
                                (void *)&rows, (void *)&one},
                     3);
    for (size_t i = 0; i < 2 * HF_BLOCK; i++)
        for (size_t j = 0; j < HF_BLOCK; j++) {
            size_t row = (i / HF_BLOCK * 2 + 1) * HF_BLOCK + i % HF_BLOCK;
            CHECK(a[i * HF_BLOCK + j] ==
                      (HF_REAL)reference_value(row, 2 * HF_BLOCK + j),
                  "(%zu, %zu) of a grid", i, j);
        }
    free(a);
}

static void reference_factor(void) {
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            factors[i][j] = matrix[i][j] = reference_value(i, j);
    for (size_t k = 0; k < SIDE; k++)
        for (size_t i = k + 1; i < SIDE; i++) {
            factors[i][k] /= factors[k][k];
            for (size_t j = k + 1; j < SIDE; j++)
                factors[i][j] -= factors[i][k] * factors[k][j];
        }
}

static void factor(HF_REAL *a) {
    uint shape[LINPACK_N_SHAPE], *told = shape;
    TABLE[SHAPE].call((void *[]){&told}, 1);
    HF_REAL *packed = room((shape[LINPACK_LOWER_SIZE] + shape[LINPACK_UPPER_SIZE]) *
                           sizeof *packed),
            *left = room(WIDTH * shape[LINPACK_LEFT_SIZE] * sizeof *left),
            *top = room(WIDTH * shape[LINPACK_TOP_SIZE] * sizeof *top);
    for (uint k = 0; k < WIDTH; k++) {
        uint block = k * WIDTH + k, next = k + 1, rest = WIDTH - next;
        TABLE[LU].call((void *[]){&a, &packed, &block}, shape[LINPACK_LU_ITEMS]);
#ifdef NDRANGE
        size_t lefts = rest * shape[LINPACK_LEFT_ITEMS] + 1,
               tops = rest * shape[LINPACK_TOP_ITEMS] + 1; /* one idles */
        size_t inners = rest * rest * shape[LINPACK_INNER_ITEMS];
#else
        size_t lefts = 1, tops = 1, inners = 1;
#endif
        TABLE[LEFT].call(
            (void *[]){&a, &packed, &left, &next, (void *)&width, &k, (void *)&width},
            lefts);
        TABLE[TOP].call(
            (void *[]){&a, &packed, &top, &next, (void *)&width, &k, (void *)&width},
            tops);
        if (rest > 0)
            TABLE[INNER].call((void *[]){&a, &left, &top, &next, (void *)&width, &next,
                                         (void *)&width, (void *)&width},
                              inners);
    }
    free(packed);
    free(left);
    free(top);
}

static void factors_check(const HF_REAL *a) {
    const double roundoff = sizeof(HF_REAL) == 4 ? 0x1p-24 : 0x1p-53;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            double off = fabs((double)at(a, i, j) - factors[i][j]);
            double scale = i > j ? 1 : N; /* L is below 1, U below n */
            CHECK(off <= 16 * roundoff * scale, "(%zu, %zu): %g, not %g", i, j,
                  (double)at(a, i, j), factors[i][j]);
        }
}

static void solve(HF_REAL *a, const double *b, double *x) {
    double *sums = room(SIDE * sizeof *sums), *kept = room(SIDE * sizeof *kept),
           *parts = room(HF_BLOCK * sizeof *parts), *sent = room(SIDE * sizeof *sent);
    memcpy(sums, b, SIDE * sizeof *sums);
    for (uint upper = 0; upper < 2; upper++)
        for (uint step = 0; step < WIDTH; step++) {
            uint k = upper ? WIDTH - 1 - step : step, block = k * WIDTH + k;
            uint first = upper ? 0 : k + 1, end = upper ? k : WIDTH;
            double **from = upper ? &kept : &sums;
            for (size_t i = 0; i < HF_BLOCK; i++) { /* a half is another rank's */
                parts[i] = (*from)[k * HF_BLOCK + i] / 2;
                (*from)[k * HF_BLOCK + i] /= 2;
            }
            double *mine = room(SIDE * sizeof *mine);
            memcpy(mine, *from, SIDE * sizeof *mine);
            TABLE[SOLVE].call((void *[]){&a, &mine, &parts, &kept, &sent, &x, &block,
                                         (void *)&one, &k, &k, &upper},
                              1);
            free(mine);
            TABLE[APPLY].call(
                (void *[]){&a, &x, from, &first, &end, &k, (void *)&width}, MAX_ITEMS);
        }
    CHECK(memcmp(sent, x, SIDE * sizeof *x) == 0, "what is sent is not x");
    free(sums);
    free(kept);
    free(parts);
    free(sent);
}

static float checked(double *x, double *residual, double *parts, uint n_parts) {
    hf_finding findings[MAX_ITEMS], *told = findings;
    double x_unit = 1, small_unit = 0.25, unit = 4;
    uint seal = 0xBEEF;
    ulong seen = 0;
    float worst = 0;
    TABLE[CHECKS].call((void *[]){&x, &residual, &parts, (void *)&n, (void *)&key,
                                  (void *)&zero, (void *)&one, (void *)&width,
                                  (void *)&width, &n_parts, &x_unit, &small_unit, &unit,
                                  &told, &seal},
                       MAX_ITEMS);
    for (size_t i = 0; i < MAX_ITEMS; i++) {
        float value;
        memcpy(&value, &findings[i].bits, sizeof value);
        CHECK(findings[i].sealed ==
                  hf_finding_seal(findings[i].bits, findings[i].seen, seal),
              "work-item %zu", i);
        seen += findings[i].seen;
        worst = value > worst || isnan(value) ? value : worst;
    }
    CHECK(seen == 2 * SIDE, "%lu values seen", seen);
    return worst;
}

/* A wrong number anywhere is found, and NaN. */
static void errors_check(double *x) {
    double *residual = room(SIDE * sizeof *residual),
           *parts = room(2 * SIDE * sizeof *parts);
    for (size_t i = 0; i < SIDE; i++) {
        x[i] = reference_x(i);
        residual[i] = 3;
        parts[i] = -1;
        parts[SIDE + i] = -2;
    }
    CHECK(checked(x, residual, parts, 2) == 0, "right is wrong");
    for (size_t i = 0; i < SIDE; i += 5) {
        x[i] += 0.25;
        CHECK(checked(x, residual, parts, 2) == (is_small(i) ? 1 : 0.25F), "x %zu", i);
        x[i] = NAN;
        CHECK(isnan(checked(x, residual, parts, 2)), "NaN at x %zu", i);
        x[i] = reference_x(i);
        parts[SIDE + i] = -4;
        CHECK(checked(x, residual, parts, 2) == 0.5F, "residual %zu", i);
        parts[SIDE + i] = NAN;
        CHECK(isnan(checked(x, residual, parts, 2)), "NaN at residual %zu", i);
        parts[SIDE + i] = -2;
    }
    free(residual);
    free(parts);
}

/* Sums of two vectors, and their product by `items` work-items. */
static void vectors_check(double *from, double *to) {
    const double scale = 2, factor = -0.5, none = 0;
    for (size_t i = 0; i < SIDE; i++)
        to[i] = (double)i;
    TABLE[ADD].call(
        (void *[]){&from, &to, (void *)&scale, (void *)&factor, (void *)&width}, 3);
    for (size_t i = 0; i < SIDE; i++)
        CHECK(to[i] == 2 * (double)i - from[i] / 2, "sum %zu", i);
    for (size_t i = 0; i < SIDE; i++)
        to[i] = NAN;
    TABLE[ADD].call(
        (void *[]){&from, &to, (void *)&none, (void *)&scale, (void *)&width}, 3);
    for (size_t i = 0; i < SIDE; i++)
        CHECK(to[i] == 2 * from[i], "multiple %zu", i);
    for (size_t items = 1; items <= MAX_ITEMS; items++) {
        double *dots = room(MAX_ITEMS * sizeof *dots), sum = 0, right = 0;
        TABLE[DOT].call((void *[]){&from, &to, &dots, (void *)&width}, items);
        for (size_t i = 0; i < items; i++)
            sum += dots[i];
        for (size_t i = 0; i < SIDE; i++)
            right += from[i] * to[i];
        CHECK(fabs(sum - right) <= 1e-13 * fabs(right), "product by %zu: %g, not %g",
              items, sum, right);
        free(dots);
    }
}

int main(void) {
    HF_REAL *a = room(WIDTH * WIDTH * LINPACK_SIZE * sizeof *a);
    double *x = room(SIDE * sizeof *x), *b = room(SIDE * sizeof *b),
           *residual = room(SIDE * sizeof *residual);
    reference_factor();
    fill_check(a, 1);
    fill_check(a, MAX_ITEMS);
    grid_check();
    TABLE[RIGHT].call((void *[]){&x, (void *)&n, (void *)&key, (void *)&zero,
                                 (void *)&one, (void *)&width},
                      2);
    TABLE[PRODUCT].call((void *[]){&x, &b, (void *)&n, (void *)&key, (void *)&zero,
                                   (void *)&one, (void *)&zero, (void *)&one,
                                   (void *)&width, (void *)&width},
                        MAX_ITEMS);
    for (size_t i = 0; i < SIDE; i++) {
        double sum = 0;
        CHECK(x[i] == reference_x(i), "x %zu is %g, not %g", i, x[i], reference_x(i));
        for (size_t j = 0; j < SIDE; j++)
            sum += matrix[i][j] * reference_x(j);
        CHECK(fabs(b[i] - sum) < 1e-12 * N, "b %zu is %g, not %g", i, b[i], sum);
    }
    factor(a);
    factors_check(a);
    memset(x, 0, SIDE * sizeof *x);
    solve(a, b, x);
    for (size_t i = 0; i < SIDE; i++)
        CHECK(fabs(x[i] - reference_x(i)) < (sizeof(HF_REAL) == 4 ? 1e-5 : 1e-13),
              "x %zu is %g, not %g", i, x[i], reference_x(i));
    TABLE[RESIDUAL].call((void *[]){&b, &x, &residual, (void *)&width}, 3);
    for (size_t i = 0; i < SIDE; i++)
        CHECK(residual[i] == b[i] - x[i], "residual %zu", i);
    errors_check(x);
    vectors_check(b, x);
    free(a);
    free(x);
    free(b);
    free(residual);
    return 0;
}
