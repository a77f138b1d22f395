/* graph.c - parts of graphs hold every edge once, whoever owns its end. */
#include "graph/graph.h"
#include "graph/edges.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* An edge as it comes in at a vertex: by this order, rows are sorted. */
typedef struct arc {
    uint32_t to, from, weight;
} arc;

typedef struct arcs {
    size_t n, room;
    arc *at;
    uint32_t vertices;
    uint64_t *ends; /* [vertices] */
    bool both, simple;
    pthread_mutex_t lock;
} arcs;

static int arc_compare(const void *left, const void *right) {
    const arc *a = left, *b = right;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->weight == b->weight ? 0 : a->weight < b->weight ? -1 : 1;
}

static void arc_add(arcs *a, uint32_t to, uint32_t from, uint32_t weight) {
    CHECK(to < a->vertices && from < a->vertices, "%u to %u", from, to);
    if (a->simple && to == from)
        return;
    if (a->n == a->room) {
        a->room = 2 * a->room + 64;
        a->at = realloc(a->at, a->room * sizeof *a->at);
    }
    a->at[a->n++] = (arc){to, from, weight};
}

static void arcs_take(void *context, const edge *edges, size_t n) {
    arcs *a = context;
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < n; i++) {
        edge e = edges[i];
        arc_add(a, e.to, e.from, e.weight);
        if (a->both && e.from != e.to)
            arc_add(a, e.from, e.to, e.weight);
        a->ends[e.from]++;
        if (a->both)
            a->ends[e.to]++;
    }
    pthread_mutex_unlock(&a->lock);
}

/* What all parts together must hold, the plain way. */
static arcs expected(const hf_graph *graph, bool both, bool weights) {
    const hf_graph_info *info = hf_graph_info_of(graph);
    arcs a = {.vertices = (uint32_t)info->vertices,
              .ends = calloc(info->vertices + 1, sizeof *a.ends),
              .both = both || !info->directed,
              .simple = info->simple};
    edge_sums sums;
    pthread_mutex_init(&a.lock, NULL);
    CHECK(edges_pass(&sums, graph, weights, &(edge_taker){arcs_take, &a}) == HF_OK);
    CHECK(sums.n == info->edges, "%zu edges", (size_t)sums.n);
    if (a.n)
        qsort(a.at, a.n, sizeof *a.at, arc_compare);
    size_t kept = 0;
    for (size_t i = 0; i < a.n; i++) {
        const arc *last = kept ? &a.at[kept - 1] : NULL;
        if (!a.simple || !last || last->to != a.at[i].to || last->from != a.at[i].from)
            a.at[kept++] = a.at[i];
    }
    a.n = kept;
    pthread_mutex_destroy(&a.lock);
    return a;
}

static void numbers_check(const hf_part *p, uint32_t vertices) {
    CHECK(p->starts[0] == 0 && p->starts[p->size] == p->vertices);
    for (int r = 0; r < p->size; r++)
        CHECK(p->starts[r] <= p->starts[r + 1] && p->starts[r] % HF_VERTEX_GRAIN == 0);
    uint32_t there = 0;
    for (uint32_t i = 0; i < p->vertices; i++) {
        if (p->names[i] == HF_NO_VERTEX)
            continue;
        there++;
        CHECK(p->names[i] < vertices && p->numbers[p->names[i]] == i, "number %u", i);
    }
    CHECK(there == vertices, "%u of %u vertices", there, vertices);
    for (uint32_t i = p->starts[p->rank]; i < p->starts[p->rank] + p->own; i++)
        CHECK(i < p->vertices && p->names[i] != HF_NO_VERTEX);
}

/* Each edge of the part is one that is expected there. */
static size_t part_collect(const hf_part *p, arc *to, const arcs *want, bool weights) {
    size_t n = 0;
    CHECK((p->weights != NULL) == weights);
    CHECK(p->rows[0] == 0 && p->rows[p->own] == p->in_edges);
    for (uint32_t i = 0; i < p->own; i++) {
        uint32_t name = p->names[p->starts[p->rank] + i];
        CHECK(p->ends[i] == want->ends[name], "%u ends of %u", p->ends[i], name);
        for (uint64_t k = p->rows[i]; k < p->rows[i + 1] && n < want->n; k++) {
            CHECK(p->from[k] < p->vertices);
            to[n++] = (arc){name, p->names[p->from[k]], p->weights ? p->weights[k] : 1};
        }
    }
    return n;
}

