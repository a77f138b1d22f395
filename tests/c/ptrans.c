/* ptrans.c - distributions of ptrans: every block has one owner, every mirror arrives. */
#include "bench/grid.h"
#include "bench/ptrans_grid.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BYTES = 12, MAX_RANKS = 25 };

typedef struct run {
    ptrans_grid grid;
    size_t width, replications;
    int ranks;
    ptrans_layout layouts[MAX_RANKS];
} run;

/** Every block of the matrix is in one place, and in no other. */
static void owners_check(const run *t) {
    size_t *seen = calloc(t->width * t->width, sizeof *seen);
    for (int rank = 0; rank < t->ranks; rank++) {
        const ptrans_layout *l = &t->layouts[rank];
        for (size_t i = 0; i < l->n; i++) {
            size_t row = l->places[2 * i], column = l->places[2 * i + 1];
            CHECK(ptrans_owner(&t->grid, t->width, row, column) == rank);
            seen[row * t->width + column]++;
        }
    }
    for (size_t i = 0; i < t->width * t->width; i++)
        CHECK(seen[i] == 1, "block %zu of %zu x %zu: %zu times", i, t->width, t->width,
              seen[i]);
    free(seen);
}

static const hf_message *message_to(const ptrans_layout *l, size_t replication,
                                    int rank) {
    const ptrans_part *part = &l->parts[replication];
    for (size_t i = 0; i < part->n_messages; i++)
        if (l->messages[part->message + i].from == rank)
            return &l->messages[part->message + i];
    return NULL;
}

/** The place of the block that a source names: our own, or the one that a message brings. */
static const uint32_t *source_place(const run *t, int rank, size_t r, size_t i) {
    const ptrans_layout *l = &t->layouts[rank];
    const ptrans_part *part = &l->parts[r];
    size_t source = l->sources[part->first + i];
    if (i < part->own) {
        CHECK(source < part->own);
        return &l->places[2 * (part->first + source)];
    }
    for (size_t m = 0; m < part->n_messages; m++) {
        const hf_message *got = &l->messages[part->message + m];
        size_t first = got->recv_at / BYTES, n = got->recv_bytes / BYTES;
        if (source < first || source >= first + n)
            continue;
        const ptrans_layout *theirs = &t->layouts[got->from];
        const hf_message *sent = message_to(theirs, r, rank);
        CHECK(sent && sent->send_bytes == got->recv_bytes && sent->to == rank);
        if (sent)
            return &theirs->places[2 * (theirs->parts[r].first + sent->send_at / BYTES +
                                        source - first)];
    }
    CHECK(0, "no message brings block %zu of rank %d", i, rank);
    return NULL;
}

static void mirrors_check(const run *t) {
    for (int rank = 0; rank < t->ranks; rank++)
        for (size_t r = 0; r < t->replications; r++) {
            const ptrans_layout *l = &t->layouts[rank];
            const ptrans_part *part = &l->parts[r];
            CHECK(part->n <= ptrans_max_blocks(&t->grid, t->width, t->replications));
            for (size_t i = 0; i < part->n; i++) {
                const uint32_t *place = &l->places[2 * (part->first + i)];
                const uint32_t *mirror = source_place(t, rank, r, i);
                CHECK(mirror && mirror[0] == place[1] && mirror[1] == place[0]);
            }
        }
}

/** Messages as calls that end when both ends have come: all ranks reach their end. */
static void schedule_check(const run *t) {
    size_t at[MAX_RANKS] = {0}, left = 0, met = 1;
    for (int rank = 0; rank < t->ranks; rank++)
        left += t->layouts[rank].n_messages;
    while (left > 0 && met > 0) {
        met = 0;
        for (int a = 0; a < t->ranks; a++) {
            const ptrans_layout *mine = &t->layouts[a];
            if (at[a] == mine->n_messages)
                continue;
            int b = mine->messages[at[a]].to;
            const ptrans_layout *theirs = &t->layouts[b];
            CHECK(b != a, "rank %d sends to itself", a);
            if (at[b] < theirs->n_messages && theirs->messages[at[b]].to == a) {
                at[a]++;
                at[b]++;
                left -= 2;
                met++;
            }
        }
    }
    CHECK(left == 0, "%d ranks, width %zu: %zu messages never meet", t->ranks, t->width,
          left);
}

