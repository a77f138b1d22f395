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
#include "core/parallel.h"
#include "core/stats.h"
#include "graph_engine.h"

#define NOBODY UINT32_MAX

/** What a thread found among its vertices. */
typedef struct graph_found {
    double error, changed;
    uint64_t reached, edges;
} graph_found;

struct graph_checking {
    graph_state *s;
    const graph_check *check;
    const uint32_t *words; /**< [vertices] the state, where it is a word each */
    uint32_t *levels;      /**< [vertices] or, for wcc, the roots of a forest */
    uint32_t *parents;     /**< [vertices] of bfs: numbers, of those that are reached */
    uint8_t *lows; /**< [vertices] of bfs: levels below DEEP, which caches hold */
    size_t n_threads;
    graph_found found[HF_MAX_CORES];
};

static uint32_t number_of(const graph_checking *c, uint32_t name) {
    return name < c->s->info->vertices ? c->s->part->numbers[name] : NOBODY;
}

/* ---- bfs ---- */

/* Levels; NOBODY: not reached, or no way to the source. */
#define UNKNOWN (NOBODY - 1)

/* In `lows`: this level, or a deeper one, or none. */
enum { DEEP = UINT8_MAX };

static void level_set(graph_checking *c, uint32_t v, uint32_t level) {
    c->levels[v] = level;
    c->lows[v] = (uint8_t)(level < DEEP ? level : DEEP);
}

/* Numbers of parents; nobody has a level yet. */
static void parents_find(void *context, size_t thread) {
    graph_checking *c = context;
    const hf_part *p = c->s->part;
    uint64_t n = p->vertices, first = n * thread / c->n_threads,
             end = n * (thread + 1) / c->n_threads;
    for (uint64_t v = first; v < end; v++) {
        bool told = p->names[v] != HF_NO_VERTEX && c->words[v] != NOBODY;
        c->parents[v] = told ? number_of(c, c->words[v]) : NOBODY;
        c->levels[v] = told ? UNKNOWN : NOBODY;
        c->lows[v] = DEEP;
    }
}

/* Climb from each vertex to one whose level is known: who comes by twice is in a circle. */
static hf_status levels_begin(graph_checking *c) {
    enum { AHEAD = 16 };
    const hf_part *p = c->s->part;
    uint32_t source = p->numbers[c->s->run.source];
    hf_parallel(c->n_threads, parents_find, c);
    if (c->words[source] == p->names[source])
        level_set(c, source, 0);
    for (uint32_t v = 0; v < p->vertices; v++) {
        uint32_t n = 0, at = v, next = v + AHEAD < p->vertices ? v + AHEAD : v;
        if (c->parents[next] != NOBODY)
            __builtin_prefetch(&c->levels[c->parents[next]]);
        for (; at != NOBODY && c->levels[at] == UNKNOWN; n++) {
            c->levels[at] = NOBODY; /* unless the source is found */
            at = c->parents[at];
        }
        if (at == NOBODY || c->levels[at] == NOBODY)
            continue;
        uint32_t level = c->levels[at];
        for (at = v; n > 0; n--, at = c->parents[at])
            level_set(c, at, level + n);
    }
    return HF_OK;
}

/* The least level of those from whom edges lead to own vertex `i`. */
static uint32_t highest_before(const graph_checking *c, uint32_t i) {
    const hf_part *p = c->s->part;
    uint32_t highest = DEEP;
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++) {
        uint32_t above = c->lows[p->from[e]];
        highest = above < highest ? above : highest;
    }
    if (highest < DEEP)
        return highest;
    highest = NOBODY;
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++) {
        uint32_t above = c->levels[p->from[e]];
        highest = above < highest ? above : highest;
    }
    return highest;
}

/* Every vertex is one level below its parent, an in-neighbour, and no in-neighbour is higher
 * than that: an edge leads down one level at most. */
