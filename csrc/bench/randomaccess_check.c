/* randomaccess_check.c - the hosts run the updates of RandomAccess again.
 *
 * Updates commute, and are undone by a second run. The hosts may let as many wait as they
 * like: each thread sorts its share of the sequence into bins, one for each block of the
 * part, and when there is no more room, threads apply the bins block by block. So a cache
 * line is fetched once for several updates, and no two threads share a block. A bin is a
 * chain of pages, because bins are not equally full: the sequence starts with few bits set.
 */
#include <stdlib.h>

#include "core/error.h"
#include "core/parallel.h"
#include "core/work.h"
#include "randomaccess.h"
#include "randomaccess_sequence.h"

enum {
    LINE = 8,       /* words of a cache line */
    GENERATORS = 8, /* of a thread, side by side */
    MAX_BLOCKS = 512,
    PAGE = 512, /* updates */
    FEWEST_PAGES = 4 * MAX_BLOCKS,
    MAX_PAGES = (1 << 27) / PAGE /* of all threads */
};

typedef struct worker {
    randomaccess_check *check;
    uint64_t numbers[GENERATORS];
    uint64_t left;           /* numbers of each generator still to come */
    uint64_t wrong;          /* words */
    uint64_t *pages;         /* [n_pages, PAGE] updates */
    size_t *before;          /* [n_pages] the page that was filled before */
    size_t end[MAX_BLOCKS];  /* of each bin: where the next update goes in `pages` */
    size_t full[MAX_BLOCKS]; /* of each bin: its full pages */
    size_t used;             /* pages */
} worker;

struct randomaccess_check {
    const randomaccess_part *part;
    uint64_t stamp;
    size_t n_workers, n_blocks, n_pages;
    unsigned block_shift; /* log2 of the words of a block */
    worker workers[HF_MAX_CORES];
};

/* The bits of k one by one: the number doubles its place when it is squared, and moves on by
 * one. In this field the square of a sum is the sum of the squares, of which bit i's is
 * number 2 i. */
uint64_t randomaccess_number(uint64_t k) {
    uint64_t squares[64], x = 1;
    for (int i = 0; i < 64; i++) {
        squares[i] = x;
        x = randomaccess_next(randomaccess_next(x));
    }
    x = 1;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t square = 0;
        for (int i = 0; i < 64; i++)
            if (x >> i & 1)
                square ^= squares[i];
        x = k >> bit & 1 ? randomaccess_next(square) : square;
    }
    return x;
}

static uint64_t *block_of(const randomaccess_check *c, size_t block) {
    const randomaccess_part *part = c->part;
    uint64_t at = (uint64_t)block << c->block_shift,
             each = part->count / part->n_tables;
    return part->tables[at / each] + at % each;
}

/* ---- what threads do ---- */

/* Sort `rounds` numbers of each generator into the bins. An update that is not for this part
 * goes to any bin and is overwritten: that takes no branch. */
static void rounds_sort(worker *w, uint64_t rounds) {
    const randomaccess_check *c = w->check;
    const uint64_t mask = c->part->words - 1, first = c->part->first,
                   count = c->part->count;
    const unsigned shift = c->block_shift;
    const size_t bins = c->n_blocks - 1;
    for (uint64_t round = 0; round < rounds; round++) {
        for (int generator = 0; generator < GENERATORS; generator++) {
            uint64_t x = w->numbers[generator], at = (x & mask) - first;
            size_t bin = (at >> shift) & bins, mine = at < count, end = w->end[bin];
            w->pages[end] = x;
            end += mine;
            if (mine && end % PAGE == 0) {
                w->before[w->used] = end / PAGE - 1;
                w->full[bin]++;
                end = PAGE * w->used++;
            }
            w->end[bin] = end;
        }
        for (int generator = 0; generator < GENERATORS; generator++)
            w->numbers[generator] = randomaccess_next(w->numbers[generator]);
    }
}

/* Sort numbers into the bins while pages are left, also if each bin begins a new one. */
static void numbers_sort(void *context, size_t me) {
    randomaccess_check *c = context;
    worker *w = &c->workers[me];
    for (size_t bin = 0; bin < c->n_blocks; bin++) {
        w->end[bin] = PAGE * bin;
        w->full[bin] = 0;
    }
    w->used = c->n_blocks;
    while (w->left > 0 && c->n_pages > w->used + c->n_blocks) {
        uint64_t rounds = (c->n_pages - w->used - c->n_blocks) * (PAGE / GENERATORS);
        rounds = rounds < w->left ? rounds : w->left;
        w->left -= rounds;
        rounds_sort(w, rounds);
    }
}

