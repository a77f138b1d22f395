/* gemm_ndrange.cl - C = alpha A B + beta C for CPUs and GPUs: pack, then multiply blocks.
 *
 * gemm_pack_a and gemm_pack_b copy A into panels of PANEL_A rows and B into panels of PANEL_B
 * columns, [panels, k, PANEL], with zeros at the edges. So gemm_multiply reads all of
 * its input in the order in which it lies there, and needs no tests.
 *
 * On CPUs a work-item multiplies a block of C tile by tile (gemm_panels.h). It takes DEPTH columns
 * of A at a time, so that the block's rows of them fit in the second-level cache, and as many rows
 * of B, so that a tile's columns of them fit in the first. On GPUs a work-group multiplies a block.
 * gemm_shape tells the host which.
 */
#include "gemm_panels.h"

/** Columns of a strip that lie in one panel. */
#define WORD (PANEL_B < HF_GEMM_STRIP ? PANEL_B : HF_GEMM_STRIP)

/** shape[3] = rows and columns of a block of C, and work-items that multiply it. */
HF_KERNEL(gemm_shape, HF_WRITE(uint, shape)) {
    shape[0] = BLOCK_A;
    shape[1] = BLOCK_B;
    shape[2] = GROUP;
}

/** A work-item packs one strip of one row of A. */
HF_KERNEL(gemm_pack_a, HF_READ(HF_REAL, a), HF_WRITE(HF_SUM, panels),
          HF_VALUE(uint, n)) {
    const ulong row = HF_GEMM_ROW(n), strips = row / HF_GEMM_STRIP;
    const ulong i = HF_ITEM / (PANEL_A * strips) * PANEL_A + HF_ITEM % PANEL_A;
    const ulong k = HF_ITEM / PANEL_A % strips * HF_GEMM_STRIP;
    HF_GLOBAL HF_SUM *to = panels + A_AT(i, k, row);
    for (uint s = 0; s < HF_GEMM_STRIP; s++)
        to[s * PANEL_A] = i < n ? (HF_SUM)a[i * row + k + s] : (HF_SUM)0;
}

/** A work-item packs one strip of one row of B. Neighbours have the same columns of
 *  HF_GEMM_STRIP rows: both sides of the copy stay within few pages. */
HF_KERNEL(gemm_pack_b, HF_READ(HF_REAL, b), HF_WRITE(HF_SUM, panels),
          HF_VALUE(uint, n)) {
    const ulong row = HF_GEMM_ROW(n), across = (n + BLOCK_B - 1) / BLOCK_B * BLOCK_B;
    const ulong rows = HF_ITEM / across * HF_GEMM_STRIP;
    const ulong k = rows + HF_ITEM % HF_GEMM_STRIP;
    const ulong j = HF_ITEM % across / HF_GEMM_STRIP * HF_GEMM_STRIP;
    const uint inside = k < n && j < row;
    for (uint w = 0; w < HF_GEMM_STRIP; w += WORD) {
        HF_GLOBAL HF_SUM *to = panels + B_AT(k, j + w, row);
        for (uint s = 0; s < WORD; s++)
            to[s] = inside ? (HF_SUM)b[k * row + j + w + s] : (HF_SUM)0;
    }
}

#if GROUP == 1

/** Rows and columns that are there of a tile of c = alpha sums + beta c0. */
static inline void tile_store(hf_lanes tile[TILE_A][2],
                              HF_GLOBAL const HF_REAL *HF_RESTRICT c0,
                              HF_GLOBAL HF_REAL *HF_RESTRICT c, HF_SUM alpha,
                              HF_SUM beta, ulong row, ulong height, ulong width) {
    EACH(i, TILE_A) EACH(w, 2) if (i < height && w * LANES < width) {
        const ulong at = i * row + w * LANES;
        const hf_elements old = *(HF_GLOBAL const hf_elements *)(c0 + at);
        *(HF_GLOBAL hf_elements *)(c + at) = __builtin_convertvector(
            alpha * tile[i][w] + beta * __builtin_convertvector(old, hf_lanes),
            hf_elements);
    }
}

