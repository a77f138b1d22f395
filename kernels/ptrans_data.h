/* ptrans_data.h - the matrices of ptrans as closed formulas, and the kernels that write them
 * and that check C = B + A^T against them.
 *
 * A part of a matrix is a list of blocks of HF_BLOCK x HF_BLOCK values; places[k] = {row,
 * column} is where block k lies in the matrix, counted in blocks. A work-item has rows one
 * after the other. A value is a multiple of the spacing of numbers around 2, so that sums
 * are exact.
 */
#ifndef PTRANS_DATA_H
#define PTRANS_DATA_H

#include "hf_finding.h"
#include "hf_real.h"
#include "hf_width.h"
#include "ptrans_value.h"

#ifndef HF_BLOCK
#define HF_BLOCK 512
#endif
#if HF_BLOCK < 32 || HF_BLOCK > 4096 || HF_BLOCK % 32 != 0
#error "HF_BLOCK, the width of a block, must be a multiple of 32 and at most 4096"
#endif

/* Of pipelines and channels alone, but what is wrong for one shape is so for all. */
#if HF_CHANNEL_WIDTH > 128
#error "HF_CHANNEL_WIDTH, the bytes per clock cycle, must be a power of two, 8 to 128"
#endif

/** Values of a block. */
#define PTRANS_SIZE ((ulong)HF_BLOCK * HF_BLOCK)

/** Rows of `blocks` blocks that so many work-items have. */
#define PTRANS_ROWS(items) ((ulong)blocks * HF_BLOCK * (items) / HF_ITEMS)

/** Values of a row that are made or checked at a time: of pipelines, a clock cycle's. */
#if defined(HF_INTEL) || defined(HF_XILINX)
#define PTRANS_WIDE 16
#else
#define PTRANS_WIDE HF_BLOCK
#endif

static inline HF_REAL ptrans_value(uint row, uint column, uint key) {
    const int bits = ptrans_bits(row, column, key);
    return PTRANS_VALUE(HF_REAL, bits);
}

/** Fill `blocks` blocks of A and of B. */
HF_KERNEL(ptrans_fill, HF_WRITE(HF_REAL, a), HF_WRITE(HF_REAL, b),
          HF_READ(uint, places), HF_VALUE(uint, blocks), HF_VALUE(uint, key)) {
    const ulong end = PTRANS_ROWS(HF_ITEM + 1);
    for (ulong at = PTRANS_ROWS(HF_ITEM); at < end; at++) {
        const uint block = (uint)(at / HF_BLOCK);
        const uint row = places[2 * block] * HF_BLOCK + (uint)(at % HF_BLOCK);
        const uint column = places[2 * block + 1] * HF_BLOCK;
        for (uint j = 0; j < HF_BLOCK; j += PTRANS_WIDE) {
            HF_PIPELINE
            HF_UNROLL(PTRANS_WIDE)
            for (uint l = 0; l < PTRANS_WIDE; l++) {
                a[at * HF_BLOCK + j + l] = ptrans_value(row, column + j + l, key);
                b[at * HF_BLOCK + j + l] =
                    ptrans_value(row, column + j + l, key ^ PTRANS_B);
            }
        }
    }
}

/** The magnitude of the largest residual |C - (B + A^T)|. */
HF_KERNEL(ptrans_check, HF_READ(HF_REAL, c), HF_READ(uint, places),
          HF_VALUE(uint, blocks), HF_VALUE(uint, key), HF_WRITE(hf_finding, findings),
          HF_VALUE(uint, seal)) {
    ulong seen = 0;
    uint worst = 0;
    const ulong end = PTRANS_ROWS(HF_ITEM + 1);
    for (ulong at = PTRANS_ROWS(HF_ITEM); at < end; at++) {
        const uint block = (uint)(at / HF_BLOCK);
        const uint row = places[2 * block] * HF_BLOCK + (uint)(at % HF_BLOCK);
        const uint column = places[2 * block + 1] * HF_BLOCK;
        for (uint j = 0; j < HF_BLOCK; j += PTRANS_WIDE) {
            HF_PIPELINE
            HF_UNROLL(PTRANS_WIDE)
            for (uint l = 0; l < PTRANS_WIDE; l++) {
                const HF_REAL right =
                    ptrans_value(row, column + j + l, key ^ PTRANS_B) +
                    ptrans_value(column + j + l, row, key);
                const uint off =
                    hf_magnitude((float)(c[at * HF_BLOCK + j + l] - right));
                worst = off > worst ? off : worst;
            }
            seen += PTRANS_WIDE;
        }
    }
    findings[HF_ITEM] = hf_finding_make(worst, seen, seal);
}

#endif
