/* gemm_tiles.h - products of blocks for pipelines: tiles of HF_GEMM_SIZE^2 in registers.
 *
 * A block of HF_BLOCK^2 elements lies in local memory tile by tile. A product of two blocks takes
 * one cycle for each pair of tiles. The inner index of tiles runs slowest, so that a sum is
 * not needed again before it is there.
 */
#ifndef GEMM_TILES_H
#define GEMM_TILES_H

#include "gemm_layout.h"
#include "hf_real.h"

#ifndef HF_REPLICATIONS
#define HF_REPLICATIONS 1
#endif
#ifndef HF_BLOCK
#define HF_BLOCK 256
#endif
#ifndef HF_GEMM_SIZE
#define HF_GEMM_SIZE 8
#endif
#ifndef HF_GLOBAL_MEM_UNROLL
#define HF_GLOBAL_MEM_UNROLL 16
#endif
#if HF_GLOBAL_MEM_UNROLL < 1 || HF_GEMM_STRIP % HF_GLOBAL_MEM_UNROLL != 0
#error "HF_GLOBAL_MEM_UNROLL, the elements read per cycle, must divide 16"
#endif
#if HF_GEMM_SIZE < 1 || HF_BLOCK % HF_GEMM_SIZE != 0
#error "HF_BLOCK, the width of a block, must be a multiple of HF_GEMM_SIZE"
#endif
#if HF_BLOCK % HF_GLOBAL_MEM_UNROLL != 0
#error "HF_BLOCK, the width of a block, must be a multiple of HF_GLOBAL_MEM_UNROLL"
#endif
/* In emulation local memory is the stack of a thread, often of 8 MiB. */
#if !defined(HF_INTEL) && !defined(HF_XILINX) &&                               \
    (2 * HF_REAL_BYTES + (HF_REAL_BYTES < 4 ? 4 : HF_REAL_BYTES)) * HF_BLOCK * \
            HF_BLOCK >                                                         \
        6291456
#error "HF_BLOCK: emulation has 6 MiB for three: up to 720, in double 512, half 880"
#endif

#define TILES (HF_BLOCK / HF_GEMM_SIZE)

/** Element (i, j) of a block, which lies in local memory tile by tile. */
#define AT(block, i, j)                                               \
    block[(i) / HF_GEMM_SIZE][(j) / HF_GEMM_SIZE][(i) % HF_GEMM_SIZE] \
         [(j) % HF_GEMM_SIZE]

/** sum = or += a b for tiles in registers: all of it in one cycle. */
static inline void tile_multiply(HF_SUM sum[HF_GEMM_SIZE][HF_GEMM_SIZE],
                                 HF_REAL a[HF_GEMM_SIZE][HF_GEMM_SIZE],
                                 HF_REAL b[HF_GEMM_SIZE][HF_GEMM_SIZE], uint fresh) {
    HF_UNROLL(HF_GEMM_SIZE)
    for (uint i = 0; i < HF_GEMM_SIZE; i++) {
        HF_SUM line[HF_GEMM_SIZE];
        HF_UNROLL(HF_GEMM_SIZE)
        for (uint j = 0; j < HF_GEMM_SIZE; j++)
            line[j] = fresh ? (HF_SUM)0 : sum[i][j];
        HF_UNROLL(HF_GEMM_SIZE)
        for (uint k = 0; k < HF_GEMM_SIZE; k++) {
            HF_UNROLL(HF_GEMM_SIZE)
            for (uint j = 0; j < HF_GEMM_SIZE; j++)
                line[j] += (HF_SUM)a[i][k] * (HF_SUM)b[k][j];
        }
        HF_UNROLL(HF_GEMM_SIZE)
        for (uint j = 0; j < HF_GEMM_SIZE; j++)
            sum[i][j] = line[j];
    }
}

/** sums = or += a b for blocks in local memory. */
static inline void block_multiply(HF_SUM sums[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE],
                                  HF_REAL a[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE],
                                  HF_REAL b[TILES][TILES][HF_GEMM_SIZE][HF_GEMM_SIZE],
                                  uint fresh) {
    for (uint k = 0; k < TILES; k++)
        for (uint i = 0; i < TILES; i++)
            for (uint j = 0; j < TILES; j++) {
                HF_PIPELINE
                tile_multiply(sums[i][j], a[i][k], b[k][j], fresh && k == 0);
            }
}

#endif