/* Rows ascend behind their first `firsts` entries, and their first ones lie behind degrees. */
static void rows_check(const hf_part *p, uint64_t firsts) {
    const uint32_t *leads = p->degrees + p->own;
    for (uint32_t i = 0; i < p->own; i++) {
        uint64_t begin = p->rows[i], end = p->rows[i + 1];
        for (uint64_t k = begin + firsts + 1; k < end; k++)
            CHECK(p->from[k - 1] <= p->from[k]);
        CHECK(leads[i] == (begin < end ? p->from[begin] : HF_NO_VERTEX));
    }
}

/* With `hubs` none of a row has more edges than its first. */
static void lead_check(hf_part *p) {
    uint32_t *edges = calloc(p->vertices + (size_t)1, sizeof *edges);
    CHECK(edges && hf_part_lead(p, false) == HF_OK, "%s", hf_error());
    rows_check(p, 0);
    for (uint64_t e = 0; e < p->in_edges; e++)
        edges[p->from[e]]++;
    CHECK(hf_part_lead(p, true) == HF_OK, "%s", hf_error());
    rows_check(p, 1);
    for (uint32_t i = 0; i < p->own; i++)
        for (uint64_t k = p->rows[i]; k < p->rows[i + 1]; k++)
            CHECK(edges[p->from[k]] <= edges[p->from[p->rows[i]]]);
    free(edges);
}

/* Of a rank's vertices first those that edges leave; of each kind in the order of the input, or by
 * falling degree. */
static void order_check(const hf_part *p, bool sorted) {
    const uint32_t *names = p->names + p->starts[p->rank], heard = p->heard[p->rank];
    CHECK(heard <= p->own);
    for (uint32_t i = 0; i < p->own; i++)
        CHECK((p->ends[i] > 0) == (i < heard), "%u ends of %u, %u are heard",
              p->ends[i], i, heard);
    for (uint32_t i = 1; i < p->own; i++)
        CHECK(
            i == heard || (sorted && p->ends[i] < p->ends[i - 1]) ||
                ((!sorted || p->ends[i] == p->ends[i - 1]) && names[i] > names[i - 1]),
            "%u after %u", names[i], names[i - 1]);
}

/* All of a graph keeps the numbers of the input. */
static void whole_check(const hf_graph *graph) {
    const uint32_t vertices = (uint32_t)hf_graph_info_of(graph)->vertices;
    hf_part *p;
    CHECK(hf_part_whole(&p, graph, false, false, UINT64_MAX) == HF_OK, "%s",
          hf_error());
    numbers_check(p, vertices);
    CHECK(p->own == vertices && p->heard[0] == vertices);
    for (uint32_t v = 0; v < vertices; v++)
        CHECK(p->names[v] == v);
    hf_part_free(p);
}

static void parts_check(const hf_graph *graph, const char *partition, int size,
                        bool both, bool weights) {
    arcs want = expected(graph, both, weights);
    arc *got = malloc((want.n + 1) * sizeof *got);
    uint64_t *out = calloc(want.vertices + (size_t)1, sizeof *out);
    for (size_t i = 0; i < want.n; i++)
        out[want.at[i].from]++;
    size_t n = 0;
    for (int rank = 0; rank < size; rank++) {
        hf_part *p;
        hf_status status =
            hf_part_new(&p, graph, partition, rank, size, both, weights, UINT64_MAX);
        CHECK(status == HF_OK, "%s", hf_error());
        if (status != HF_OK)
            break;
        numbers_check(p, want.vertices);
        lead_check(p);
        CHECK(n + p->in_edges <= want.n, "%zu edges too many", (size_t)p->in_edges);
        if (n + p->in_edges <= want.n)
            n += part_collect(p, got + n, &want, weights);
        for (uint32_t i = 0; i < p->own; i++)
            CHECK(p->degrees[i] == out[p->names[p->starts[rank] + i]]);
        order_check(p, strcmp(partition, "sorted") == 0);
        hf_part_free(p);
    }
    if (n)
        qsort(got, n, sizeof *got, arc_compare);
    CHECK(n == want.n && (n == 0 || memcmp(got, want.at, n * sizeof *got) == 0),
          "%zu of %zu edges on %d ranks, %s", n, want.n, size, partition);
    free(out);
    free(got);
    free(want.at);
    free(want.ends);
}

