/* randomaccess_check.c - the hosts run the updates of RandomAccess again.
 *
 * Updates commute, and are undone by a second run. The hosts may let as many wait as they
 * like: each thread sorts its share of the sequence into bins, one for each block of the
 * part; when a bin is full, threads apply the bins block by block. So each cache line is
 * fetched once for several updates, and no two threads share a block.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/error.h"
#include "randomaccess.h"

enum {
    LANES = 8, /* generators of a thread, side by side */
    MOST_BLOCKS = 512,
    MOST_THREADS = 16,
    MOST_WAITING = 1 << 25, /* updates in the bins of all threads */
    FEWEST_WAITING = 64     /* in a bin */
};

typedef struct worker {
    randomaccess_check *check;
    uint64_t numbers[LANES];
    uint64_t left; /* numbers of each lane still to come */
    uint64_t wrong;
    uint32_t fill[MOST_BLOCKS]; /* updates in each bin */
    uint64_t *bins;             /* [blocks, room] */
} worker;

struct randomaccess_check {
    const randomaccess_part *part;
    uint64_t stamp;
    size_t n_workers, n_blocks, room;
    unsigned block_shift; /* log2 of the words of a block */
    worker workers[MOST_THREADS];
};

static uint64_t number_next(uint64_t x) {
    return (x << 1) ^ ((x >> 63) * 7);
}

/* powers[i] is x^(2^i) of the field: squaring makes the exponent's bits. The square of a sum
 * is the sum of the squares, so a table of the squares of the 64 single bits squares any. */
uint64_t randomaccess_number(uint64_t k) {
    uint64_t squares[64], x = 1;
    for (int i = 0; i < 64; i++) {
        squares[i] = x; /* of bit i: number 2 i */
        x = number_next(number_next(x));
    }
    x = 1;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t square = 0;
        for (int i = 0; i < 64; i++)
            if (x >> i & 1)
                square ^= squares[i];
        x = k >> bit & 1 ? number_next(square) : square;
    }
    return x;
}

static uint64_t *block_of(const randomaccess_check *c, size_t block) {
    const randomaccess_part *part = c->part;
    uint64_t at = (uint64_t)block << c->block_shift, each = part->count / part->n_tables;
    return part->tables[at / each] + at % each;
}

/* ---- what threads do ---- */

/* Sort numbers into the bins until one of them might overflow. */
static void *numbers_sort(void *context) {
    worker *w = context;
    const randomaccess_check *c = w->check;
    const uint64_t mask = c->part->words - 1, first = c->part->first,
                   count = c->part->count;
    for (size_t block = 0; block < c->n_blocks; block++)
        w->fill[block] = 0;
    while (w->left > 0) {
        uint32_t most = 0;
        for (size_t block = 0; block < c->n_blocks; block++)
            most = w->fill[block] > most ? w->fill[block] : most;
        uint64_t rounds = (c->room - most) / LANES;
        if (rounds == 0)
            break;
        rounds = rounds < w->left ? rounds : w->left;
        w->left -= rounds;
        for (uint64_t round = 0; round < rounds; round++) {
            for (int lane = 0; lane < LANES; lane++) {
                uint64_t x = w->numbers[lane], at = (x & mask) - first;
                if (at < count) {
                    size_t block = at >> c->block_shift;
                    w->bins[block * c->room + w->fill[block]++] = x;
                }
            }
            for (int lane = 0; lane < LANES; lane++)
                w->numbers[lane] = number_next(w->numbers[lane]);
        }
    }
    return NULL;
}

/* Apply the bins of all threads to every n-th block. */
static void *bins_apply(void *context) {
    worker *w = context;
    const randomaccess_check *c = w->check;
    const uint64_t mask = (UINT64_C(1) << c->block_shift) - 1;
    for (size_t block = (size_t)(w - c->workers); block < c->n_blocks;
         block += c->n_workers) {
        uint64_t *words = block_of(c, block);
        for (size_t from = 0; from < c->n_workers; from++) {
            const uint64_t *bin = c->workers[from].bins + block * c->room;
            for (uint32_t i = 0; i < c->workers[from].fill[block]; i++)
                words[bin[i] & mask] ^= bin[i];
        }
    }
    return NULL;
}

