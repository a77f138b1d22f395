/* ptrans_memory.cl - ptrans for host-routed schemes: C = B + A^T, block by block.
 *
 * Three pipelines one after the other, each with one block in global memory: A into local
 * memory; A transposed plus B into local memory; the sum to C. Each moves HF_CHANNEL_WIDTH
 * bytes per clock cycle, so a block takes 3 HF_BLOCK^2 / LANES cycles.
 */
#include "ptrans_tile.h"

#ifndef HF_REPLICATIONS
#define HF_REPLICATIONS 1
#endif

/** C = B + A^T in blocks first .. first + count - 1 of B and C; sources[k] is the block of
 *  A that is added to block k. */
HF_REPLICATED_KERNEL(ptrans_add, HF_READ(HF_REAL, a), HF_READ(HF_REAL, b),
                     HF_WRITE(HF_REAL, c), HF_READ(uint, sources),
                     HF_VALUE(uint, first), HF_VALUE(uint, count)) {
    for (uint block = first; block < first + count; block++) {
        HF_REAL tile[PTRANS_CHUNKS][PTRANS_LANES], sum[PTRANS_CHUNKS][PTRANS_LANES];
        const ulong source = sources[block] * PTRANS_SIZE, at = block * PTRANS_SIZE;
        for (uint chunk = 0; chunk < PTRANS_CHUNKS; chunk++) {
            HF_PIPELINE
            HF_UNROLL(PTRANS_LANES)
            for (uint l = 0; l < PTRANS_LANES; l++)
                PTRANS_STORED(tile, chunk, l) = a[source + chunk * PTRANS_LANES + l];
        }
        for (uint chunk = 0; chunk < PTRANS_CHUNKS; chunk++) {
            HF_PIPELINE
            HF_UNROLL(PTRANS_LANES)
            for (uint l = 0; l < PTRANS_LANES; l++)
                sum[chunk][l] = b[at + chunk * PTRANS_LANES + l] +
                                PTRANS_TRANSPOSED(tile, chunk, l);
        }
        for (uint chunk = 0; chunk < PTRANS_CHUNKS; chunk++) {
            HF_PIPELINE
            HF_UNROLL(PTRANS_LANES)
            for (uint l = 0; l < PTRANS_LANES; l++)
                c[at + chunk * PTRANS_LANES + l] = sum[chunk][l];
        }
    }
}

HF_HOST_FILE(ptrans_memory, HF_HOST_KERNEL(ptrans_fill), HF_HOST_KERNEL(ptrans_check),
             HF_HOST_KERNEL(ptrans_add))