/** A work-item has a block of rows `first` to `end` - 1 of c = alpha a b + beta c0; a and b
 *  are packed, and `first` starts a block. */
HF_KERNEL(gemm_multiply, HF_READ(HF_SUM, a), HF_READ(HF_SUM, b), HF_READ(HF_REAL, c0),
          HF_WRITE(HF_REAL, c), HF_VALUE(HF_SUM, alpha), HF_VALUE(HF_SUM, beta),
          HF_VALUE(uint, n), HF_VALUE(uint, first), HF_VALUE(uint, end)) {
    const ulong row = HF_GEMM_ROW(n), down = (end - first + BLOCK_A - 1) / BLOCK_A;
    const ulong top = first + HF_ITEM % down * BLOCK_A, left = HF_ITEM / down * BLOCK_B;
    const ulong wide = TILES(row - left, BLOCK_B, TILE_B);
    const ulong high = TILES(end - top, BLOCK_A, TILE_A);
    hf_lanes sums[BLOCK_B / TILE_B][BLOCK_A / TILE_A][TILE_A][2];
    a += top * row;
    b += left * row;
    c0 += top * row + left;
    c += top * row + left;
    for (ulong x = 0; x < wide; x++)
        for (ulong y = 0; y < high; y++)
            EACH(i, TILE_A) sums[x][y][i][0] = sums[x][y][i][1] = ZEROS;
    for (ulong k = 0; k < row; k += DEPTH)
        for (ulong x = 0; x < wide; x++)
            for (ulong y = 0; y < high; y++) {
                const ulong at = y * TILE_A * row + x * TILE_B;
                const uint last = row - k <= DEPTH;
                tile_add(sums[x][y], a + A_AT(y * TILE_A, k, row),
                         b + B_AT(k, x * TILE_B, row), row, last ? row - k : DEPTH);
                if (last)
                    tile_store(sums[x][y], c0 + at, c + at, alpha, beta, row,
                               end - top - y * TILE_A, row - left - x * TILE_B);
            }
}

#else

/** Work-items of a group share a block of rows `first` to `end` - 1 of c = alpha a b +
 *  beta c0; a and b are packed, and `first` starts a block. */
HF_KERNEL(gemm_multiply, HF_READ(HF_SUM, a), HF_READ(HF_SUM, b), HF_READ(HF_REAL, c0),
          HF_WRITE(HF_REAL, c), HF_VALUE(HF_SUM, alpha), HF_VALUE(HF_SUM, beta),
          HF_VALUE(uint, n), HF_VALUE(uint, first), HF_VALUE(uint, end)) {
    SHARED_PARTS(a_part, b_part);
    MY_SUMS(sum);
    const ulong row = HF_GEMM_ROW(n), down = (end - first + BLOCK_A - 1) / BLOCK_A;
    const ulong block = HF_ITEM / GROUP;
    const ulong top = first + block % down * BLOCK_A, left = block / down * BLOCK_B;
    const uint me = (uint)(HF_ITEM % GROUP), my_i = me / SIDE, my_j = me % SIDE;
    block_multiply(sum, a + top * row, b + left * row, row, me, a_part, b_part);
    for (uint i = 0; i < BLOCK_A / SIDE; i++)
        for (uint j = 0; j < BLOCK_B / SIDE; j++) {
            const ulong y = top + MINE(i, my_i), x = left + MINE(j, my_j);
            if (y < end && x < row)
                c[y * row + x] =
                    (HF_REAL)(alpha * sum[i][j] + beta * (HF_SUM)c0[y * row + x]);
        }
}

#endif

HF_HOST_FILE(gemm_ndrange, HF_HOST_KERNEL(gemm_shape), HF_HOST_KERNEL(gemm_pack_a),
             HF_HOST_KERNEL(gemm_pack_b), HF_HOST_KERNEL(gemm_multiply))