/* Count the wrong words of every n-th block. */
static void *words_compare(void *context) {
    worker *w = context;
    const randomaccess_check *c = w->check;
    w->wrong = 0;
    for (size_t block = (size_t)(w - c->workers); block < c->n_blocks;
         block += c->n_workers) {
        const uint64_t *words = block_of(c, block);
        uint64_t first = c->part->first + ((uint64_t)block << c->block_shift), wrong = 0;
        for (uint64_t i = 0; i < UINT64_C(1) << c->block_shift; i++)
            wrong += words[i] != ((first + i) ^ c->stamp);
        w->wrong += wrong;
    }
    return NULL;
}

/* ---- the threads ---- */

static hf_status workers_run(randomaccess_check *c, void *(*work)(void *)) {
    pthread_t threads[MOST_THREADS];
    size_t n = 1;
    while (n < c->n_workers &&
           pthread_create(&threads[n], NULL, work, &c->workers[n]) == 0)
        n++;
    work(&c->workers[0]);
    for (size_t i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    return n == c->n_workers ? HF_OK
                             : hf_fail(HF_ENOMEM, "no thread for the verification");
}

hf_status randomaccess_check_run(randomaccess_check *c, uint64_t *wrong,
                                 const randomaccess_part *part, uint64_t stamp) {
    c->part = part;
    c->stamp = stamp;
    c->n_blocks = part->count < MOST_BLOCKS ? (size_t)part->count : MOST_BLOCKS;
    c->block_shift = 0;
    while (part->count >> c->block_shift > c->n_blocks)
        c->block_shift++;
    uint64_t each = 4 * part->words / (c->n_workers * LANES), at = 1;
    for (size_t i = 0; i < c->n_workers; i++) {
        worker *w = &c->workers[i];
        w->left = each;
        for (int lane = 0; lane < LANES; lane++, at += each)
            w->numbers[lane] = randomaccess_number(at);
    }
    for (bool more = true; more;) {
        HF_TRY(workers_run(c, numbers_sort));
        HF_TRY(workers_run(c, bins_apply));
        more = false;
        for (size_t i = 0; i < c->n_workers; i++)
            more = more || c->workers[i].left > 0;
    }
    HF_TRY(workers_run(c, words_compare));
    *wrong = 0;
    for (size_t i = 0; i < c->n_workers; i++)
        *wrong += c->workers[i].wrong;
    return HF_OK;
}

/* Half as many updates wait as the part has words: four for each cache line. */
hf_status randomaccess_check_new(randomaccess_check **out, uint64_t count) {
    randomaccess_check *c = calloc(1, sizeof *c);
    if (!c)
        return hf_fail(HF_ENOMEM, "no memory for the verification");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    c->n_workers = 1;
    while (c->n_workers < MOST_THREADS && 2 * (long)c->n_workers <= cores)
        c->n_workers *= 2;
    size_t waiting = count / 2 < MOST_WAITING ? (size_t)count / 2 : MOST_WAITING;
    c->room = waiting / (c->n_workers * MOST_BLOCKS);
    c->room = c->room < FEWEST_WAITING ? FEWEST_WAITING : c->room;
    for (size_t i = 0; i < c->n_workers; i++) {
        c->workers[i].check = c;
        c->workers[i].bins = malloc(MOST_BLOCKS * c->room * sizeof(uint64_t));
        if (!c->workers[i].bins) {
            randomaccess_check_free(c);
            return hf_fail(HF_ENOMEM, "no memory to verify %zu words", (size_t)count);
        }
    }
    *out = c;
    return HF_OK;
}

void randomaccess_check_free(randomaccess_check *c) {
    for (size_t i = 0; c && i < c->n_workers; i++)
        free(c->workers[i].bins);
    free(c);
}

void randomaccess_fill(const randomaccess_part *part, uint64_t stamp) {
    uint64_t each = part->count / part->n_tables;
    for (size_t table = 0; table < part->n_tables; table++)
        for (uint64_t i = 0; i < each; i++)
            part->tables[table][i] = (part->first + table * each + i) ^ stamp;
}
