/* graph_levels.c - is what a breadth-first search found a tree, and each vertex as near to the
 * source as its edges allow? */
#include <string.h>

#include "graph_checking.h"

/* Levels as bytes, which caches hold: those from DEEP on are in `levels`. LOST: no way leads to
 * the source. */
enum { DEEP = UINT8_MAX - 2, LOST, UNKNOWN };

static uint32_t level_of(const graph_checking *c, uint32_t v) {
    uint8_t low = __atomic_load_n(&c->lows[v], __ATOMIC_ACQUIRE);
    return low < DEEP    ? low
           : low == DEEP ? __atomic_load_n(&c->levels[v], __ATOMIC_RELAXED)
                         : GRAPH_NOBODY;
}

/* Threads that come by the same vertex find the same level. */
static void level_set(const graph_checking *c, uint32_t v, uint32_t level) {
    bool deep = level >= DEEP && level != GRAPH_NOBODY;
    uint8_t low = (uint8_t)(deep ? DEEP : level == GRAPH_NOBODY ? LOST : level);
    if (deep)
        __atomic_store_n(&c->levels[v], level, __ATOMIC_RELAXED);
    __atomic_store_n(&c->lows[v], low, __ATOMIC_RELEASE);
}

/* Numbers of parents; of none that of nobody, whose level is LOST. No processor guesses who has
 * one, so it is no branch. */
static void parents_find(void *context, size_t thread) {
    graph_checking *c = context;
    const hf_part *p = c->s->part;
    const uint64_t names = c->s->info->vertices;
    (void)thread;
    for (uint32_t v, end; graph_vertices_take(c, p->vertices, &v, &end);)
        for (; v < end; v++) {
            bool told = (p->names[v] != HF_NO_VERTEX) & (c->words[v] < names);
            uint32_t parent = p->numbers[told ? c->words[v] : 0];
            c->parents[v] = told ? parent : p->vertices;
        }
}

/* Climb from a vertex to one whose level is known, or round a circle: who is met again after a
 * power of two steps is in one. */
static void climb(const graph_checking *c, uint32_t v) {
    uint32_t at = v, n = 0, met = GRAPH_NOBODY, level = GRAPH_NOBODY;
    while (at != met && __atomic_load_n(&c->lows[at], __ATOMIC_ACQUIRE) == UNKNOWN) {
        if ((n & (n - 1)) == 0)
            met = at;
        at = c->parents[at];
        n++;
    }
    if (at != met)
        level = level_of(c, at);
    for (at = v; n > 0; n--, at = c->parents[at])
        level_set(c, at, level == GRAPH_NOBODY ? GRAPH_NOBODY : level + n);
}

/* Mostly a parent's level is known, and a byte. */
static void levels_find(void *context, size_t thread) {
    graph_checking *c = context;
    uint32_t *found = c->found[thread].levels;
    uint8_t below[UINT8_MAX + 1]; /* a level: UNKNOWN where the way is longer */
    memset(below, UNKNOWN, sizeof below);
    for (uint32_t low = 0; low < DEEP - 1; low++)
        below[low] = (uint8_t)(low + 1);
    below[LOST] = LOST;
    memset(found, 0, sizeof c->found->levels);
    for (uint32_t first, end;
         graph_vertices_take(c, c->s->part->vertices, &first, &end);) {
        for (uint32_t v = first; v < end; v++) {
            __builtin_prefetch(
                &c->lows[c->parents[v + GRAPH_AHEAD < end ? v + GRAPH_AHEAD : v]]);
            uint8_t low =
                below[__atomic_load_n(&c->lows[c->parents[v]], __ATOMIC_RELAXED)];
            if (low == UNKNOWN || v == c->source)
                climb(c, v);
            else
                __atomic_store_n(&c->lows[v], low, __ATOMIC_RELAXED);
        }
        for (uint32_t v = first; v < end; v++)
            found[__atomic_load_n(&c->lows[v], __ATOMIC_RELAXED)]++;
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

hf_status graph_levels_begin(graph_checking *c) {
    const hf_part *p = c->s->part;
    c->source = p->numbers[c->s->run.source];
    memset(c->lows, UNKNOWN, p->vertices);
    level_set(c, p->vertices, GRAPH_NOBODY);
    if (c->words[c->source] == p->names[c->source])
        level_set(c, c->source, 0);
    graph_threads_do(c, parents_find);
    graph_threads_do(c, levels_find);
    c->skipped = levels_skip(c);
    return HF_OK;
}

/* Of own vertex `i`: is no in-neighbour higher than the level above, and none, where edges lead
 * both ways, deeper than that below? */
static bool edges_right(const graph_checking *c, uint32_t i, uint32_t level) {
    const hf_part *p = c->s->part;
    uint32_t least = level == GRAPH_NOBODY ? GRAPH_NOBODY : level - (level > 0),
             most = p->mirrored && level != GRAPH_NOBODY ? level + 1 : GRAPH_NOBODY;
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
double graph_levels_vertex(const graph_checking *c, uint32_t i) {
    const hf_part *p = c->s->part;
    uint32_t v = graph_first(c->s) + i, level = level_of(c, v);
    bool right = edges_right(c, i, level);
    if (v == c->source)
        return !right || level != 0;
    if (c->words[v] != GRAPH_NOBODY)
        right = right && level != GRAPH_NOBODY && row_has(p, i, c->parents[v]);
    return !right;
}

/* Right are: a vertex of levels whose edges nobody looks at, whose parent is the first of its row;
 * and one without edges that was not reached. Of the source more is asked. No processor guesses
 * which vertex is one of them, so it is no branch. */
size_t graph_levels_sift(const graph_checking *c, uint32_t first, uint32_t end,
                         uint32_t *which) {
    const hf_part *p = c->s->part;
    const uint32_t own = graph_first(c->s), *leads = p->degrees + p->own;
    size_t n = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t v = own + i;
        bool skipped = (c->lows[v] == c->skipped) | (c->lows[v] == c->skipped + 1),
             in_tree = skipped & (c->parents[v] == leads[i]),
             alone = (c->words[v] == GRAPH_NOBODY) & (leads[i] == HF_NO_VERTEX);
        which[n] = i;
        n += !((in_tree | alone) & (v != c->source));
    }
    return n;
}
