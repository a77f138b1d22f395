/* gemm_panels.h - products of panels for CPUs and GPUs: a tile in registers, a block by a group.
 *
 * Panels are [depth, PANEL]: PANEL_A rows of a left factor, PANEL_B columns of a right one. Ranks
 * send them to each other, so they are the same on all CPUs, whatever registers these have. On
 * CPUs a work-item multiplies tile by tile: TILE_A x TILE_B sums that fill the vector registers,
 * from one panel of each factor, two of them, or a half of B's. On GPUs GROUP work-items share a
 * block of one panel by one panel, which go through local memory.
 */
#ifndef GEMM_PANELS_H
#define GEMM_PANELS_H

#include "gemm_layout.h"
#include "hf_real.h"

#if defined(__x86_64__) || defined(__aarch64__)

/* A register holds LANES elements. The sums of a tile fill all registers but three: two for B and
 * one for A. */
#if defined(__AVX512F__)
#define REGISTER 64
#define TILE_A   12
#elif defined(__AVX2__)
#define REGISTER 32
#define TILE_A   6
#else
#define REGISTER 16
#define TILE_A   6
#endif
#define LANES   (REGISTER / (int)sizeof(HF_SUM))
#define TILE_B  (2 * LANES)
#define PANEL_A 6
#define PANEL_B (64 / (int)sizeof(HF_SUM)) /* a line of the caches */
#define BLOCK_A 96
#define BLOCK_B HF_GEMM_BLOCK
#define DEPTH   512
#define GROUP   1

/* The largest tile of any CPU. */
#define ROWS_A    12
#define COLUMNS_B (2 * PANEL_B)

#else

#define PANEL_A HF_GEMM_BLOCK
#define PANEL_B HF_GEMM_BLOCK
#define ROWS_A  PANEL_A
#define BLOCK_A PANEL_A
#define BLOCK_B PANEL_B
#define GROUP   256

#endif

/** Where panels of `depth` have row `i` and column `k` of A, and row `k` and column `j` of B. */
#define A_AT(i, k, depth) (((i) / PANEL_A * (depth) + (k)) * PANEL_A + (i) % PANEL_A)
#define B_AT(k, j, depth) (((j) / PANEL_B * (depth) + (k)) * PANEL_B + (j) % PANEL_B)

#define EACH(i, n) _Pragma("unroll") for (uint i = 0; i < (n); i++)

#if GROUP == 1

#ifdef __clang__
#define VECTOR(type) __attribute__((ext_vector_type(LANES), may_alias))
#define ZEROS        ((hf_lanes)0)
#else
#define VECTOR(type) __attribute__((vector_size(LANES * sizeof(type)), may_alias))
#define ZEROS        ((hf_lanes){0})
#endif
typedef HF_SUM hf_lanes VECTOR(HF_SUM);
typedef HF_REAL hf_elements VECTOR(HF_REAL);

/** Tiles of `tile` rows or columns in a block of which `rest` are there. */
#define TILES(rest, block, tile) \
    (((rest) < (block) ? (rest) : (block)) + (tile)-1) / (tile)

/** Add a b to the sums of one tile, for `n` columns of a and rows of b, whose panels have `depth`
 *  of them. The sums stay in registers meanwhile: nothing may take their address. */
static inline void tile_add(hf_lanes tile[TILE_A][2],
                            HF_GLOBAL const HF_SUM *HF_RESTRICT a,
                            HF_GLOBAL const HF_SUM *HF_RESTRICT b, ulong depth,
                            ulong n) {
    hf_lanes sum[TILE_A][2];
    EACH(i, TILE_A) EACH(w, 2) sum[i][w] = tile[i][w];
    for (ulong k = 0; k < n; k++) {
        const hf_lanes b0 = *(HF_GLOBAL const hf_lanes *)b;
        const hf_lanes b1 = *(HF_GLOBAL const hf_lanes *)(b + B_AT(0, LANES, depth));
        EACH(i, TILE_A) {
            sum[i][0] += a[A_AT(i, 0, depth)] * b0;
            sum[i][1] += a[A_AT(i, 0, depth)] * b1;
        }
        a += PANEL_A;
        b += PANEL_B;
    }
    EACH(i, TILE_A) EACH(w, 2) tile[i][w] = sum[i][w];
}

#else

#define DEPTH         HF_GEMM_STRIP /* inner indices at a time in local memory */
#define SIDE          16            /* work-items across a block, and down */
/** Row or column `i` of a work-item in a block: they come in groups of four neighbours, which are
 *  read as one word. */
#define MINE(i, item) ((i) / 4 * 4 * SIDE + (item)*4 + (i) % 4)
#define PARTS         (DEPTH * PANEL_A / GROUP)

/** A work-item's sums of a block, and what its group shares. */
#define MY_SUMS(sum)  HF_SUM sum[BLOCK_A / SIDE][BLOCK_B / SIDE]
#define SHARED_PARTS(a_part, b_part) \
    __local HF_SUM a_part[DEPTH * PANEL_A], b_part[DEPTH * PANEL_B]

/** sum = a b for one panel of each, `depth` a multiple of DEPTH; item `me` of the group. */
static inline void block_multiply(HF_SUM sum[BLOCK_A / SIDE][BLOCK_B / SIDE],
                                  HF_GLOBAL const HF_SUM *a, HF_GLOBAL const HF_SUM *b,
                                  ulong depth, uint me, __local HF_SUM *a_part,
                                  __local HF_SUM *b_part) {
    const uint my_i = me / SIDE, my_j = me % SIDE;
    HF_SUM next_a[PARTS], next_b[PARTS];
    for (uint p = 0; p < PARTS; p++) {
        next_a[p] = a[p * GROUP + me];
        next_b[p] = b[p * GROUP + me];
    }
    for (uint i = 0; i < BLOCK_A / SIDE; i++)
        for (uint j = 0; j < BLOCK_B / SIDE; j++)
            sum[i][j] = 0;
    for (ulong k = 0; k < depth; k += DEPTH) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint p = 0; p < PARTS; p++) {
            a_part[p * GROUP + me] = next_a[p];
            b_part[p * GROUP + me] = next_b[p];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        a += DEPTH * PANEL_A;
        b += DEPTH * PANEL_B;
        if (k + DEPTH < depth) /* under way while we multiply */
            for (uint p = 0; p < PARTS; p++) {
                next_a[p] = a[p * GROUP + me];
                next_b[p] = b[p * GROUP + me];
            }
        for (uint d = 0; d < DEPTH; d++) {
            HF_SUM x[BLOCK_A / SIDE], y[BLOCK_B / SIDE];
            for (uint i = 0; i < BLOCK_A / SIDE; i++)
                x[i] = a_part[d * PANEL_A + MINE(i, my_i)];
            for (uint j = 0; j < BLOCK_B / SIDE; j++)
                y[j] = b_part[d * PANEL_B + MINE(j, my_j)];
            for (uint i = 0; i < BLOCK_A / SIDE; i++)
                for (uint j = 0; j < BLOCK_B / SIDE; j++)
                    sum[i][j] += x[i] * y[j];
        }
    }
}

#endif

#endif
