/* survey.c - what a graph is like, and how evenly a partition cuts it. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/error.h"
#include "edges.h"

static void loops_take(void *context, const edge *edges, size_t n) {
    _Atomic uint64_t *loops = context;
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += edges[i].from == edges[i].to;
    atomic_fetch_add(loops, found);
}

/* Neighbours that are others, each once, summed over all vertices. */
static uint64_t pairs_count(const hf_part *p) {
    uint64_t pairs = 0;
    for (uint32_t v = 0; v < p->own; v++)
        for (uint64_t k = p->rows[v]; k < p->rows[v + 1]; k++)
            pairs +=
                p->from[k] != v && (k == p->rows[v] || p->from[k] != p->from[k - 1]);
    return pairs;
}

static uint64_t components_count(const hf_part *p, uint32_t *parents) {
    uint64_t components = p->own;
    for (uint32_t v = 0; v < p->own; v++)
        parents[v] = v;
    for (uint32_t v = 0; v < p->own; v++)
        for (uint64_t k = p->rows[v]; k < p->rows[v + 1]; k++) {
            uint32_t a = hf_forest_root(parents, v),
                     b = hf_forest_root(parents, p->from[k]);
            parents[a > b ? a : b] = a > b ? b : a;
            components -= a != b;
        }
    return components;
}

static int owner_of(const hf_part *cut, uint32_t name) {
    uint32_t number = cut->numbers[name];
    int low = 0, high = cut->size; /* starts[high] is beyond */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        *(cut->starts[middle] <= number ? &low : &high) = middle;
    }
    return low;
}

/* In-edges of each rank of `cut`, and those that come from another rank. */
static void cut_count(hf_survey *s, const hf_part *whole, const hf_part *cut,
                      uint32_t *owners) {
    for (uint32_t v = 0; v < whole->own; v++)
        owners[v] = (uint32_t)owner_of(cut, v);
    for (uint32_t v = 0; v < whole->own; v++) {
        s->rank_edges[owners[v]] += whole->rows[v + 1] - whole->rows[v];
        for (uint64_t k = whole->rows[v]; k < whole->rows[v + 1]; k++)
            s->cut += owners[whole->from[k]] != owners[v];
    }
}

static void survey_fill(hf_survey *s, const hf_graph_info *info, const hf_part *whole,
                        const hf_part *cut, uint32_t *words) {
    uint64_t pairs = pairs_count(whole) / (info->directed ? 1 : 2);
    s->duplicates = info->edges - s->self_loops - pairs;
    s->components = components_count(whole, words);
    for (uint32_t v = 0; v < whole->own; v++) {
        s->degrees[v] = whole->degrees[v];
        s->isolated += !whole->degrees[v] && whole->rows[v] == whole->rows[v + 1];
    }
    cut_count(s, whole, cut, words);
    s->part_time = cut->time;
}

static hf_status survey_make(hf_survey *s, const hf_graph *graph, const hf_part *whole,
                             const char *partition, int ranks, uint64_t left) {
    _Atomic uint64_t loops = 0;
    edge_sums sums;
    hf_part *cut = NULL;
    size_t room = ((size_t)whole->own + 1) * sizeof(uint32_t);
    HF_TRY(edges_pass(&sums, graph, false, &(edge_taker){loops_take, &loops}));
    HF_TRY(hf_part_new(&cut, graph, partition, 0, ranks, false, false, left));
    uint32_t *words = malloc(room);
    s->self_loops = loops;
    s->degrees = malloc(room);
    s->rank_edges = calloc((size_t)ranks, sizeof *s->rank_edges);
    bool made = words && s->degrees && s->rank_edges;
    if (made)
        survey_fill(s, &graph->info, whole, cut, words);
    free(words);
    hf_part_free(cut);
    return made
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for degrees of %u vertices", whole->own);
}

hf_status hf_survey_make(hf_survey *out, const hf_graph *graph, const char *partition,
                         int ranks, uint64_t left) {
    hf_part *whole;
    *out = (hf_survey){0};
    if (ranks < 1)
        return hf_fail(HF_EARG, "%d ranks", ranks);
    HF_TRY(hf_part_whole(&whole, graph, false, false, left));
    hf_status status = survey_make(out, graph, whole, partition, ranks,
                                   left - hf_part_bytes(graph, 1, false, false));
    hf_part_free(whole);
    if (status != HF_OK)
        hf_survey_free(out);
    return status;
}

void hf_survey_free(hf_survey *survey) {
    free(survey->degrees);
    free(survey->rank_edges);
}
