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
    uint32_t levels[UINT8_MAX + 1]; /**< vertices in each, of bfs */
} graph_found;

struct graph_checking {
    graph_state *s;
    const graph_check *check;
    const uint32_t *words; /**< [vertices] the state, where it is a word each */
    uint32_t *levels;      /**< those of the state */
    uint32_t *parents;
    uint8_t *lows;
    uint32_t skipped; /**< levels of bfs, and the next */
    size_t n_threads;
    graph_found found[HF_MAX_CORES];
};

/* ---- bfs ---- */

/* Levels as bytes, which caches hold: those from DEEP on are in `levels`. LOST: no way leads to
 * the source. */
enum { DEEP = UINT8_MAX - 2, LOST, UNKNOWN };

static uint32_t level_of(const graph_checking *c, uint32_t v) {
    uint8_t low = __atomic_load_n(&c->lows[v], __ATOMIC_ACQUIRE);
    return low < DEEP    ? low
           : low == DEEP ? __atomic_load_n(&c->levels[v], __ATOMIC_RELAXED)
                         : NOBODY;
}

/* Threads that come by the same vertex find the same level. */
static void level_set(const graph_checking *c, uint32_t v, uint32_t level) {
    bool deep = level >= DEEP && level != NOBODY;
    uint8_t low = (uint8_t)(deep ? DEEP : level == NOBODY ? LOST : level);
    if (deep)
        __atomic_store_n(&c->levels[v], level, __ATOMIC_RELAXED);
    __atomic_store_n(&c->lows[v], low, __ATOMIC_RELEASE);
}

/* Numbers of parents; of none that of nobody, whose level is LOST. */
static void parents_find(void *context, size_t thread) {
    graph_checking *c = context;
    const hf_part *p = c->s->part;
    uint64_t n = p->vertices, first = n * thread / c->n_threads,
             end = n * (thread + 1) / c->n_threads;
    for (uint32_t v = (uint32_t)first; v < end; v++) {
        bool told = p->names[v] != HF_NO_VERTEX && c->words[v] < c->s->info->vertices;
        c->parents[v] = told ? p->numbers[c->words[v]] : p->vertices;
    }
}

/* Climb from a vertex to one whose level is known, or round a circle: who is met again after a
 * power of two steps is in one. */
static void climb(const graph_checking *c, uint32_t v) {
    uint32_t at = v, n = 0, met = NOBODY, level = NOBODY;
    while (at != met && __atomic_load_n(&c->lows[at], __ATOMIC_ACQUIRE) == UNKNOWN) {
        if ((n & (n - 1)) == 0)
            met = at;
        at = c->parents[at];
        n++;
    }
    if (at != met)
        level = level_of(c, at);
    for (at = v; n > 0; n--, at = c->parents[at])
        level_set(c, at, level == NOBODY ? NOBODY : level + n);
}

static void levels_find(void *context, size_t thread) {
    graph_checking *c = context;
    uint64_t n = c->s->part->vertices, first = n * thread / c->n_threads,
             end = n * (thread + 1) / c->n_threads;
    memset(c->found[thread].levels, 0, sizeof c->found->levels);
    for (uint32_t v = (uint32_t)first; v < end; v++) {
        climb(c, v);
        c->found[thread].levels[__atomic_load_n(&c->lows[v], __ATOMIC_RELAXED)]++;
    }
}

/* Where edges lead both ways, one between levels that are no neighbours is seen from both. So of
 * two levels that follow each other nobody has to look: of the ends of a wrong edge one is higher
 * than both, or one is deeper. All ranks take the same two, those with most ends of edges to
 * parents. Where they lead one way only the lower end sees it: all but levels 0 and 1 look. */
static uint32_t levels_skip(const graph_checking *c) {
    uint64_t n[DEEP] = {0}, most = 0;
    uint32_t skipped = 0;
    for (size_t i = 0; i < c->n_threads; i++)
        for (uint32_t level = 0; level < DEEP; level++)
            n[level] += c->found[i].levels[level];
    for (uint32_t level = 0; c->s->part->mirrored && level + 2 < DEEP; level++) {
        uint64_t ends = n[level] + 2 * n[level + 1] + n[level + 2];
        if (ends > most) {
            most = ends;
            skipped = level;
        }
    }
    return skipped;
}

static hf_status levels_begin(graph_checking *c) {
    const hf_part *p = c->s->part;
    uint32_t source = p->numbers[c->s->run.source];
    memset(c->lows, UNKNOWN, p->vertices);
    level_set(c, p->vertices, NOBODY);
    if (c->words[source] == p->names[source])
        level_set(c, source, 0);
    hf_parallel(c->n_threads, parents_find, c);
    hf_parallel(c->n_threads, levels_find, c);
    c->skipped = levels_skip(c);
    return HF_OK;
}

/* Of own vertex `i`: is no in-neighbour higher than the level above, and none, where edges lead
 * both ways, deeper than that below? */
static bool edges_right(const graph_checking *c, uint32_t i, uint32_t level) {
    const hf_part *p = c->s->part;
    uint32_t least = level == NOBODY ? NOBODY : level - (level > 0),
             most = p->mirrored && level != NOBODY ? level + 1 : NOBODY;
    bool right = true;
    if (level == c->skipped || level == c->skipped + 1)
        return true;
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++) {
        uint32_t other = level_of(c, p->from[e]);
        right = right && other >= least && other <= most;
    }
    return right;
}

static bool row_has(const hf_part *p, uint32_t i, uint32_t from) {
    for (uint64_t e = p->rows[i]; e < p->rows[i + 1]; e++)
        if (p->from[e] == from)
            return true;
    return false;
}

/* Every vertex is one level below its parent, an in-neighbour, and no in-neighbour is higher
 * than that: an edge leads down one level at most. */
static double bfs_vertex(const graph_checking *c, uint32_t i, bool *reached) {
    const hf_part *p = c->s->part;
    uint32_t v = graph_first(c->s) + i, level = level_of(c, v);
    bool right = edges_right(c, i, level);
    *reached = c->words[v] != NOBODY;
    if (p->names[v] == c->s->run.source)
        return !right || level != 0;
    if (*reached)
        right = right && level != NOBODY && row_has(p, i, c->parents[v]);
    return !right;
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
        HF_TRY(hf_go_on(&s->env, false));
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
    {"bfs", sizeof(uint32_t), .begin = levels_begin, .vertex = bfs_vertex},
    {"sssp", sizeof(uint32_t), .begin = lengths_begin, .vertex = sssp_vertex},
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

static void vertices_check(void *context, size_t thread) {
    enum { AHEAD = 24 };
    graph_checking *c = context;
    const hf_part *p = c->s->part;
    uint64_t own = p->own, first = own * thread / c->n_threads,
             end = own * (thread + 1) / c->n_threads;
    graph_found found = {0};
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        bool reached;
        __builtin_prefetch(&p->from[p->rows[i + AHEAD < end ? i + AHEAD : i]]);
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
    hf_parallel(c.n_threads, vertices_check, &c);
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
