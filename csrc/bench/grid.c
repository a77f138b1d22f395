/* grid.c - ranks as a grid of P x Q. */
#include "grid.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/work.h"

/* The number of one to four digits that `text` begins with, else 0; *end is behind it. */
static int side_read(const char *text, const char **end) {
    size_t digits = strspn(text, "0123456789");
    *end = text + digits;
    return digits > 0 && digits <= 4 ? (int)strtol(text, NULL, 10) : 0;
}

hf_status hf_grid_make(hf_grid *out, const char *text, int ranks) {
    hf_grid grid = {.p = (int)hf_grid_rows(ranks)};
    if (strcmp(text, "auto") == 0) {
        grid.q = ranks / grid.p;
    } else {
        const char *at;
        grid.p = side_read(text, &at);
        grid.q = *at == 'x' ? side_read(at + 1, &at) : 0;
        if (grid.p < 1 || grid.q < 1 || *at)
            return hf_fail(HF_EARG, "grid: \"%s\" is neither PxQ nor auto", text);
    }
    if (grid.p * grid.q != ranks)
        return hf_fail(HF_EARG, "grid: %dx%d has %d ranks, the run has %d", grid.p,
                       grid.q, grid.p * grid.q, ranks);
    *out = grid;
    return HF_OK;
}

hf_status hf_grid_check(const hf_args *args, const char *exchange, int ranks) {
    hf_grid grid;
    (void)exchange;
    return hf_grid_make(&grid, hf_args_word(args, "grid"), ranks);
}

hf_status hf_grid_check_square(const char *text, int ranks, const char *exchange,
                               const char *more) {
    hf_grid grid = {0};
    HF_TRY(hf_grid_make(&grid, text, ranks));
    if (grid.p == grid.q)
        return HF_OK;
    long side = 1;
    while (side + 1 <= ranks / (side + 1))
        side++;
    return hf_fail(strcmp(text, "auto") == 0 ? HF_ENOTSUP : HF_EARG,
                   "grid: exchange \"%s\" needs as many rows as columns, the grid is "
                   "%dx%d; %ld or %ld ranks can be a square%s",
                   exchange, grid.p, grid.q, side * side, (side + 1) * (side + 1),
                   more);
}

const char *hf_grid_note(const hf_grid *grid, const hf_args *args) {
    size_t n, block = (size_t)hf_args_number(args, "block_size");
    size_t side = (size_t)(grid->p > grid->q ? grid->p : grid->q);
    const double *sizes = hf_args_list(args, "sizes", &n);
    for (size_t i = 0; i < n; i++)
        if (((size_t)sizes[i] + block - 1) / block < side)
            return "a size has fewer blocks along a side than the grid has ranks: some "
                   "have no "
                   "work, and exchange nothing";
    return NULL;
}