static void generators_check(void) {
    static const char *const graphs[] = {"kron:8",  "kron:5:3", "kron:1:1", "urand:7",
                                         "urand:1", "grid:7",   "grid:8",   "grid:1"};
    static const char *const partitions[] = {"cyclic", "sorted", "edges"};
    static const int sizes[] = {1, 2, 3, 8};
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
        hf_graph *graph;
        CHECK(hf_graph_open(&graph, graphs[g], 1) == HF_OK, "%s", hf_error());
        whole_check(graph);
        for (size_t k = 0; k < sizeof partitions / sizeof *partitions; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                parts_check(graph, partitions[k], sizes[s], s % 2, s < 2);
        hf_graph_close(graph);
    }
}

/* The published shares of the quarters, and a permutation: every level has them. */
static void kronecker_check(void) {
    hf_graph *graph;
    CHECK(hf_graph_open(&graph, "kron:1:60000", 7) == HF_OK, "%s", hf_error());
    hf_part *p;
    CHECK(hf_part_new(&p, graph, "cyclic", 0, 1, false, false, UINT64_MAX) == HF_OK);
    double ends[] = {p->ends[0], p->ends[1]};
    double heavy = ends[0] > ends[1] ? ends[0] : ends[1];
    CHECK(p->in_edges == 2 && heavy / 240000 > .755 && heavy / 240000 < .765, "%g",
          heavy / 240000);
    hf_part_free(p);
    hf_graph_close(graph);
}

/* `sorted` gives rank r the vertices r, r + size, ... by falling degree; `edges` ranges with
 * as many edges as each other but for the degree of a vertex. */
static void balance_check(void) {
    hf_graph *graph;
    CHECK(hf_graph_open(&graph, "kron:10", 3) == HF_OK, "%s", hf_error());
    uint64_t most = 0, least = UINT64_MAX;
    uint32_t degree = 0, last = 0;
    for (int rank = 0; rank < 3; rank++) {
        hf_part *p;
        CHECK(hf_part_new(&p, graph, "sorted", rank, 3, false, false, UINT64_MAX) ==
              HF_OK);
        for (uint32_t i = 1; i < p->own; i++)
            CHECK(p->ends[i] <= p->ends[i - 1], "%u after %u", p->ends[i],
                  p->ends[i - 1]);
        CHECK(rank == 0 || p->ends[0] <= last);
        last = p->ends[0];
        hf_part_free(p);
        CHECK(hf_part_new(&p, graph, "edges", rank, 3, false, false, UINT64_MAX) ==
              HF_OK);
        uint64_t ends = 0;
        uint32_t lowest = UINT32_MAX, highest = 0;
        for (uint32_t i = 0; i < p->own; i++) {
            const uint32_t name = p->names[p->starts[rank] + i];
            ends += p->ends[i];
            degree = p->ends[i] > degree ? p->ends[i] : degree;
            lowest = name < lowest ? name : lowest;
            highest = name > highest ? name : highest;
        }
        CHECK(highest - lowest + 1 == p->own, "%u to %u", lowest, highest);
        most = ends > most ? ends : most;
        least = ends < least ? ends : least;
        hf_part_free(p);
    }
    CHECK(most - least <= degree + 1024, "%zu and %zu", (size_t)most, (size_t)least);
    hf_graph_close(graph);
}

static void survey_check(void) {
    hf_graph *graph;
    hf_survey s;
    CHECK(hf_graph_open(&graph, "kron:8", 3) == HF_OK, "%s", hf_error());
    CHECK(hf_survey_make(&s, graph, "edges", 0, UINT64_MAX) == HF_EARG);
    CHECK(hf_survey_make(&s, graph, "none", 3, UINT64_MAX) == HF_EARG);
    CHECK(hf_survey_make(&s, graph, "edges", 3, UINT64_MAX) == HF_OK, "%s", hf_error());
    uint64_t degrees = 0,
             in_edges = s.rank_edges[0] + s.rank_edges[1] + s.rank_edges[2];
    for (uint64_t v = 0; v < hf_graph_info_of(graph)->vertices; v++)
        degrees += s.degrees[v];
    CHECK(degrees == in_edges && s.cut > 0 && s.cut < in_edges);
    CHECK(in_edges / 2 + s.self_loops + s.duplicates == hf_graph_info_of(graph)->edges);
    hf_survey_free(&s);
    hf_graph_close(graph);
}

