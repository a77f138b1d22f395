/* graph_yardstick.c - searches, ranks, components and distances in plain C with OpenMP.
 *
 * graph_yardstick GRAPH SEED ALGORITHM REPETITIONS SOURCE... prints a line for each source: the
 * best seconds, and what shows that the result is right: vertices reached, the sum of ranks, or
 * components.
 * What is of the whole graph ignores the source. GRAPH as for `hpccfpga run graph`, undirected.
 * ALGORITHM, all after their published descriptions:
 *   bfs       direction-optimising search (Beamer, Asanovic, Patterson)
 *   pagerank  20 iterations of Jacobi, pulled along incoming edges
 *   wcc       Afforest: trees of the first edges, then all but the largest of them (Sutton,
 *             Ben-Nun, Barak)
 *   sssp      delta-stepping with buckets of each thread (Meyer, Sanders); D by DELTA=D, else 16
 */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/host_memory.h"
#include "graph.h"

#define NOBODY UINT32_MAX

enum { ITERATIONS = 20, ROUNDS = 2, SAMPLES = 1024 };

typedef struct search {
    const hf_part *g;
    uint32_t n, *values, *front, *next;
    uint64_t *bits, *more;
    float *ranks, *shares;
    uint32_t delta;
} search;

static uint64_t degree_of(const hf_part *g, uint32_t v) {
    return g->rows[v + 1] - g->rows[v];
}

/* ---- breadth-first search: parents ---- */

/* What a thread finds goes to the common list in pieces. */
enum { HELD = 1024 };

static void list_flush(uint32_t *list, size_t *n, const uint32_t *held, size_t count) {
    size_t at;
#pragma omp atomic capture
    {
        at = *n;
        *n += count;
    }
    memcpy(list + at, held, count * sizeof *held);
}

