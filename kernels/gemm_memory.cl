/* gemm_memory.cl - C = alpha A B + beta C for FPGAs: three levels of blocks.
 *
 * Blocks of HF_BLOCK^2 elements come into local memory, HF_GLOBAL_MEM_UNROLL elements
 * of A and as many of B per clock cycle. There a product of two blocks takes one cycle for
 * each pair of tiles of HF_GEMM_SIZE^2 elements, which are multiplied in registers. The inner
 * index of tiles runs slowest, so that a sum is not needed again before it is there.
 *
 * Any n: what a block has beyond the matrices is zero, and is not written.
 */
#include "gemm_tiles.h"

/** Rows `first` to `end` - 1 of c = alpha a b + beta c0; `first` starts a block. */
HF_REPLICATED_KERNEL(gemm_multiply, HF_READ(HF_REAL, a), HF_READ(HF_REAL, b),
                     HF_READ(HF_REAL, c0), HF_WRITE(HF_REAL, c),
                     HF_VALUE(HF_SUM, alpha), HF_VALUE(HF_SUM, beta), HF_VALUE(uint, n),
                     HF_VALUE(uint, first), HF_VALUE(uint, end)) {
    const uint row = HF_GEMM_ROW(n);
    for (uint top = first; top < end; top += HF_BLOCK)
        for (uint left = 0; left < row; left += HF_BLOCK) {
            HF_SUM sums[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE];
            for (uint depth = 0; depth < row; depth += HF_BLOCK) {
                HF_REAL a_block[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE];
                HF_REAL b_block[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE];
                for (uint i = 0; i < HF_BLOCK; i++)
                    for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
                        HF_PIPELINE
                        const uint in_a = top + i < end && depth + j < row;
                        const uint in_b = depth + i < n && left + j < row;
                        const ulong a_at = (ulong)(top + i) * row + depth + j;
                        const ulong b_at = (ulong)(depth + i) * row + left + j;
                        HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
                        for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++) {
                            AT(a_block, i, j + u) = in_a ? a[a_at + u] : (HF_REAL)0;
                            AT(b_block, i, j + u) = in_b ? b[b_at + u] : (HF_REAL)0;
                        }
                    }
                block_multiply(sums, a_block, b_block, depth == 0);
            }
            for (uint i = 0; i < HF_BLOCK; i++)
                for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
                    HF_PIPELINE
                    const ulong at = (ulong)(top + i) * row + left + j;
                    if (top + i < end && left + j < row) {
                        HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
                        for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++)
                            c[at + u] = (HF_REAL)(alpha * AT(sums, i, j + u) +
                                                  beta * (HF_SUM)c0[at + u]);
                    }
                }
        }
}

HF_HOST_FILE(gemm_memory, HF_HOST_KERNEL(gemm_multiply))
