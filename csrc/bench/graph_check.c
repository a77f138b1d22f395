/* graph_check.c - is the result of a program right? Each rank looks at its own vertices.
 *
 * The checks share nothing with the kernels: they go through the edges as the host has them, with
 * the state of all vertices as it came from the devices.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/stats.h"
#include "graph_checking.h"

/* Threads take the next vertices when they have time: cores are not equally fast. */
bool graph_vertices_take(graph_checking *c, size_t n, uint32_t *first, uint32_t *end) {
    size_t at = atomic_fetch_add(&c->next, GRAPH_AT_ONCE);
    *first = (uint32_t)at;
    *end = (uint32_t)(n < at + GRAPH_AT_ONCE ? n : at + GRAPH_AT_ONCE);
    return at < n;
}

void graph_threads_do(graph_checking *c, void (*work)(void *context, size_t thread)) {
    atomic_store(&c->next, 0);
    hf_parallel(c->n_threads, work, c);
}

/* ---- sssp ---- */

/* A length at which scatter stops proves nothing: around a circle it offers itself. All ranks
 * see the lengths of all, and so fail together. */
static hf_status lengths_begin(graph_checking *c) {
    const hf_part *p = c->s->part;
    for (uint32_t v = 0; v < p->vertices; v++)
        if (p->names[v] != HF_NO_VERTEX && c->words[v] == GRAPH_NOBODY - 1)
            return hf_fail(HF_EARG,
                           "program sssp: the path to vertex %u is longer than %u, the "
                           "longest possible",
                           p->names[v], GRAPH_NOBODY - 2);
    return HF_OK;
}

/* Each length is the least that an in-neighbour offers. As weights are positive, one set of
 * lengths alone is so. */
static double sssp_vertex(const graph_checking *c, uint32_t i) {
    const hf_part *p = c->s->part;
    uint32_t v = graph_first(c->s) + i;
    uint64_t least = p->names[v] == c->s->run.source ? 0 : GRAPH_NOBODY;
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++) {
        uint64_t before = c->words[p->from[e]], offered = before + p->weights[e];
        offered = offered < GRAPH_NOBODY ? offered : GRAPH_NOBODY - 1;
        if (before != GRAPH_NOBODY && offered < least)
            least = offered;
    }
    return c->words[v] != least;
}

/* ---- wcc ---- */

/* Threads hang trees on each other, as in Afforest: a root hangs on one of a lower name, so none is
 * above itself. */
