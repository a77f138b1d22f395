/* ptrans_grid.h - which rank holds which block of a matrix, and who sends what to whom. */
#ifndef HF_PTRANS_GRID_H
#define HF_PTRANS_GRID_H

#include "bench.h"

/** Matrices of width x width blocks on P x Q ranks. Blocks (i, j) and (j, i) are each
 *  other's mirror. Rank p Q + q holds the blocks with i = p mod P and j = q mod Q; or, where
 *  `diagonal` is set, two ranks share the blocks off the diagonal, one of each mirrored
 *  pair, so that a rank has one partner on any grid; the blocks on the diagonal then go
 *  where most are missing. */
typedef struct ptrans_grid {
    int p, q;
    bool diagonal;
} ptrans_grid;

/** Blocks of one replication: `first` .. `first + n - 1` of the rank's, the first `own` of
 *  them with their mirrors among themselves, and its messages. */
typedef struct ptrans_part {
    size_t first, n, own;
    size_t message, n_messages;
} ptrans_part;

/** What a rank holds, replication after replication, and sends. In each, blocks are in the
 *  order of the ranks that hold their mirrors, and mirrors in the same order there: so what
 *  goes to a rank lies in one piece in A, and what comes from it in the memory that
 *  receives. Partners follow each other as in a tournament, so none waits for a third. */
typedef struct ptrans_layout {
    size_t n, n_messages;
    uint32_t *places;  /**< [n, 2] row and column of each block, in blocks */
    uint32_t *sources; /**< [n] the block of A, or of what came, that is its mirror */
    hf_message *messages;
    ptrans_part parts[HF_MAX_NUMBERED];
} ptrans_layout;

/** Rank that holds block (row, column) of matrices of width x width blocks. */
int ptrans_owner(const ptrans_grid *grid, size_t width, size_t row, size_t column);

/** The one rank that `rank` exchanges blocks with, maybe itself, where the distribution is
 *  diagonal or the grid has as many rows as columns. */
int ptrans_partner(const ptrans_grid *grid, int rank);

/** No rank and replication holds more blocks. */
size_t ptrans_max_blocks(const ptrans_grid *grid, size_t width, size_t replications);

/** Values of n x n matrices that a rank holds; padding is none. */
size_t ptrans_values(const ptrans_grid *grid, int rank, size_t n, size_t block);

/** The layout of `rank`; blocks have `bytes` bytes. Free it with ptrans_layout_free. */
hf_status ptrans_layout_make(ptrans_layout *out, const ptrans_grid *grid, size_t width,
                             int rank, size_t replications, size_t bytes);
void ptrans_layout_free(ptrans_layout *layout);

#endif