static double bfs_vertex(const graph_checking *c, uint32_t i, bool *reached) {
    const hf_part *p = c->s->part;
    uint32_t v = graph_first(c->s) + i, level = c->levels[v],
             highest = highest_before(c, i);
    bool is_parent = false;
    *reached = c->words[v] != NOBODY;
    if (p->names[v] == c->s->run.source)
        return level != 0;
    if (!*reached)
        return highest != NOBODY;
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1] && !is_parent; e++)
        is_parent = p->from[e] == c->parents[v];
    return level == NOBODY || !is_parent || highest != level - 1;
}

/* ---- sssp ---- */

/* A length at which scatter stops proves nothing: around a circle it offers itself. All ranks
 * see the lengths of all, and so fail together. */
static hf_status lengths_begin(graph_checking *c) {
    const hf_part *p = c->s->part;
    for (uint32_t v = 0; v < p->vertices; v++)
        if (p->names[v] != HF_NO_VERTEX && c->words[v] == NOBODY - 1)
            return hf_fail(HF_EARG,
                           "program sssp: the path to vertex %u is longer than %u, the "
                           "longest possible",
                           p->names[v], NOBODY - 2);
    return HF_OK;
}

/* Each length is the least that an in-neighbour offers. As weights are positive, one set of
 * lengths alone is so. */
static double sssp_vertex(const graph_checking *c, uint32_t i, bool *reached) {
    const hf_part *p = c->s->part;
    uint32_t v = graph_first(c->s) + i;
    uint64_t least = p->names[v] == c->s->run.source ? 0 : NOBODY;
    *reached = c->words[v] != NOBODY;
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++) {
        uint64_t before = c->words[p->from[e]], offered = before + p->weights[e];
        offered = offered < NOBODY ? offered : NOBODY - 1;
        if (before != NOBODY && offered < least)
            least = offered;
    }
    return c->words[v] != least;
}

/* ---- wcc ---- */

/* The root is the one of the lower name. */
static void unite(const hf_part *p, uint32_t *forest, uint32_t a, uint32_t b) {
    a = hf_forest_root(forest, a);
    b = hf_forest_root(forest, b);
    if (p->names[a] < p->names[b])
        forest[b] = a;
    else
        forest[a] = b;
}

/* The components of this rank's edges, then those of all ranks' together. */
static hf_status forest_begin(graph_checking *c) {
    graph_state *s = c->s;
    const hf_part *p = s->part;
    for (uint32_t v = 0; v < p->vertices; v++)
        c->levels[v] = v;
    for (uint32_t i = 0; i < p->own; i++)
        for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++)
            unite(p, c->levels, graph_first(s) + i, p->from[e]);
    for (uint32_t v = 0; v < p->vertices; v++)
        c->levels[v] = hf_forest_root(c->levels, v);
    const uint32_t *all;
    HF_TRY(graph_tell_forest(s, &all, c->levels));
    for (int rank = 0; s->env.size > 1 && rank < s->env.size; rank++)
        for (uint32_t v = 0; v < p->vertices; v++) {
            uint32_t other = all[(size_t)rank * p->vertices + v];
            if (other >= p->vertices)
                return hf_fail(HF_EDEVICE, "rank %d told of vertex %u, of %u", rank,
                               other, p->vertices);
            unite(p, c->levels, v, other);
        }
    for (uint32_t v = 0; v < p->vertices; v++)
        c->levels[v] = hf_forest_root(c->levels, v);
    return HF_OK;
}

static double wcc_vertex(const graph_checking *c, uint32_t i, bool *reached) {
    uint32_t v = graph_first(c->s) + i;
    *reached = true;
    return c->words[v] != c->s->part->names[c->levels[v]];
}

/* ---- pagerank ---- */

