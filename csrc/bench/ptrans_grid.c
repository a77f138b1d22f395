/* ptrans_grid.c - distributions of blocks over ranks, and the messages between mirrors. */
#include "ptrans_grid.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* ---- who holds a block ---- */

/* Ranks come in couples; the last of an odd number is one by itself. */
static int couple_other(int ranks, int rank) {
    return (rank ^ 1) < ranks ? rank ^ 1 : rank;
}

/* Mirrored pairs are dealt out in turn, the upper block to one rank of a couple, the lower
 * to the other. */
static int diagonal_owner(int ranks, size_t width, size_t row, size_t column) {
    size_t n = (size_t)ranks;
    if (row == column) { /* couples that were dealt one round less get two at first */
        size_t dealt = (width * (width - 1) / 2 % n + 1) / 2 * 2, idle = n - dealt;
        return (int)(row < 2 * idle ? dealt + row % idle : (row - 2 * idle) % n);
    }
    size_t low = row < column ? row : column, high = row < column ? column : row;
    int upper = (int)((high * (high - 1) / 2 + low) % n);
    return row < column ? upper : couple_other(ranks, upper);
}

int ptrans_owner(const ptrans_grid *grid, size_t width, size_t row, size_t column) {
    if (grid->diagonal)
        return diagonal_owner(grid->p * grid->q, width, row, column);
    size_t p = (size_t)grid->p, q = (size_t)grid->q;
    return (int)(row % p * q + column % q);
}

int ptrans_partner(const ptrans_grid *grid, int rank) {
    return grid->diagonal ? couple_other(grid->p * grid->q, rank)
                          : rank % grid->q * grid->q + rank / grid->q;
}

static size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

size_t ptrans_max_blocks(const ptrans_grid *grid, size_t width, size_t replications) {
    size_t p = (size_t)grid->p, q = (size_t)grid->q;
    size_t rank = grid->diagonal ? width * width / (p * q) + 2
                                 : divide_up(width, p) * divide_up(width, q);
    /* A partner's blocks are dealt out one by one, our own in mirrored pairs. */
    return replications == 1 ? rank : divide_up(rank, replications) + p * q + 2;
}

/* Rows of block row `i`, of which there are `width`. */
static size_t rows_of(size_t i, size_t width, size_t n, size_t block) {
    return i + 1 < width ? block : n - i * block;
}

size_t ptrans_values(const ptrans_grid *grid, int rank, size_t n, size_t block) {
    size_t width = divide_up(n, block), values = 0;
    for (size_t row = 0; row < width; row++)
        for (size_t column = 0; column < width; column++)
            if (ptrans_owner(grid, width, row, column) == rank)
                values +=
                    rows_of(row, width, n, block) * rows_of(column, width, n, block);
    return values;
}

/* ---- the order of blocks ---- */

/* Rounds: our own mirrored pairs, our own on the diagonal, and one for each partner. */
enum { PAIRS, DIAGONAL, PARTNERS };

typedef struct block {
    size_t replication, round, pair; /* sorted by these, then by row */
    size_t row, column;
    int partner;
} block;

static int compare(size_t a, size_t b) {
    return (a > b) - (a < b);
}

static int block_compare(const void *left, const void *right) {
    const block *a = left, *b = right;
    int order = compare(a->replication, b->replication);
    order = order ? order : compare(a->round, b->round);
    order = order ? order : compare(a->pair, b->pair);
    return order ? order : compare(a->row, b->row);
}

/* Ranks a and b meet in the round that a + b mod ranks tells. */
static block block_make(const ptrans_grid *grid, size_t width, int rank, size_t row,
                        size_t column) {
    /* of the mirror: NOLINTNEXTLINE(readability-suspicious-call-argument) */
    int partner = ptrans_owner(grid, width, column, row), ranks = grid->p * grid->q;
    block made = {.row = row, .column = column, .partner = partner};
    made.round = partner != rank ? PARTNERS + (size_t)((rank + partner) % ranks)
                 : row != column ? PAIRS
                                 : DIAGONAL;
    made.pair = row < column ? row * width + column : column * width + row;
    return made;
}

static size_t blocks_list(block *list, const ptrans_grid *grid, size_t width,
                          int rank) {
    size_t n = 0;
    for (size_t row = 0; row < width; row++)
        for (size_t column = 0; column < width; column++)
            if (ptrans_owner(grid, width, row, column) == rank) {
                if (list)
                    list[n] = block_make(grid, width, rank, row, column);
                n++;
            }
    return n;
}

/* Deal out the pairs of each partner: both ends come to the same replication. */
static void blocks_deal(block *list, size_t n, size_t replications) {
    qsort(list, n, sizeof *list, block_compare);
    for (size_t i = 0, next = 0; i < n; i++) {
        if (i == 0 || list[i].round != list[i - 1].round)
            next = list[i].round;
        else if (list[i].pair != list[i - 1].pair)
            next++;
        list[i].replication = next % replications;
    }
}

/* ---- the layout ---- */

static void part_fill(ptrans_layout *layout, ptrans_part *part, const block *list,
                      size_t bytes) {
    for (size_t i = 0; i < part->n; i++) {
        const block *b = &list[i];
        uint32_t *place = &layout->places[2 * (part->first + i)];
        size_t source = i - part->own;
        if (b->round < PARTNERS) {
            part->own++;
            source = b->round == DIAGONAL ? i : b->row < b->column ? i + 1 : i - 1;
        } else if (i == 0 || b[-1].round != b->round) {
            layout->messages[part->message + part->n_messages++] =
                (hf_message){.to = b->partner,
                             .from = b->partner,
                             .send_at = i * bytes,
                             .recv_at = source * bytes};
        }
        if (b->round >= PARTNERS) {
            hf_message *last = &layout->messages[part->message + part->n_messages - 1];
            last->send_bytes = last->recv_bytes += bytes;
        }
        place[0] = (uint32_t)b->row;
        place[1] = (uint32_t)b->column;
        layout->sources[part->first + i] = (uint32_t)source;
    }
}

static void layout_fill(ptrans_layout *layout, const block *list, size_t replications,
                        size_t bytes) {
    size_t first = 0;
    for (size_t r = 0; r < replications; r++) {
        ptrans_part *part = &layout->parts[r];
        part->first = first;
        part->message = layout->n_messages;
        while (first < layout->n && list[first].replication == r)
            first++;
        part->n = first - part->first;
        part_fill(layout, part, list + part->first, bytes);
        layout->n_messages += part->n_messages;
    }
}

hf_status ptrans_layout_make(ptrans_layout *out, const ptrans_grid *grid, size_t width,
                             int rank, size_t replications, size_t bytes) {
    size_t n = blocks_list(NULL, grid, width, rank), room = n ? n : 1;
    ptrans_layout layout = {.n = n};
    block *list = malloc(room * sizeof *list);
    layout.places = malloc(room * 2 * sizeof *layout.places);
    layout.sources = malloc(room * sizeof *layout.sources);
    layout.messages = malloc(room * sizeof *layout.messages);
    if (!list || !layout.places || !layout.sources || !layout.messages) {
        free(list);
        ptrans_layout_free(&layout);
        return hf_fail(HF_ENOMEM, "no memory for the places of %zu blocks", n);
    }
    blocks_list(list, grid, width, rank);
    blocks_deal(list, n, replications);
    qsort(list, n, sizeof *list, block_compare);
    layout_fill(&layout, list, replications, bytes);
    free(list);
    *out = layout;
    return HF_OK;
}

void ptrans_layout_free(ptrans_layout *layout) {
    free(layout->places);
    free(layout->sources);
    free(layout->messages);
}
