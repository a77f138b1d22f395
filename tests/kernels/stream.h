/* stream.h - what the tests of both shapes of STREAM's kernel must find: whole numbers,
 * summed by a naive reference, in arrays with guards behind them. */
#ifndef STREAM_H
#define STREAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernel.h"

enum { GUARD = 64 };
static const HF_REAL FENCE = 77;

/** An array of `n` elements: value i is (i * step + 1) modulo 251. */
static HF_REAL *array(size_t n, size_t step) {
    HF_REAL *a = aligned_alloc(64, (n + GUARD) * sizeof *a / 64 * 64 + 64);
    CHECK(a, "no memory");
    for (size_t i = 0; i < n; i++)
        a[i] = (HF_REAL)((i * step + 1) % 251);
    for (size_t i = n; i < n + GUARD; i++)
        a[i] = FENCE;
    return a;
}

/** One launch, as whoever includes this file makes it. */
static void launch(HF_REAL *out, const HF_REAL *one, const HF_REAL *two, float scalar,
                   unsigned sum, size_t n);

static void comparison(size_t n, unsigned sum, unsigned scalar) {
    HF_REAL *out = array(n, 0), *one = array(n, 3), *two = array(n, 7);
    launch(out, one, two, (float)scalar, sum, n);
    for (size_t i = 0; i < n; i++) {
        size_t x = (i * 3 + 1) % 251, y = (i * 7 + 1) % 251, right = scalar * x;
        if (sum)
            right += y;
        CHECK((double)out[i] == (double)right,
              "%zu elements: number %zu is %g, not %zu", n, i, (double)out[i], right);
        CHECK((double)one[i] == (double)x && (double)two[i] == (double)y,
              "%zu elements: input %zu changed", n, i);
    }
    for (size_t i = n; i < n + GUARD; i++)
        CHECK(out[i] == FENCE && one[i] == FENCE && two[i] == FENCE,
              "%zu elements: number %zu behind them changed", n, i);
    free(out);
    free(one);
    free(two);
}

static void comparisons(void) {
    static const size_t words[] = {1, 2, 3, 7, 8, 61, 1000};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        comparison(words[i] * STREAM_WORD, 0, 1); /* copy */
        comparison(words[i] * STREAM_WORD, 0, 3); /* scale */
        comparison(words[i] * STREAM_WORD, 1, 1); /* add */
        comparison(words[i] * STREAM_WORD, 1, 3); /* triad */
    }
}

#endif