/* A superstep of `reference` on the host, from what all vertices spread. */
static void reference_pull(void *context, size_t thread) {
    graph_checking *c = context;
    graph_state *s = c->s;
    const hf_part *p = s->part;
    uint64_t own = p->own, first = own * thread / c->n_threads,
             end = own * (thread + 1) / c->n_threads;
    double damping = (double)s->run.value[0], changed = 0;
    for (uint64_t i = first; i < end; i++) {
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
        HF_TRY(s->env.go_on(s->env.loop, false));
        HF_TRY(reference_spread(s));
        hf_parallel(c->n_threads, reference_pull, c);
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
static double pagerank_vertex(const graph_checking *c, uint32_t i, bool *reached) {
    const graph_state *s = c->s;
    const hf_part *p = s->part;
    const uint32_t *places = s->architecture->seen(s).places;
    double damping = (double)s->run.value[0],
           degree = (double)(p->rows[i + 1] - p->rows[i]),
           right = s->reference[graph_first(s) + i], sum = 0, last = right;
    float rank;
    memcpy(&rank, &c->words[graph_first(s) + i], sizeof rank);
    *reached = true;
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++)
        sum += (double)s->mirror[places ? places[e] : e];
    if (s->superstep > 0)
        last = (1 - damping) / (double)s->info->vertices + damping * sum;
    double exact = room_at(degree + 8, last),
           whole = room_at(degree + 64 + 4 * sqrt((double)s->info->vertices), right);
    return hf_larger(fabs((double)rank - last) / exact,
                     fabs((double)rank - right) / whole);
}

/* A program that ends by a tolerance adds up changes in float, a chunk at once, of ranks that are
 * about as far from the reference as they are now. */
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
    out->before = s->changed[0] * (1 + longest * (double)FLT_EPSILON) + room;
    out->last = s->changed[1] * (1 - longest * (double)FLT_EPSILON) - room;
}

/* ---- others ---- */

static double own_vertex(const graph_checking *c, uint32_t i, bool *reached) {
    (void)c, (void)i;
    *reached = true;
    return 0; /* graph_own.c */
}

/* ---- all ---- */

static hf_status nothing_begin(graph_checking *c) {
    (void)c;
    return HF_OK;
}

static const graph_check checks[] = {
    {"bfs", sizeof(uint32_t), 0, false, false, false, levels_begin, bfs_vertex},
    {"sssp", sizeof(uint32_t), 0, false, false, false, lengths_begin, sssp_vertex},
    {"wcc", sizeof(uint32_t), 0, true, false, false, forest_begin, wcc_vertex},
    {"pagerank", sizeof(float), 1, false, true, true, mirror_begin, pagerank_vertex},
    {NULL, 0, 0, false, false, false, nothing_begin, own_vertex},
};

const graph_check *graph_check_find(const char *program) {
    const graph_check *check = checks;
    while (check->program && strcmp(check->program, program) != 0)
        check++;
    return check;
}

static void vertices_check(void *context, size_t thread) {
    graph_checking *c = context;
    const hf_part *p = c->s->part;
    uint64_t own = p->own, first = own * thread / c->n_threads,
             end = own * (thread + 1) / c->n_threads;
    graph_found found = {0};
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        bool reached;
        double error = c->check->vertex(c, i, &reached);
        found.error = c->check->tolerance > 0 ? hf_larger(found.error, error)
                                              : found.error + error;
        found.reached += reached;
        if (reached) /* edges as the input has them, or as they are gone along */
            found.edges +=
                c->s->traits[GRAPH_ALWAYS] ? p->rows[i + 1] - p->rows[i] : p->ends[i];
    }
    c->found[thread] = found;
}

hf_status graph_check_run(graph_state *s, graph_verdict *out) {
    graph_checking c = {
        .s = s, .check = s->check, .words = s->state, .n_threads = hf_cores()};
    if (s->check->bytes && s->check->bytes != s->traits[GRAPH_VERTEX_BYTES])
        return hf_fail(HF_EARG, "program %s: a vertex has %u B, not %zu",
                       s->check->program, s->traits[GRAPH_VERTEX_BYTES],
                       s->check->bytes);
    c.levels = malloc(s->part->vertices * sizeof *c.levels + 1);
    c.parents = malloc(s->part->vertices * sizeof *c.parents + 1);
    c.lows = malloc(s->part->vertices * sizeof *c.lows + 1);
    hf_status status =
        c.levels && c.parents && c.lows
            ? s->check->begin(&c)
            : hf_fail(HF_ENOMEM, "no memory to check %u vertices", s->part->vertices);
    if (status == HF_OK)
        hf_parallel(c.n_threads, vertices_check, &c);
    free(c.levels);
    free(c.parents);
    free(c.lows);
    HF_TRY(status);
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
