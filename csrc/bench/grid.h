/* grid.h - ranks as a grid of P x Q: rank p Q + q stands in row p and column q. */
#ifndef HF_GRID_H
#define HF_GRID_H

#include "core/param.h"

typedef struct hf_grid {
    int p, q;
} hf_grid;

/** Grid "PxQ" of `ranks` ranks, or "auto": as square as can be, P <= Q. */
hf_status hf_grid_make(hf_grid *out, const char *text, int ranks);
/** Refuse a parameter `grid` that has not as many ranks. */
hf_status hf_grid_check(const hf_args *args, const char *exchange, int ranks);
/** Refuse a grid that has not as many rows as columns: `exchange` needs them. `more` ends the
 *  message. */
hf_status hf_grid_check_square(const char *text, int ranks, const char *exchange,
                               const char *more);
/** A remark where a matrix of `sizes` has fewer blocks of `block_size` along a side than the grid
 *  has ranks; else NULL. */
const char *hf_grid_note(const hf_grid *grid, const hf_args *args);

#endif