/** The fullest and the emptiest rank. */
static size_t spread(const run *t) {
    size_t least = SIZE_MAX, most = 0;
    for (int rank = 0; rank < t->ranks; rank++) {
        size_t n = t->layouts[rank].n;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    return most - least;
}

static void run_check(run *t) {
    for (int rank = 0; rank < t->ranks; rank++)
        CHECK(ptrans_layout_make(&t->layouts[rank], &t->grid, t->width, rank,
                                 t->replications, BYTES) == HF_OK);
    owners_check(t);
    mirrors_check(t);
    schedule_check(t);
    if (t->grid.diagonal) {
        CHECK(spread(t) <= 2, "%d ranks, width %zu: spread %zu", t->ranks, t->width,
              spread(t));
        for (int rank = 0; rank < t->ranks; rank++)
            CHECK(t->layouts[rank].n_messages <= t->replications,
                  "rank %d has more than one partner", rank);
    }
    for (int rank = 0; rank < t->ranks; rank++)
        ptrans_layout_free(&t->layouts[rank]);
}

static void layouts_check(void) {
    static const int grids[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {2, 3},
                                   {3, 3}, {1, 7}, {4, 6}, {5, 5}};
    static const size_t widths[] = {1, 2, 3, 4, 5, 8, 12, 17};
    run *t = malloc(sizeof *t);
    for (size_t g = 0; t && g < sizeof grids / sizeof *grids; g++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t r = 1; r <= HF_MAX_NUMBERED; r++)
                for (int diagonal = 0; diagonal < 2; diagonal++) {
                    *t = (run){.grid = {grids[g][0], grids[g][1], diagonal},
                               .width = widths[w],
                               .replications = r,
                               .ranks = grids[g][0] * grids[g][1]};
                    run_check(t);
                }
    free(t);
}

/** Four ranks, 4 x 4 blocks: by hand. */
static void published_check(void) {
    static const int pq[4][4] = {
        {0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}};
    static const int pairs[4][4] = {
        {2, 0, 1, 3}, {1, 3, 2, 0}, {0, 3, 2, 1}, {2, 1, 0, 3}};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            CHECK(ptrans_owner(&(ptrans_grid){2, 2, false}, 4, i, j) == pq[i][j]);
            CHECK(ptrans_owner(&(ptrans_grid){2, 2, true}, 4, i, j) == pairs[i][j]);
        }
}

/** What padding there is belongs to nobody. */
static void values_check(void) {
    static const size_t right[] = {9, 6, 6, 4}; /* 5 x 5 values in blocks of 2 x 2 */
    size_t sum = 0;
    for (int rank = 0; rank < 4; rank++)
        CHECK(ptrans_values(&(ptrans_grid){2, 2, false}, rank, 5, 2) == right[rank]);
    for (int rank = 0; rank < 3; rank++)
        sum += ptrans_values(&(ptrans_grid){1, 3, true}, rank, 5, 2);
    CHECK(sum == 25, "%zu", sum);
}

static void grids_check(void) {
    static const struct {
        const char *text;
        int ranks, p, q; /* p == 0: refused */
    } cases[] = {{"auto", 1, 1, 1},       {"auto", 2, 1, 2},   {"auto", 6, 2, 3},
                 {"auto", 7, 1, 7},       {"auto", 25, 5, 5},  {"3x2", 6, 3, 2},
                 {"2x2", 6, 0, 0},        {"0x6", 6, 0, 0},    {"-2x-3", 6, 0, 0},
                 {"2x3x", 6, 0, 0},       {"square", 4, 0, 0}, {"", 1, 0, 0},
                 {"99999x99999", 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_grid grid = {0};
        hf_status status = hf_grid_make(&grid, cases[i].text, cases[i].ranks);
        CHECK((status == HF_OK) == (cases[i].p > 0), "%s: %s", cases[i].text,
              hf_error());
        CHECK(grid.p == cases[i].p && grid.q == cases[i].q, "%s on %d: %dx%d",
              cases[i].text, cases[i].ranks, grid.p, grid.q);
    }
}

int main(void) {
    layouts_check();
    published_check();
    values_check();
    grids_check();
    return check_failures != 0;
}
