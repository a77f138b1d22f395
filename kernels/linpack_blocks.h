/* linpack_blocks.h - what the pipelines of linpack do with blocks in local memory. */
#ifndef LINPACK_BLOCKS_H
#define LINPACK_BLOCKS_H

#include "gemm_tiles.h"
#include "linpack_data.h"

static inline void block_load(HF_REAL to[HF_BLOCK][HF_BLOCK],
                              HF_GLOBAL const HF_REAL *from) {
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
            HF_PIPELINE
            HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
            for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++)
                to[i][j + u] = from[i * HF_BLOCK + j + u];
        }
}

/** In place in the matrix, and packed. */
static inline void block_store(HF_GLOBAL HF_REAL *HF_RESTRICT to,
                               HF_GLOBAL HF_REAL *HF_RESTRICT packed,
                               HF_REAL from[HF_BLOCK][HF_BLOCK]) {
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
            HF_PIPELINE
            HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
            for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++)
                to[i * HF_BLOCK + j + u] = packed[i * HF_BLOCK + j + u] =
                    from[i][j + u];
        }
}

/** L and U in place of a block, beside them the reciprocals of the diagonal. */
static inline void block_factor(HF_REAL lu[HF_BLOCK][HF_BLOCK],
                                HF_REAL inverses[HF_BLOCK]) {
    for (uint k = 0; k < HF_BLOCK; k++) {
        HF_REAL row[HF_BLOCK];
        const HF_REAL inverse = 1 / lu[k][k];
        inverses[k] = inverse;
        for (uint j = 0; j < HF_BLOCK; j++) {
            HF_PIPELINE
            row[j] = j > k ? lu[k][j] : (HF_REAL)0;
        }
        for (uint i = k + 1; i < HF_BLOCK; i++) {
            const HF_REAL factor = lu[i][k] * inverse;
            for (uint j = k / HF_GEMM_SIZE * HF_GEMM_SIZE; j < HF_BLOCK;
                 j += HF_GEMM_SIZE) {
                HF_PIPELINE
                HF_UNROLL(HF_GEMM_SIZE)
                for (uint u = 0; u < HF_GEMM_SIZE; u++)
                    lu[i][j + u] -= factor * row[j + u];
            }
            lu[i][k] = factor;
        }
    }
}

/** x U = what x was; `upper` is U with the reciprocals of its diagonal, and zeros below. */
static inline void block_left(HF_REAL x[HF_BLOCK][HF_BLOCK],
                              HF_REAL upper[HF_BLOCK][HF_BLOCK]) {
    for (uint k = 0; k < HF_BLOCK; k++)
        for (uint i = 0; i < HF_BLOCK; i++) {
            const HF_REAL factor = x[i][k] * upper[k][k];
            for (uint j = k / HF_GEMM_SIZE * HF_GEMM_SIZE; j < HF_BLOCK;
                 j += HF_GEMM_SIZE) {
                HF_PIPELINE
                HF_UNROLL(HF_GEMM_SIZE)
                for (uint u = 0; u < HF_GEMM_SIZE; u++)
                    x[i][j + u] -= factor * upper[k][j + u];
            }
            x[i][k] = factor;
        }
}

/** L x = what x was; of `lower` only what is below the diagonal counts. */
static inline void block_top(HF_REAL x[HF_BLOCK][HF_BLOCK],
                             HF_REAL lower[HF_BLOCK][HF_BLOCK]) {
    for (uint k = 0; k < HF_BLOCK; k++)
        for (uint i = k + 1; i < HF_BLOCK; i++)
            for (uint j = 0; j < HF_BLOCK; j += HF_GEMM_SIZE) {
                HF_PIPELINE
                HF_UNROLL(HF_GEMM_SIZE)
                for (uint u = 0; u < HF_GEMM_SIZE; u++)
                    x[i][j + u] -= lower[i][k] * x[k][j + u];
            }
}

/** C -= L U for the blocks of rows i0 to i1 - 1 and columns j0 to j1 - 1. */
HF_REPLICATED_KERNEL(linpack_inner, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, left),
                     HF_READ(HF_REAL, top), HF_VALUE(uint, i0), HF_VALUE(uint, i1),
                     HF_VALUE(uint, j0), HF_VALUE(uint, j1), HF_VALUE(uint, columns)) {
    for (uint row = i0; row < i1; row++)
        for (uint column = j0; column < j1; column++) {
            HF_REAL l_block[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE];
            HF_REAL u_block[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE];
            HF_SUM sums[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE];
            for (uint i = 0; i < HF_BLOCK; i++)
                for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
                    HF_PIPELINE
                    const ulong at = i * HF_BLOCK + j;
                    HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
                    for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++) {
                        AT(l_block, i, j + u) = left[row * LINPACK_SIZE + at + u];
                        AT(u_block, i, j + u) = top[column * LINPACK_SIZE + at + u];
                    }
                }
            block_multiply(sums, l_block, u_block, 1);
            for (uint i = 0; i < HF_BLOCK; i++)
                for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
                    HF_PIPELINE
                    const ulong at = ((ulong)row * columns + column) * LINPACK_SIZE +
                                     i * HF_BLOCK + j;
                    HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
                    for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++)
                        a[at + u] -= AT(sums, i, j + u);
                }
        }
}

#endif
