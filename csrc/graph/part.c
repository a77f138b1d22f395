/* part.c - the part of a graph that a rank holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/parallel.h"
#include "numbering.h"
#include "rows.h"

typedef struct part {
    hf_part base;
    numbering numbering;
    graph_rows in;
    uint32_t *degrees, *ends;
} part;

/* ---- counted ---- */

typedef struct counts {
    uint32_t *in, *out; /**< [vertices]; where directions do not count, `in` is both */
    bool both;
} counts;

static void counts_take(void *context, const edge *edges, size_t n) {
    const counts *c = context;
    for (size_t i = 0; i < n; i++) {
        __atomic_fetch_add(&c->in[edges[i].to], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&c->out[edges[i].from], 1, __ATOMIC_RELAXED);
    }
}

/* A vertex may have 2^32 ends, as duplicates; its count is short then. */
static hf_status counts_check(const uint32_t *count, uint32_t vertices, uint64_t wanted,
                              const hf_graph *graph) {
    uint64_t all = 0;
    for (uint32_t v = 0; v < vertices; v++)
        all += count[v];
    return all == wanted ? HF_OK
                         : hf_fail(HF_EARG, "graph %s: a vertex has more than %u edges",
                                   graph->text, UINT32_MAX);
}

static hf_status counts_make(counts *out, const hf_graph *graph, bool both) {
    uint32_t vertices = (uint32_t)graph->info.vertices;
    out->both = both;
    out->in = calloc(vertices + (size_t)1, sizeof *out->in);
    out->out = both ? out->in : calloc(vertices + (size_t)1, sizeof *out->out);
    if (!out->in || !out->out)
        return hf_fail(HF_ENOMEM, "no memory for degrees of %u vertices", vertices);
    HF_TRY(edges_again(graph, false, &(edge_taker){counts_take, out}));
    uint64_t edges = graph->info.edges;
    HF_TRY(counts_check(out->in, vertices, both ? 2 * edges : edges, graph));
    return both ? HF_OK : counts_check(out->out, vertices, edges, graph);
}

static void counts_free(counts *c) {
    if (!c->both)
        free(c->out);
    free(c->in);
}

/* Edges at each vertex, in any direction; in the place of `out`. */
static const uint32_t *counts_ends(uint32_t **out, const counts *c, uint32_t vertices) {
    *out = NULL;
    if (c->both)
        return c->in;
    *out = malloc((vertices + (size_t)1) * sizeof **out);
    for (uint32_t v = 0; *out && v < vertices; v++) {
        uint64_t ends = (uint64_t)c->in[v] + c->out[v];
        (*out)[v] = ends < UINT32_MAX ? (uint32_t)ends : UINT32_MAX;
    }
    return *out;
}

/* ---- made ---- */

/* Counts of the rank's own vertices: [own], for `free`. */
static uint32_t *own_counts(const part *p, const uint32_t *count) {
    uint32_t first = p->in.first, own = p->in.own;
    uint32_t *out = malloc((own + (size_t)1) * sizeof *out);
    for (uint32_t i = 0; out && i < own; i++)
        out[i] = count[p->numbering.names[first + i]];
    return out;
}

/* Out-degrees, in the place of the input's. Duplicates of a directed graph are seen only
 * in rows of edges that leave; these are made and thrown away. */
static hf_status degrees_set(part *p, const uint32_t *out) {
    const hf_graph *graph = p->in.graph;
    graph_rows away = {0}, *rows = &p->in;
    hf_status status = HF_OK;
    if (!p->in.both && !graph->info.simple) {
        memcpy(p->degrees, out, p->in.own * sizeof *out);
        return HF_OK;
    }
    if (!p->in.both) {
        away = (graph_rows){.graph = graph,
                            .numbers = p->numbering.numbers,
                            .first = p->in.first,
                            .own = p->in.own,
                            .backward = true};
        rows = &away;
        status = rows_make(&away, out);
    }
    for (uint32_t i = 0; status == HF_OK && i < p->in.own; i++)
        p->degrees[i] = (uint32_t)(rows->rows[i + 1] - rows->rows[i]);
    rows_free(&away);
    return status;
}

