/* grid.c - ranks as a grid of P x Q. */
#include "grid.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/work.h"

hf_status hf_grid_make(hf_grid *out, const char *text, int ranks) {
    hf_grid grid = {.p = (int)hf_grid_rows(ranks)};
    int end = 0;
    if (strcmp(text, "auto") == 0) {
        grid.q = ranks / grid.p;
    } else if (sscanf(text, "%4dx%4d%n", &grid.p, &grid.q, &end) != 2 || text[end] ||
               grid.p < 1 || grid.q < 1) {
        return hf_fail(HF_EARG, "grid: \"%s\" is neither PxQ nor auto", text);
    }
    if (grid.p * grid.q != ranks)
        return hf_fail(HF_EARG, "grid: %dx%d has %d ranks, the run has %d", grid.p,
                       grid.q, grid.p * grid.q, ranks);
    *out = grid;
    return HF_OK;
}
