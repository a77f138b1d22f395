/* ptrans_memory.c - kernels/ptrans_memory.cl as plain C against a naive reference.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/ptrans_memory.c [-DHF_REAL=double] [-DHF_CHANNEL_WIDTH=8] -lm
 */
#define HF_BLOCK 32
#include "../../kernels/ptrans_memory.cl"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernel.h"

enum {
    BLOCK = 32,
    WIDTH = 3,
    BLOCKS = WIDTH * WIDTH,
    SIZE = BLOCK * BLOCK,
    MAX_ITEMS = 7
};

static HF_REAL a[BLOCKS * SIZE], b[BLOCKS * SIZE], c[BLOCKS * SIZE];
static uint places[2 * BLOCKS], sources[BLOCKS];
static const uint key = 0xDEADBEEF;

/** Element of A, or of B: the hash in 64-bit arithmetic, one operation at a time. */
static double reference_value(uint64_t row, uint64_t column, bool of_b) {
    const uint64_t two32 = 4294967296u;
    uint64_t h = of_b ? key ^ UINT64_C(1540483477) : key;
    h = (h + row * 2654435761u % two32 + column * 2246822506u % two32) % two32;
    h = h ^ h / 32768;
    h = h * 739982445u % two32;
    h = h ^ h / 8192;
    double value = h < two32 / 2 ? (double)h : (double)h - (double)two32;
    return sizeof(HF_REAL) == 8 ? value / 2147483648.0 : floor(value / 512) / 4194304.0;
}

static double reference_sum(size_t row, size_t column) {
    return reference_value(row, column, true) + reference_value(column, row, false);
}

/** Where element (row, column) of the matrix lies. */
static size_t element_at(size_t row, size_t column) {
    for (size_t k = 0; k < BLOCKS; k++)
        if (places[2 * k] == row / BLOCK && places[2 * k + 1] == column / BLOCK)
            return k * SIZE + row % BLOCK * BLOCK + column % BLOCK;
    CHECK(0, "no block has element %zu, %zu", row, column);
}

static void fill(size_t items) {
    void *pa = a, *pb = b, *pp = places;
    uint n = BLOCKS;
    void *args[] = {&pa, &pb, &pp, &n, (void *)&key};
    hf_kernels_ptrans_memory[0].call(args, items);
}

static double worst(size_t items) {
    hf_finding findings[MAX_ITEMS], *pf = findings;
    float most = 0;
    uint seal = 0xBEEF;
    ulong seen = 0;
    void *pc = c, *pp = places;
    uint n = BLOCKS;
    void *args[] = {&pc, &pp, &n, (void *)&key, &pf, &seal};
    hf_kernels_ptrans_memory[1].call(args, items);
    for (size_t i = 0; i < items; i++) {
        const hf_finding *f = &findings[i];
        float residual;
        memcpy(&residual, &f->bits, sizeof residual);
        CHECK(f->sealed == hf_finding_seal(f->bits, f->seen, seal), "work-item %zu", i);
        seen += f->seen;
        if (residual > most || isnan(residual))
            most = residual;
    }
    CHECK(seen == BLOCKS * SIZE, "%lu values seen", seen);
    return most;
}

static void add(uint first, uint count) {
    void *pa = a, *pb = b, *pc = c, *ps = sources;
    void *args[] = {&pa, &pb, &pc, &ps, &first, &count};
    hf_kernels_ptrans_memory[2].call(args, 1);
}

/** The blocks of a matrix in no order of rows or columns. */
static void places_make(void) {
    for (uint k = 0; k < BLOCKS; k++) {
        uint place = (k * 4 + 2) % BLOCKS;
        places[2 * k] = place / WIDTH;
        places[2 * k + 1] = place % WIDTH;
    }
    for (uint k = 0; k < BLOCKS; k++)
        for (uint m = 0; m < BLOCKS; m++)
            if (places[2 * m] == places[2 * k + 1] &&
                places[2 * m + 1] == places[2 * k])
                sources[k] = m;
}

static void values_check(size_t items) {
    memset(a, 0xFF, sizeof a);
    memset(b, 0xFF, sizeof b);
    fill(items);
    for (size_t i = 0; i < WIDTH * BLOCK; i++)
        for (size_t j = 0; j < WIDTH * BLOCK; j++) {
            size_t at = element_at(i, j);
            CHECK((double)a[at] == reference_value(i, j, false), "A %zu, %zu", i, j);
            CHECK((double)b[at] == reference_value(i, j, true), "B %zu, %zu", i, j);
        }
}

static void sums_check(void) {
    memset(c, 0xFF, sizeof c);
    add(0, 4);
    CHECK(isnan((double)c[4 * SIZE]), "a block past the last was written");
    add(4, BLOCKS - 4);
    for (size_t i = 0; i < WIDTH * BLOCK; i++)
        for (size_t j = 0; j < WIDTH * BLOCK; j++)
            CHECK((double)c[element_at(i, j)] == reference_sum(i, j), "C %zu, %zu", i,
                  j);
}

/** Every single damage is seen: the least, the greatest, one that is no number. */
static void damage_check(size_t items) {
    CHECK(worst(items) == 0, "right data have a residual of %g", worst(items));
    for (size_t at = 0; at < BLOCKS * SIZE; at += at < 70 ? 1 : 997) {
        HF_REAL right = c[at];
        c[at] = right + (HF_REAL)(sizeof(HF_REAL) == 8 ? 0x1p-31 : 0x1p-22);
        CHECK(worst(items) > 0, "a last bit off at %zu", at);
        c[at] = (HF_REAL)NAN;
        CHECK(isnan(worst(items)), "a NaN at %zu", at);
        c[at] = -(HF_REAL)INFINITY;
        CHECK(isinf(worst(items)), "an infinity at %zu", at);
        c[at] = right;
    }
}

/** Blocks in each other's place, not transposed, or of other data: nearly all is wrong. */
static void mixtures_check(void) {
    static HF_REAL right[BLOCKS * SIZE];
    memcpy(right, c, sizeof c);
    memcpy(c, right + SIZE, SIZE * sizeof *c);
    memcpy(c + SIZE, right, SIZE * sizeof *c);
    CHECK(worst(1) > 0, "swapped blocks pass");
    memcpy(c, right, sizeof c);
    for (size_t k = 0; k < BLOCKS; k++) {
        for (size_t i = 0; i < SIZE; i++)
            c[k * SIZE + i] = a[sources[k] * SIZE + i] + b[k * SIZE + i];
        CHECK(worst(1) > 0, "block %zu passes untransposed", k);
        memcpy(c, right, sizeof c);
    }
}

int main(void) {
    places_make();
    for (size_t items = 1; items <= MAX_ITEMS; items += 3)
        values_check(items);
    sums_check();
    for (size_t items = 1; items <= MAX_ITEMS; items += 3)
        damage_check(items);
    mixtures_check();
    return 0;
}