static hf_status part_fill(part *p, const counts *c) {
    uint32_t *in = own_counts(p, c->in);
    p->ends = own_counts(p, c->out);
    p->degrees = malloc((2 * (size_t)p->in.own + 1) * sizeof *p->degrees);
    hf_status status = HF_OK;
    if (!in || !p->ends || !p->degrees)
        status = hf_fail(HF_ENOMEM, "no memory for degrees of %u vertices", p->in.own);
    if (status == HF_OK)
        status = rows_make(&p->in, in);
    if (status == HF_OK)
        status = degrees_set(p, p->ends);
    free(in);
    return status;
}

static hf_status part_number(part *p, const char *partition, const counts *c, int rank,
                             int size) {
    uint32_t *own, vertices = (uint32_t)p->in.graph->info.vertices;
    const uint32_t *ends = counts_ends(&own, c, vertices);
    if (!ends)
        return hf_fail(HF_ENOMEM, "no memory for degrees of %u vertices", vertices);
    const vertex_edges edges = {vertices, c->in, c->out, ends};
    hf_status status = numbering_make(&p->numbering, partition, size, &edges);
    free(own);
    if (status != HF_OK)
        return status;
    p->in.numbers = p->numbering.numbers;
    p->in.first = p->numbering.starts[rank];
    p->in.own = p->numbering.owns[rank];
    return HF_OK;
}

/* Of the graph, and of what the partition made of it: numbers alone do not tell owners. */
static uint64_t part_digest(const part *p, int size) {
    const numbering *n = &p->numbering;
    uint64_t digest = hf_digest(p->in.graph->info.digest, n->starts,
                                ((size_t)size + 1) * sizeof *n->starts);
    return hf_digest(digest, n->numbers,
                     p->in.graph->info.vertices * sizeof *n->numbers);
}

static hf_status part_fits(const hf_graph *graph, int size, bool both, bool weights,
                           uint64_t left) {
    uint64_t wanted = hf_part_bytes(graph, size, both, weights);
    if (wanted <= left)
        return HF_OK;
    hf_graph smaller = *graph;
    while (smaller.scale > 0 && hf_part_bytes(&smaller, size, both, weights) > left) {
        smaller.scale--;
        smaller.info.vertices /= 2;
        smaller.info.edges /= 2;
    }
    char fits[64] = "", each[32] = "its one rank";
    if (size > 1)
        snprintf(each, sizeof each, "each of %d ranks", size);
    if (smaller.scale > 0)
        snprintf(fits, sizeof fits, "; the largest that fits has scale %u",
                 smaller.scale);
    return hf_fail(HF_ENOMEM,
                   "graph %s: %s takes %.3g GB, and this host has %.3g GB "
                   "left for one%s",
                   graph->text, each, (double)wanted / 1e9, (double)left / 1e9, fits);
}

static hf_status part_new(hf_part **out, const hf_graph *graph, const char *partition,
                          int rank, int size, bool both, bool weights, uint64_t left) {
    double start = hf_clock_now();
    if (weights && !graph->info.weighted)
        return hf_fail(HF_EARG, "graph %s has no weights", graph->text);
    HF_TRY(part_fits(graph, size, both, weights, left));
    part *p = calloc(1, sizeof *p);
    if (!p)
        return hf_fail(HF_ENOMEM, "no memory for a part of graph %s", graph->text);
    p->in = (graph_rows){
        .graph = graph, .both = both || !graph->info.directed, .weights = weights};
    counts c = {0};
    hf_status status = counts_make(&c, graph, p->in.both);
    if (status == HF_OK)
        status = part_number(p, partition, &c, rank, size);
    if (status == HF_OK)
        status = part_fill(p, &c);
    counts_free(&c);
    if (status != HF_OK) {
        hf_part_free(&p->base);
        return status;
    }
    p->base = (hf_part){.rank = rank,
                        .size = size,
                        .vertices = p->numbering.starts[size],
                        .starts = p->numbering.starts,
                        .own = p->in.own,
                        .heard = p->numbering.heard,
                        .in_edges = p->in.rows[p->in.own],
                        .rows = p->in.rows,
                        .from = p->in.from,
                        .mirrored = p->in.both,
                        .weights = p->in.weight,
                        .degrees = p->degrees,
                        .ends = p->ends,
                        .names = p->numbering.names,
                        .numbers = p->numbering.numbers,
                        .digest = part_digest(p, size),
                        .time = hf_clock_now() - start};
    *out = &p->base;
    return HF_OK;
}

