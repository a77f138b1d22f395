/* ptrans_tile.h - a block in the local memory of an FPGA, read by rows or by columns.
 *
 * Chunks of PTRANS_LANES values in row order make a block, the lanes of chunk `chunk` of row
 * i turned round by i: so the lanes of a row, and as many values of a column, each lie in a
 * bank of their own and move in one clock cycle.
 */
#ifndef PTRANS_TILE_H
#define PTRANS_TILE_H

#include "ptrans_data.h"

/* In emulation local memory is the stack of a thread, often of 8 MiB. */
#if !defined(HF_INTEL) && !defined(HF_XILINX) && \
    2 * HF_BLOCK * HF_BLOCK * HF_REAL_BYTES > 4194304
#error "HF_BLOCK: a pipeline holds two blocks, in emulation of 4 MiB at most together"
#endif

enum {
    PTRANS_LANES = HF_CHANNEL_WIDTH / sizeof(HF_REAL), /* values per clock cycle */
    PTRANS_ROW = HF_BLOCK / PTRANS_LANES,              /* chunks of a row */
    PTRANS_CHUNKS = HF_BLOCK * PTRANS_ROW,             /* chunks of a block */
};

/** Where lane `l` of chunk `chunk` is stored. */
#define PTRANS_STORED(tile, chunk, l) \
    tile[chunk][((l) + (chunk) / PTRANS_ROW) % PTRANS_LANES]

/** Lane `l` of chunk `chunk` of the transposed block. */
#define PTRANS_TRANSPOSED(tile, chunk, l)                           \
    tile[((chunk) % PTRANS_ROW * PTRANS_LANES + (l)) * PTRANS_ROW + \
         (chunk) / PTRANS_ROW / PTRANS_LANES]                       \
        [((chunk) / PTRANS_ROW + (l)) % PTRANS_LANES]

#endif