/* From the vertices of the front along their edges; the number found, their edges in *edges. */
static size_t push_step(search *s, size_t n_front, uint64_t *edges) {
    const hf_part *g = s->g;
    size_t found = 0;
    uint64_t out = 0;
#pragma omp parallel reduction(+ : out)
    {
        uint32_t held[HELD];
        size_t count = 0;
#pragma omp for schedule(dynamic, 64) nowait
        for (size_t i = 0; i < n_front; i++) {
            uint32_t u = s->front[i];
            for (uint64_t e = g->rows[u]; e < g->rows[u + 1]; e++) {
                uint32_t v = g->from[e], nobody = NOBODY;
                if (s->values[v] != NOBODY ||
                    !__atomic_compare_exchange_n(&s->values[v], &nobody, u, false,
                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    continue;
                out += degree_of(g, v);
                held[count++] = v;
                if (count == HELD) {
                    list_flush(s->next, &found, held, count);
                    count = 0;
                }
            }
        }
        list_flush(s->next, &found, held, count);
    }
    *edges = out;
    uint32_t *old = s->front;
    s->front = s->next;
    s->next = old;
    return found;
}

/* Vertices without a parent look for one in the front. */
static size_t pull_step(search *s) {
    const hf_part *g = s->g;
    size_t found = 0, words = ((size_t)s->n + 63) / 64;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : found)
    for (size_t word = 0; word < words; word++) {
        uint64_t bits = 0;
        uint32_t last = word * 64 + 64 < s->n ? (uint32_t)(word * 64 + 64) : s->n;
        for (uint32_t v = (uint32_t)(word * 64); v < last; v++) {
            if (s->values[v] != NOBODY)
                continue;
            for (uint64_t e = g->rows[v]; e < g->rows[v + 1]; e++) {
                uint32_t u = g->from[e];
                if (s->bits[u / 64] >> u % 64 & 1) {
                    s->values[v] = u;
                    bits |= 1ull << v % 64;
                    found++;
                    break;
                }
            }
        }
        s->more[word] = bits;
    }
    uint64_t *old = s->bits;
    s->bits = s->more;
    s->more = old;
    return found;
}

static void bits_of(search *s, size_t n_front) {
    memset(s->bits, 0, ((size_t)s->n + 63) / 64 * sizeof *s->bits);
#pragma omp parallel for
    for (size_t i = 0; i < n_front; i++) {
        uint32_t v = s->front[i];
        __atomic_fetch_or(&s->bits[v / 64], 1ull << v % 64, __ATOMIC_RELAXED);
    }
}

static size_t list_of(search *s) {
    size_t n = 0, words = ((size_t)s->n + 63) / 64;
#pragma omp parallel
    {
        uint32_t held[HELD + 64];
        size_t count = 0;
#pragma omp for nowait
        for (size_t word = 0; word < words; word++) {
            for (uint64_t bits = s->bits[word]; bits; bits &= bits - 1)
                held[count++] = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
            if (count >= HELD) {
                list_flush(s->front, &n, held, count);
                count = 0;
            }
        }
        list_flush(s->front, &n, held, count);
    }
    return n;
}

static void bfs(search *s, uint32_t source) {
    enum { ALPHA = 15, BETA = 18 }; /* as published */
#pragma omp parallel for
    for (uint32_t v = 0; v < s->n; v++)
        s->values[v] = NOBODY;
    s->values[source] = source;
    s->front[0] = source;
    size_t n_front = 1;
    uint64_t left = s->g->in_edges, edges = degree_of(s->g, source);
    while (n_front > 0) {
        if (edges > left / ALPHA) {
            size_t before;
            bits_of(s, n_front);
            do {
                before = n_front;
                n_front = pull_step(s);
            } while (n_front >= before || n_front > s->n / BETA);
            n_front = list_of(s);
            edges = 1;
        } else {
            left -= edges;
            n_front = push_step(s, n_front, &edges);
        }
    }
}

/* ---- PageRank ---- */

static void pagerank(search *s, uint32_t source) {
    const hf_part *g = s->g;
    const float base = 0.15f / (float)s->n;
    (void)source;
#pragma omp parallel for
    for (uint32_t v = 0; v < s->n; v++)
        s->ranks[v] = 1.0f / (float)s->n;
    for (int i = 0; i < ITERATIONS; i++) {
#pragma omp parallel for
        for (uint32_t v = 0; v < s->n; v++)
            s->shares[v] = s->ranks[v] / (float)degree_of(g, v);
#pragma omp parallel for schedule(dynamic, 16384)
        for (uint32_t v = 0; v < s->n; v++) {
            float sum = 0;
            for (uint64_t e = g->rows[v]; e < g->rows[v + 1]; e++)
                sum += s->shares[g->from[e]];
            s->ranks[v] = base + 0.85f * sum;
        }
    }
}

/* ---- components: a vertex of each ---- */

static uint32_t value_of(const search *s, uint32_t v) {
    return __atomic_load_n(&s->values[v], __ATOMIC_RELAXED);
}

/* The higher of two roots hangs on the lower one. */
static void trees_join(search *s, uint32_t u, uint32_t v) {
    uint32_t a = value_of(s, u), b = value_of(s, v);
    while (a != b) {
        uint32_t high = a > b ? a : b, low = a > b ? b : a, at = value_of(s, high);
        if (at == low)
            return;
        if (at == high &&
            __atomic_compare_exchange_n(&s->values[high], &at, low, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return;
        a = value_of(s, value_of(s, high));
        b = value_of(s, low);
    }
}

static void trees_flatten(search *s) {
#pragma omp parallel for schedule(dynamic, 16384)
    for (uint32_t v = 0; v < s->n; v++)
        while (value_of(s, v) != value_of(s, value_of(s, v)))
            __atomic_store_n(&s->values[v], value_of(s, value_of(s, v)),
                             __ATOMIC_RELAXED);
}

static int numbers_compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The root that most of some vertices have. */
static uint32_t most_frequent(const search *s) {
    static uint32_t roots[SAMPLES];
    uint32_t best = 0;
    size_t most = 0, run = 0;
    uint64_t at = 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        at = at * 6364136223846793005u + 1442695040888963407u;
        roots[i] = s->values[(at >> 33) % s->n];
    }
    qsort(roots, SAMPLES, sizeof *roots, numbers_compare);
    for (size_t i = 0; i < SAMPLES; i++) {
        run = i > 0 && roots[i] == roots[i - 1] ? run + 1 : 1;
        if (run > most) {
            most = run;
            best = roots[i];
        }
    }
    return best;
}

static void wcc(search *s, uint32_t source) {
    const hf_part *g = s->g;
    (void)source;
#pragma omp parallel for
    for (uint32_t v = 0; v < s->n; v++)
        s->values[v] = v;
    for (uint64_t round = 0; round < ROUNDS; round++) {
#pragma omp parallel for schedule(dynamic, 16384)
        for (uint32_t v = 0; v < s->n; v++)
            if (g->rows[v] + round < g->rows[v + 1])
                trees_join(s, v, g->from[g->rows[v] + round]);
        trees_flatten(s);
    }
    uint32_t largest = most_frequent(s);
#pragma omp parallel for schedule(dynamic, 16384)
    for (uint32_t v = 0; v < s->n; v++)
        if (value_of(s, v) != largest)
            for (uint64_t e = g->rows[v] + ROUNDS; e < g->rows[v + 1]; e++)
                trees_join(s, v, g->from[e]);
    trees_flatten(s);
}

/* ---- distances ---- */

typedef struct bucket {
    uint32_t *list;
    size_t n, room;
} bucket;

static void bucket_add(bucket **buckets, size_t *n_buckets, size_t number, uint32_t v) {
    if (number >= *n_buckets) {
        size_t room = 2 * number + 16;
        *buckets = realloc(*buckets, room * sizeof **buckets);
        memset(*buckets + *n_buckets, 0, (room - *n_buckets) * sizeof **buckets);
        *n_buckets = room;
    }
    bucket *b = &(*buckets)[number];
    if (b->n == b->room) {
        b->room = 2 * b->room + 64;
        b->list = realloc(b->list, b->room * sizeof *b->list);
    }
    b->list[b->n++] = v;
}

static void edges_relax(search *s, uint32_t u, bucket **buckets, size_t *n_buckets) {
    const hf_part *g = s->g;
    uint32_t near = value_of(s, u);
    for (uint64_t e = g->rows[u]; e < g->rows[u + 1]; e++) {
        uint32_t v = g->from[e], old = value_of(s, v), new = near + g->weights[e];
        while (new < old)
            if (__atomic_compare_exchange_n(&s->values[v], &old, new, false,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
                bucket_add(buckets, n_buckets, new / s->delta, v);
                break;
            }
    }
}

static void sssp(search *s, uint32_t source) {
    enum { FUSED = 1000 }; /* a thread goes on alone with a bucket of fewer */
    static const size_t NONE = (size_t)-1;
    size_t n_front = 1, now = 0, lowest = NONE, filled = 0;
#pragma omp parallel for
    for (uint32_t v = 0; v < s->n; v++)
        s->values[v] = NOBODY;
    s->values[source] = 0;
    s->front[0] = source;
#pragma omp parallel
    {
        bucket *buckets = NULL;
        size_t n_buckets = 0;
        while (now != NONE) {
#pragma omp for schedule(dynamic, 64) nowait
            for (size_t i = 0; i < n_front; i++)
                if (value_of(s, s->front[i]) >= s->delta * (uint32_t)now)
                    edges_relax(s, s->front[i], &buckets, &n_buckets);
            while (now < n_buckets && buckets[now].n > 0 && buckets[now].n < FUSED) {
                bucket own = buckets[now];
                buckets[now] = (bucket){0};
                for (size_t i = 0; i < own.n; i++)
                    edges_relax(s, own.list[i], &buckets, &n_buckets);
                free(own.list);
            }
            size_t first = now;
            while (first < n_buckets && buckets[first].n == 0)
                first++;
#pragma omp critical
            if (first < n_buckets && first < lowest)
                lowest = first;
#pragma omp barrier
            if (lowest < n_buckets && buckets[lowest].n > 0) {
                list_flush(s->next, &filled, buckets[lowest].list, buckets[lowest].n);
                buckets[lowest].n = 0;
            }
#pragma omp barrier
#pragma omp single
            {
                uint32_t *old = s->front;
                s->front = s->next;
                s->next = old;
                n_front = filled;
                now = lowest;
                lowest = NONE;
                filled = 0;
            }
        }
        for (size_t i = 0; i < n_buckets; i++)
            free(buckets[i].list);
        free(buckets);
    }
}

/* ---- what shows that it is right ---- */

static double reached(const search *s) {
    double n = 0;
    for (uint32_t v = 0; v < s->n; v++)
        n += s->values[v] != NOBODY;
    return n;
}

static double ranks_sum(const search *s) {
    double sum = 0;
    for (uint32_t v = 0; v < s->n; v++)
        sum += (double)s->ranks[v];
    return sum;
}

static double components(const search *s) {
    double n = 0;
    for (uint32_t v = 0; v < s->n; v++)
        n += s->values[v] == v;
    return n;
}

/* ---- the program ---- */

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, hf_error());
    return 1;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(search *s, uint32_t source);
        double (*sign)(const search *s);
    } algorithms[] = {{"bfs", bfs, reached},
                      {"pagerank", pagerank, ranks_sum},
                      {"wcc", wcc, components},
                      {"sssp", sssp, reached}};
    enum { N = sizeof algorithms / sizeof *algorithms };
    size_t which = 0;
    while (argc > 5 && which < N && strcmp(algorithms[which].name, argv[3]) != 0)
        which++;
    if (argc < 6 || which == N) {
        fprintf(
            stderr,
            "graph_yardstick GRAPH SEED bfs|pagerank|wcc|sssp REPETITIONS SOURCE...\n");
        return 2;
    }
    hf_graph *graph;
    hf_part *part;
    if (hf_graph_open(&graph, argv[1], strtoull(argv[2], NULL, 10)) != HF_OK ||
        hf_part_whole(&part, graph, true, strcmp(argv[3], "sssp") == 0,
                      hf_host_memory_of("").free) != HF_OK)
        return fail(argv[1]);
    const char *delta = getenv("DELTA");
    search s = {.g = part, .n = part->own};
    s.delta = delta ? (uint32_t)strtoul(delta, NULL, 10) : 16;
    size_t words = ((size_t)s.n + 63) / 64, room = (size_t)part->in_edges + s.n;
    s.values = calloc(s.n, sizeof *s.values);
    s.front = calloc(room, sizeof *s.front); /* sssp: once for each edge */
    s.next = calloc(room, sizeof *s.next);
    s.bits = calloc(words, sizeof *s.bits);
    s.more = calloc(words, sizeof *s.more);
    s.ranks = calloc(s.n, sizeof *s.ranks);
    s.shares = calloc(s.n, sizeof *s.shares);
    if (!s.values || !s.front || !s.next || !s.bits || !s.more || !s.ranks || !s.shares)
        return fail("no memory");
    for (int i = 5; i < argc; i++) {
        uint32_t source = (uint32_t)strtoul(argv[i], NULL, 10);
        double best = 1e9;
        for (int k = 0; k < atoi(argv[4]); k++) {
            double start = hf_clock_now();
            algorithms[which].run(&s, source);
            double seconds = hf_clock_now() - start;
            best = seconds < best ? seconds : best;
        }
        printf("%.6e %.17g\n", best, algorithms[which].sign(&s));
    }
    return 0;
}