hf_status hf_part_new(hf_part **out, const hf_graph *graph, const char *partition,
                      int rank, int size, bool both, bool weights, uint64_t left) {
    if (size < 1 || rank < 0 || rank >= size)
        return hf_fail(HF_EARG, "rank %d of %d ranks", rank, size);
    return part_new(out, graph, partition, rank, size, both, weights, left);
}

hf_status hf_part_whole(hf_part **out, const hf_graph *graph, bool both, bool weights,
                        uint64_t left) {
    return part_new(out, graph, NULL, 0, 1, both, weights, left);
}

/* ---- first edges ---- */

typedef struct leading {
    const graph_rows *rows;
    uint32_t *leads;       /* [own] first edges */
    const uint32_t *edges; /* [vertices] of each neighbour; NULL: the first stays */
    size_t threads;
} leading;

/* Entry `best` of a row goes in front of those before it. */
static void first_become(uint32_t *row, uint64_t best) {
    uint32_t first = row[best];
    memmove(row + 1, row, best * sizeof *row);
    row[0] = first;
}

static void row_lead(const leading *l, uint32_t v) {
    const graph_rows *r = l->rows;
    uint64_t begin = r->rows[v], n = r->rows[v + 1] - begin, best = 0;
    uint32_t *from = r->from + begin;
    for (uint64_t e = 1; l->edges && e < n; e++)
        if (l->edges[from[e]] > l->edges[from[best]])
            best = e;
    if (best > 0) {
        first_become(from, best);
        if (r->weight)
            first_become(r->weight + begin, best);
    }
    l->leads[v] = n ? from[0] : HF_NO_VERTEX;
}

static void rows_lead(void *context, size_t thread) {
    enum { ROWS = 4096 }; /* rows of hubs lie together */
    const leading *l = context;
    for (uint64_t at = thread * ROWS; at < l->rows->own; at += l->threads * ROWS)
        for (uint64_t v = at; v < at + ROWS && v < l->rows->own; v++)
            row_lead(l, (uint32_t)v);
}

hf_status hf_part_lead(hf_part *base, bool hubs) {
    double start = hf_clock_now();
    const part *p = (part *)base;
    const graph_rows *r = &p->in;
    uint32_t *edges = hubs ? calloc(base->vertices + (size_t)1, sizeof *edges) : NULL;
    if (hubs && !edges)
        return hf_fail(HF_ENOMEM, "no memory for edges of %u vertices", base->vertices);
    for (uint64_t e = 0; hubs && e < base->in_edges; e++)
        edges[r->from[e]]++;
    leading l = {.rows = r,
                 .leads = p->degrees + p->in.own,
                 .edges = edges,
                 .threads = hf_cores()};
    hf_parallel(l.threads, rows_lead, &l);
    free(edges);
    base->time += hf_clock_now() - start;
    return HF_OK;
}

void hf_part_free(hf_part *base) {
    part *p = (part *)base;
    if (!p)
        return;
    numbering_free(&p->numbering);
    rows_free(&p->in);
    free(p->degrees);
    free(p->ends);
    free(p);
}

uint64_t hf_part_bytes(const hf_graph *graph, int size, bool both, bool weights) {
    const hf_graph_info *info = &graph->info;
    uint64_t word = sizeof(uint32_t), ranks = (uint64_t)size;
    uint64_t own = info->vertices / ranks + 1;
    uint64_t kept = (both || !info->directed ? 2 : 1) * (info->edges / ranks + 1);
    /* names, numbers, and while they are made: counts, order, owners */
    uint64_t bytes = info->vertices * word * (info->directed && !both ? 7 : 5);
    bytes += own * (sizeof(uint64_t) + 3 * word); /* rows, degrees, ends, room */
    bytes += (own + kept * (weights ? 2 : 1)) * word;
    if (info->directed && !both && info->simple)
        bytes += kept * word + own * sizeof(uint64_t);
    return bytes;
}