static void bin_apply(uint64_t *words, uint64_t mask, const worker *w, size_t bin) {
    size_t page = w->end[bin] / PAGE, n = w->end[bin] % PAGE;
    for (size_t left = w->full[bin];; left--) {
        const uint64_t *updates = w->pages + page * PAGE;
        for (size_t i = 0; i < n; i++)
            words[updates[i] & mask] ^= updates[i];
        if (left == 0)
            return;
        page = w->before[page];
        n = PAGE;
    }
}

/* Apply the bins of all threads to every n-th block. */
static void bins_apply(void *context, size_t me) {
    const randomaccess_check *c = context;
    const uint64_t mask = (UINT64_C(1) << c->block_shift) - 1;
    for (size_t block = me; block < c->n_blocks; block += c->n_workers) {
        uint64_t *words = block_of(c, block);
        for (size_t i = 0; i <= mask; i += LINE)
            __builtin_prefetch(words + i, 1);
        for (size_t from = 0; from < c->n_workers; from++)
            bin_apply(words, mask, &c->workers[from], block);
    }
}

/* Count the wrong words of every n-th block. */
static void words_compare(void *context, size_t me) {
    randomaccess_check *c = context;
    worker *w = &c->workers[me];
    w->wrong = 0;
    for (size_t block = me; block < c->n_blocks; block += c->n_workers) {
        const uint64_t *words = block_of(c, block);
        uint64_t first = c->part->first + ((uint64_t)block << c->block_shift),
                 wrong = 0;
        for (uint64_t i = 0; i < UINT64_C(1) << c->block_shift; i++)
            wrong += words[i] != ((first + i) ^ c->stamp);
        w->wrong += wrong;
    }
}

uint64_t randomaccess_check_run(randomaccess_check *c, const randomaccess_part *part,
                                uint64_t stamp) {
    c->part = part;
    c->stamp = stamp;
    c->n_blocks = part->count < MAX_BLOCKS ? (size_t)part->count : MAX_BLOCKS;
    c->block_shift = 0;
    while (part->count >> c->block_shift > c->n_blocks)
        c->block_shift++;
    uint64_t each = HF_RANDOMACCESS_UPDATES * part->words / (c->n_workers * GENERATORS),
             at = 1;
    for (size_t i = 0; i < c->n_workers; i++) {
        worker *w = &c->workers[i];
        w->left = each;
        for (int generator = 0; generator < GENERATORS; generator++, at += each)
            w->numbers[generator] = randomaccess_number(at);
    }
    for (bool more = true; more;) {
        hf_parallel(c->n_workers, numbers_sort, c);
        hf_parallel(c->n_workers, bins_apply, c);
        more = false;
        for (size_t i = 0; i < c->n_workers; i++)
            more = more || c->workers[i].left > 0;
    }
    hf_parallel(c->n_workers, words_compare, c);
    uint64_t wrong = 0;
    for (size_t i = 0; i < c->n_workers; i++)
        wrong += c->workers[i].wrong;
    return wrong;
}

/* Twice as many updates wait as the part has words: 16 for each cache line, if that takes no
 * more than 1 GiB. */
hf_status randomaccess_check_new(randomaccess_check **out, uint64_t count) {
    randomaccess_check *c = calloc(1, sizeof *c);
    if (!c)
        return hf_fail(HF_ENOMEM, "no memory for the verification");
    c->n_workers = 1;
    while (2 * c->n_workers <= hf_cores())
        c->n_workers *= 2;
    uint64_t pages = 2 * count / PAGE < MAX_PAGES ? 2 * count / PAGE : MAX_PAGES;
    c->n_pages = (size_t)pages / c->n_workers;
    c->n_pages = c->n_pages < FEWEST_PAGES ? FEWEST_PAGES : c->n_pages;
    for (size_t i = 0; i < c->n_workers; i++) {
        worker *w = &c->workers[i];
        w->check = c;
        w->pages = malloc(c->n_pages * PAGE * sizeof *w->pages);
        w->before = malloc(c->n_pages * sizeof *w->before);
        if (!w->pages || !w->before) {
            randomaccess_check_free(c);
            return hf_fail(HF_ENOMEM, "no memory to verify %zu words", (size_t)count);
        }
    }
    *out = c;
    return HF_OK;
}

void randomaccess_check_free(randomaccess_check *c) {
    for (size_t i = 0; c && i < c->n_workers; i++) {
        free(c->workers[i].pages);
        free(c->workers[i].before);
    }
    free(c);
}

void randomaccess_fill(const randomaccess_part *part, uint64_t stamp) {
    uint64_t each = part->count / part->n_tables;
    for (size_t table = 0; table < part->n_tables; table++)
        for (uint64_t i = 0; i < each; i++)
            part->tables[table][i] = (part->first + table * each + i) ^ stamp;
}