static uint64_t digest_of(const char *text, uint64_t seed) {
    hf_graph *graph = NULL;
    CHECK(hf_graph_open(&graph, text, seed) == HF_OK, "%s: %s", text, hf_error());
    uint64_t digest = graph ? hf_graph_info_of(graph)->digest : 0;
    hf_graph_close(graph);
    return digest;
}

static void digests_check(void) {
    CHECK(digest_of("kron:8", 1) == digest_of("kron:8:16", 1));
    CHECK(digest_of("kron:8", 1) != digest_of("kron:8", 2));
    CHECK(digest_of("kron:8", 1) != digest_of("kron:9", 1));
    CHECK(digest_of("kron:8", 1) != digest_of("kron:8:15", 1));
    CHECK(digest_of("kron:8", 1) != digest_of("urand:8", 1));
    CHECK(digest_of("kron:8", 1) == digest_of("unweighted:kron:8", 1));
}

static void refused(const char *text, const char *said) {
    hf_graph *graph = NULL;
    CHECK(hf_graph_open(&graph, text, 0) == HF_EARG && !graph, "%s", text);
    CHECK(strstr(hf_error(), said), "%s: %s", text, hf_error());
}

/* A byte less than a part takes, or a survey, which makes two, is too little. */
static void room_check(void) {
    hf_graph *graph;
    hf_part *part;
    hf_survey survey;
    CHECK(hf_graph_open(&graph, "kron:8", 0) == HF_OK);
    uint64_t bytes = hf_part_bytes(graph, 4, false, false);
    CHECK(hf_part_new(&part, graph, "cyclic", 0, 4, false, false, bytes - 1) ==
          HF_ENOMEM);
    CHECK(strstr(hf_error(), "the largest that fits has scale 7"), "%s", hf_error());
    CHECK(hf_part_new(&part, graph, "cyclic", 0, 4, false, false, bytes) == HF_OK, "%s",
          hf_error());
    hf_part_free(part);
    bytes += hf_part_bytes(graph, 1, false, false);
    CHECK(hf_survey_make(&survey, graph, "edges", 4, bytes - 1) == HF_ENOMEM);
    CHECK(hf_survey_make(&survey, graph, "edges", 4, bytes) == HF_OK, "%s", hf_error());
    hf_survey_free(&survey);
    hf_graph_close(graph);
}

static void refusals_check(void) {
    refused("kron", "neither kron:SCALE");
    refused("kron:", "kron:SCALE");
    refused("kron:x", "kron:SCALE");
    refused("kron:8:", "kron:SCALE");
    refused("kron:8:16:1", "kron:SCALE");
    refused("kron:-1", "kron:SCALE");
    refused("grid:8:16", "grid:SCALE");
    refused("kron:0", "scale 0 is not within 1 and 31");
    refused("kron:32", "scale 32");
    refused("kron:8:0", "0 edges a vertex");
    hf_graph *graph;
    hf_part *part;
    CHECK(hf_graph_open(&graph, "unweighted:grid:4", 0) == HF_OK);
    CHECK(hf_part_new(&part, graph, "cyclic", 0, 1, false, true, UINT64_MAX) ==
          HF_EARG);
    CHECK(strstr(hf_error(), "has no weights"), "%s", hf_error());
    CHECK(hf_part_new(&part, graph, "cyclical", 0, 1, false, false, UINT64_MAX) ==
          HF_EARG);
    CHECK(strstr(hf_error(), "none of cyclic, sorted, edges"), "%s", hf_error());
    CHECK(hf_part_new(&part, graph, "cyclic", 2, 2, false, false, UINT64_MAX) ==
          HF_EARG);
    hf_graph_close(graph);
    CHECK(hf_graph_open(&graph, "kron:31:65536", 0) == HF_OK);
    CHECK(hf_part_new(&part, graph, "cyclic", 0, 1, false, false, (uint64_t)1 << 40) ==
          HF_ENOMEM);
    CHECK(strstr(hf_error(), "the largest that fits has scale"), "%s", hf_error());
    hf_graph_close(graph);
    room_check();
}

int main(void) {
    generators_check();
    kronecker_check();
    balance_check();
    survey_check();
    digests_check();
    refusals_check();
    return check_failures != 0;
}
