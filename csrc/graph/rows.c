/* rows.c - rows of neighbours: filled by all edges, then sorted. */
#include "rows.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/pages.h"
#include "core/parallel.h"

/* ---- filled ---- */

enum { AHEAD = 16 }; /* edges whose cursors are fetched before their turn */

/* An entry of a row. */
typedef struct entry {
    uint32_t row, other, weight;
} entry;

/* `rows` are cursors meanwhile. Places come first, entries then: after a store that misses
 * the caches, an atomic add waits for it. A graph that changes could overrun its rows, but
 * not the memory; the pass then fails by its sums. */
static void entries_put(const graph_rows *r, const entry *entries, size_t n) {
    uint64_t places[2 * EDGES_AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&r->rows[entries[i + AHEAD].row], 1);
        places[i] = __atomic_fetch_add(&r->rows[entries[i].row], 1, __ATOMIC_RELAXED);
    }
    for (size_t i = 0; i < n; i++) {
        if (places[i] >= r->capacity)
            continue;
        r->from[places[i]] = r->numbers[entries[i].other];
        if (r->weight)
            r->weight[places[i]] = entries[i].weight;
    }
}

static void rows_take(void *context, const edge *edges, size_t n) {
    const graph_rows *r = context;
    bool simple = r->graph->info.simple;
    entry entries[2 * EDGES_AT_ONCE];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        edge e = edges[i];
        if (e.from == e.to && simple)
            continue;
        uint32_t to = r->numbers[e.to] - r->first, from = r->numbers[e.from] - r->first;
        entries[used] = (entry){to, e.from, e.weight};
        used += !r->backward && to < r->own;
        entries[used] = (entry){from, e.to, e.weight};
        used += (r->backward || (r->both && e.from != e.to)) && from < r->own;
    }
    entries_put(r, entries, used);
}

/* ---- sorted ---- */

enum { ROWS_AT_ONCE = 4096, FEW = 24, DIGIT = 256 };

typedef struct sorting {
    const graph_rows *rows;
    const uint32_t *in;
    const uint64_t *begins; /**< of every ROWS_AT_ONCE-th row */
    _Atomic uint32_t next;
    _Atomic bool failed;
} sorting;

static void few_sort(uint64_t *keys, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        size_t k = i;
        for (; k > 0 && keys[k - 1] > key; k--)
            keys[k] = keys[k - 1];
        keys[k] = key;
    }
}

/* By digits from the lowest up; those that are the same in all keys are passed over. The
 * result is in `keys` or in `other`. */
static uint64_t *keys_sort(uint64_t *keys, uint64_t *other, size_t n) {
    if (n <= FEW) {
        few_sort(keys, n);
        return keys;
    }
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= keys[i] ^ keys[0];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift) % DIGIT == 0)
            continue;
        size_t counts[DIGIT + 1] = {0};
        for (size_t i = 0; i < n; i++)
            counts[(keys[i] >> shift) % DIGIT + 1]++;
        for (size_t d = 0; d < DIGIT; d++)
            counts[d + 1] += counts[d];
        for (size_t i = 0; i < n; i++)
            other[counts[(keys[i] >> shift) % DIGIT]++] = keys[i];
        uint64_t *swap = keys;
        keys = other;
        other = swap;
    }
    return keys;
}

/* Sort a row of n entries at `begin`; returns how many it keeps. */
static size_t row_sort(const graph_rows *r, uint64_t begin, size_t n, uint64_t *keys,
                       uint64_t *other) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        keys[i] =
            (uint64_t)r->from[begin + i] << 32 | (r->weight ? r->weight[begin + i] : 0);
    const uint64_t *sorted = keys_sort(keys, other, n);
    bool simple = r->graph->info.simple;
    for (size_t i = 0; i < n; i++) {
        if (simple && i > 0 && sorted[i] >> 32 == sorted[i - 1] >> 32)
            continue;
        r->from[begin + kept] = (uint32_t)(sorted[i] >> 32);
        if (r->weight)
            r->weight[begin + kept] = (uint32_t)sorted[i];
        kept++;
    }
    return kept;
}

static void rows_sort(void *context, size_t thread) {
    (void)thread;
    sorting *s = context;
    const graph_rows *r = s->rows;
    uint64_t *keys = NULL;
    size_t room = 0;
    for (uint32_t chunk;
         (uint64_t)(chunk = atomic_fetch_add(&s->next, 1)) * ROWS_AT_ONCE < r->own;) {
        uint32_t row = chunk * ROWS_AT_ONCE;
        uint64_t last = (uint64_t)row + ROWS_AT_ONCE;
        uint64_t begin = s->begins[chunk];
        for (; row < last && row < r->own; row++) {
            size_t n = (size_t)(r->rows[row] - begin);
            if (n > room) { /* of each thread its own longest row: hubs are few */
                free(keys);
                room = n + n / 4;
                keys = malloc(2 * room * sizeof *keys);
            }
            if (n > 0 && !keys) {
                atomic_store(&s->failed, true);
                return;
            }
            r->rows[row] = n ? row_sort(r, begin, n, keys, keys + room) : 0;
            begin += s->in[row];
        }
    }
    free(keys);
}

/* Put rows close together; `rows` tells their lengths before and their begins after. */
static void rows_close(graph_rows *r, const uint32_t *in) {
    uint64_t at = 0, begin = 0;
    for (uint32_t row = 0; row < r->own; row++) {
        size_t n = (size_t)r->rows[row];
        if (at != begin) {
            memmove(r->from + at, r->from + begin, n * sizeof *r->from);
            if (r->weight)
                memmove(r->weight + at, r->weight + begin, n * sizeof *r->weight);
        }
        begin += in[row];
        r->rows[row] = at;
        at += n;
    }
    r->rows[r->own] = at;
}

hf_status rows_make(graph_rows *r, const uint32_t *in) {
    uint32_t chunks = r->own / ROWS_AT_ONCE + 1;
    uint64_t *begins = malloc(chunks * sizeof *begins), at = 0;
    r->rows = malloc((r->own + (size_t)1) * sizeof *r->rows);
    if (!begins || !r->rows) {
        free(begins);
        return hf_fail(HF_ENOMEM, "no memory for rows of %u vertices", r->own);
    }
    for (uint32_t row = 0; row < r->own; row++) {
        if (row % ROWS_AT_ONCE == 0)
            begins[row / ROWS_AT_ONCE] = at;
        r->rows[row] = at;
        at += in[row];
    }
    r->capacity = at;
    r->from = hf_pages_new((size_t)(at + 1) * sizeof *r->from);
    r->weight = r->weights ? hf_pages_new((size_t)(at + 1) * sizeof *r->weight) : NULL;
    hf_status status = HF_OK;
    if (!r->from || (r->weights && !r->weight))
        status = hf_fail(HF_ENOMEM, "no memory for %llu edges", (unsigned long long)at);
    if (status == HF_OK)
        status = edges_again(r->graph, r->weights, &(edge_taker){rows_take, r});
    if (status == HF_OK) {
        sorting s = {.rows = r, .in = in, .begins = begins};
        hf_parallel(hf_cores(), rows_sort, &s);
        if (s.failed)
            status = hf_fail(HF_ENOMEM, "no memory to sort %llu edges",
                             (unsigned long long)at);
        else
            rows_close(r, in);
    }
    free(begins);
    return status;
}

void rows_free(graph_rows *r) {
    free(r->rows);
    free(r->from);
    free(r->weight);
}