static void unite(const graph_checking *c, uint32_t a, uint32_t b) {
    const uint32_t *names = c->s->part->names;
    for (bool joined = false; !joined;) {
        a = hf_forest_root(c->levels, a);
        b = hf_forest_root(c->levels, b);
        uint32_t low = names[a] < names[b] ? a : b, high = a ^ b ^ low;
        joined =
            a == b || __atomic_compare_exchange_n(&c->levels[high], &high, low, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

static void forest_seed(void *context, size_t thread) {
    graph_checking *c = context;
    (void)thread;
    for (uint32_t v, end; graph_vertices_take(c, c->s->part->vertices, &v, &end);)
        for (; v < end; v++)
            c->levels[v] = v;
}

/* Each vertex hangs on its root. */
static void forest_flatten(void *context, size_t thread) {
    graph_checking *c = context;
    (void)thread;
    for (uint32_t v, end; graph_vertices_take(c, c->s->part->vertices, &v, &end);)
        for (; v < end; v++)
            __atomic_store_n(&c->levels[v], hf_forest_root(c->levels, v),
                             __ATOMIC_RELAXED);
}

/* The first two edges of each vertex join most: of the others most then join nothing. */
enum { FIRST_EDGES = 2 };

static void first_join(void *context, size_t thread) {
    graph_checking *c = context;
    const hf_part *p = c->s->part;
    (void)thread;
    for (uint32_t i, end; graph_vertices_take(c, p->own, &i, &end);)
        for (; i < end; i++)
            for (uint64_t e = p->rows[i];
                 e < p->rows[i + 1] && e < p->rows[i] + FIRST_EDGES; e++)
                unite(c, graph_first(c->s) + i, p->from[e]);
}

static void others_join(void *context, size_t thread) {
    graph_checking *c = context;
    const hf_part *p = c->s->part;
    (void)thread;
    for (uint32_t i, end; graph_vertices_take(c, p->own, &i, &end);)
        for (; i < end; i++) {
            uint32_t v = graph_first(c->s) + i;
            for (uint64_t e = p->rows[i] + FIRST_EDGES; e < p->rows[i + 1]; e++)
                if (__atomic_load_n(&c->levels[v], __ATOMIC_RELAXED) !=
                    __atomic_load_n(&c->levels[p->from[e]], __ATOMIC_RELAXED))
                    unite(c, v, p->from[e]);
        }
}

/* The components of this rank's edges, then those of all ranks' together: of the graph, so they
 * are found once. */
static hf_status forest_begin(graph_checking *c) {
    graph_state *s = c->s;
    const hf_part *p = s->part;
    const uint32_t *all;
    if (s->forest_found)
        return HF_OK;
    graph_threads_do(c, forest_seed);
    graph_threads_do(c, first_join);
    graph_threads_do(c, forest_flatten);
    graph_threads_do(c, others_join);
    graph_threads_do(c, forest_flatten);
    HF_TRY(graph_tell_forest(s, &all, c->levels));
    for (int rank = 0; s->env.size > 1 && rank < s->env.size; rank++)
        for (uint32_t v = 0; v < p->vertices; v++) {
            uint32_t other = all[(size_t)rank * p->vertices + v];
            if (other >= p->vertices)
                return hf_fail(HF_EDEVICE, "rank %d told of vertex %u, of %u", rank,
                               other, p->vertices);
            unite(c, v, other);
        }
    graph_threads_do(c, forest_flatten);
    s->forest_found = true;
    return HF_OK;
}

static double wcc_vertex(const graph_checking *c, uint32_t i) {
    uint32_t v = graph_first(c->s) + i;
    return c->words[v] != c->s->part->names[c->levels[v]];
}

/* ---- pagerank ---- */

/* A superstep of `reference` on the host, from what all vertices spread. */
static void reference_pull(void *context, size_t thread) {
    graph_checking *c = context;
    graph_state *s = c->s;
    const hf_part *p = s->part;
    double damping = (double)s->run.value[0], changed = 0;
    for (uint32_t i, end; graph_vertices_take(c, p->own, &i, &end);)
        for (; i < end; i++) {
            double sum = 0;
            for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++)
                sum += s->spread[p->from[e]];
            double *rank = &s->reference[graph_first(s) + i],
                   now = (1 - damping) / (double)s->info->vertices + damping * sum;
            changed += fabs(now - *rank);
            *rank = now;
        }
    c->found[thread].changed = changed;
}

static hf_status reference_spread(graph_state *s) {
    const hf_part *p = s->part;
    for (uint32_t i = 0; i < p->own; i++)
        s->share[i] =
            p->degrees[i] ? s->reference[graph_first(s) + i] / p->degrees[i] : 0;
    return graph_tell_numbers(s, s->spread, s->share);
}

/* All supersteps once for each point: the check of the last one alone would not see what has
 * gone wrong long before it. */
static hf_status reference_find(graph_checking *c) {
    graph_state *s = c->s;
    uint64_t supersteps = s->tally.supersteps;
    if (s->reference_supersteps == supersteps + 1)
        return HF_OK;
    for (uint32_t i = 0; i < s->part->own; i++)
        s->reference[graph_first(s) + i] = 1.0 / (double)s->info->vertices;
    for (uint64_t n = 0; n < supersteps; n++) {
        HF_TRY(hf_go_on(&s->env, false));
        HF_TRY(reference_spread(s));
        graph_threads_do(c, reference_pull);
        s->changed[0] = s->changed[1];
        s->changed[1] = 0;
        for (size_t i = 0; i < c->n_threads; i++)
            s->changed[1] += c->found[i].changed;
    }
    s->reference_supersteps = supersteps + 1;
    return HF_OK;
}

/* The updates that the last superstep saw, or the messages, which are the same. */
static hf_status mirror_begin(graph_checking *c) {
    graph_state *s = c->s;
    const graph_seen seen = s->architecture->seen(s);
    size_t bytes = seen.n * sizeof *s->mirror;
    HF_TRY(reference_find(c));
    memset(s->mirror, 0xFF, bytes);
    return bytes == 0 ? HF_OK
                      : s->env.device->ops->read(s->env.device, seen.from, seen.at,
                                                 s->mirror, bytes, NULL, NULL);
}

/* What a float may be off by, of `roundings` at about `right`; never 0. */
static double room_at(double roundings, double right) {
    return roundings * (FLT_EPSILON * fabs(right) + (double)FLT_MIN);
}

/* Sums of n floats err by n epsilon at most, and by about the root of it: so much the hubs'
 * errors are at all others. */
static double pagerank_vertex(const graph_checking *c, uint32_t i) {
    const graph_state *s = c->s;
    const hf_part *p = s->part;
    const uint32_t *places = s->architecture->seen(s).places;
    double damping = (double)s->run.value[0],
           degree = (double)(p->rows[i + 1] - p->rows[i]),
           right = s->reference[graph_first(s) + i], sum = 0, last = right;
    float rank;
    memcpy(&rank, &c->words[graph_first(s) + i], sizeof rank);
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++)
        sum += (double)s->mirror[places ? places[e] : e];
    if (s->superstep > 0)
        last = (1 - damping) / (double)s->info->vertices + damping * sum;
    double exact = room_at(degree + 8, last),
           whole = room_at(degree + 64 + 4 * sqrt((double)s->info->vertices), right);
    return hf_larger(fabs((double)rank - last) / exact,
                     fabs((double)rank - right) / whole);
}

/* A program that ends by a tolerance adds up changes in float, a chunk at once, and where a launch
 * takes many supersteps those of chunks, too. They are of ranks that are about as far from the
 * reference as they are now. */
static void changes_bound(const graph_state *s, graph_verdict *out) {
    double room = 0;
    uint32_t longest = 0;
    for (uint32_t i = 0; i < s->part->own; i++) {
        float rank;
        memcpy(&rank, (const char *)s->state + (graph_first(s) + i) * sizeof rank,
               sizeof rank);
        double right = s->reference[graph_first(s) + i];
        room += 4 * fabs((double)rank - right) + 8 * FLT_EPSILON * fabs(right);
    }
    for (uint32_t c = 0; c < s->run.chunks; c++)
        if (s->chunks[c + 1] - s->chunks[c] > longest)
            longest = s->chunks[c + 1] - s->chunks[c];
    longest += s->persists ? s->run.chunks : 0;
    out->before = s->changed[0] * (1 + longest * (double)FLT_EPSILON) + room;
    out->last = s->changed[1] * (1 - longest * (double)FLT_EPSILON) - room;
}

/* ---- others ---- */

static double own_vertex(const graph_checking *c, uint32_t i) {
    (void)c, (void)i;
    return 0; /* graph_own.c */
}

/* ---- all ---- */

static hf_status nothing_begin(graph_checking *c) {
    (void)c;
    return HF_OK;
}

static const graph_check checks[] = {
    {"bfs", sizeof(uint32_t), .searches = true, .begin = graph_levels_begin,
     .vertex = graph_levels_vertex, .sift = graph_levels_sift},
    {"sssp", sizeof(uint32_t), .searches = true, .begin = lengths_begin,
     .vertex = sssp_vertex},
    {"wcc", sizeof(uint32_t), .forest = true, .begin = forest_begin,
     .vertex = wcc_vertex},
    {"pagerank", sizeof(float), .tolerance = 1, .reference = true, .damped = true,
     .begin = mirror_begin, .vertex = pagerank_vertex},
    {NULL, .begin = nothing_begin, .vertex = own_vertex},
};

const graph_check *graph_check_find(const char *program) {
    const graph_check *check = checks;
    while (check->program && strcmp(check->program, program) != 0)
        check++;
    return check;
}

static size_t all_sift(const graph_checking *c, uint32_t first, uint32_t end,
                       uint32_t *which) {
    (void)c;
    for (uint32_t i = first; i < end; i++)
        which[i - first] = i;
    return end - first;
}

/* Edges count as the input has them, or as they are gone along. */
static void reached_add(const graph_checking *c, uint32_t first, uint32_t end,
                        graph_found *found) {
    const hf_part *p = c->s->part;
    for (uint32_t i = first; i < end; i++) {
        uint64_t reached =
            !c->check->searches || c->words[graph_first(c->s) + i] != GRAPH_NOBODY;
        found->reached += reached;
        found->edges +=
            reached *
            (c->s->traits[GRAPH_ALWAYS] ? p->rows[i + 1] - p->rows[i] : p->ends[i]);
    }
}

static void vertices_check(void *context, size_t thread) {
    graph_checking *c = context;
    const graph_check *check = c->check;
    const hf_part *p = c->s->part;
    graph_found found = {0};
    uint32_t which[GRAPH_AT_ONCE] = {0};
    for (uint32_t first, end; graph_vertices_take(c, p->own, &first, &end);) {
        size_t n = (check->sift ? check->sift : all_sift)(c, first, end, which);
        for (size_t k = 0; k < n; k++) {
            uint32_t ahead = which[k + GRAPH_AHEAD < n ? k + GRAPH_AHEAD : k];
            __builtin_prefetch(&p->from[p->rows[ahead]]);
            double error = check->vertex(c, which[k]);
            found.error = check->tolerance > 0 ? hf_larger(found.error, error)
                                               : found.error + error;
        }
        reached_add(c, first, end, &found);
    }
    c->found[thread] = found;
}

hf_status graph_check_run(graph_state *s, graph_verdict *out) {
    graph_checking c = {.s = s,
                        .check = s->check,
                        .words = s->state,
                        .levels = s->levels,
                        .parents = s->parents,
                        .lows = s->lows,
                        .n_threads = hf_cores()};
    if (s->check->bytes && s->check->bytes != s->traits[GRAPH_VERTEX_BYTES])
        return hf_fail(HF_EARG, "program %s: a vertex has %u B, not %zu",
                       s->check->program, s->traits[GRAPH_VERTEX_BYTES],
                       s->check->bytes);
    HF_TRY(s->check->begin(&c));
    graph_threads_do(&c, vertices_check);
    *out = (graph_verdict){0};
    for (size_t i = 0; i < c.n_threads; i++) {
        out->error = s->check->tolerance > 0 ? hf_larger(out->error, c.found[i].error)
                                             : out->error + c.found[i].error;
        out->reached += c.found[i].reached;
        out->edges += c.found[i].edges;
    }
    if (s->reference)
        changes_bound(s, out);
    return s->own ? graph_own_check(s, out) : HF_OK;
}
