/* stored.c - graphs as arrays: the library's own files, .hfg, and those of the GAP benchmark
 * suite, .sg and .wsg. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph_file.h"

enum { BLOCK = 1 << 14 }; /* edges */

typedef struct stored_graph {
    file_graph base;
    uint64_t edges;   /**< entries of the file */
    uint64_t begin;   /**< place of the first */
    int64_t *offsets; /**< [vertices + 1] first entry of each row, or NULL */
    bool column;      /**< entries have weights */
} stored_graph;

static const char hfg_magic[8] = {'H', 'F', 'G', 'R', 'A', 'P', 'H', '1'};

static void stored_free(stored_graph *g) {
    free(g->offsets);
    free(g);
}

static void stored_close(hf_graph *graph) {
    stored_graph *g = (stored_graph *)graph;
    graph_file_close(&g->base.file);
    stored_free(g);
}

static hf_status entry_fail(const stored_graph *g, uint64_t entry, const char *what,
                            long long value, uint64_t low, uint64_t high) {
    return hf_fail(HF_EARG,
                   "graph %s: edge %llu: %s %lld is no whole number from %llu to %llu",
                   g->base.file.path, (unsigned long long)entry, what, value,
                   (unsigned long long)low, (unsigned long long)high);
}

static size_t entries_of(const stored_graph *g, uint64_t first) {
    return g->edges - first < BLOCK ? (size_t)(g->edges - first) : BLOCK;
}

/* ---- three arrays ---- */

static hf_status arrays_block(const hf_graph *graph, uint64_t block, edge_flow *flow) {
    const stored_graph *g = (const stored_graph *)graph;
    uint64_t first = block * BLOCK, vertices = graph->info.vertices;
    size_t n = entries_of(g, first), bytes = n * sizeof(uint32_t);
    HF_TRY(flow_room(flow, 3 * bytes));
    uint32_t *words = flow->room;
    for (size_t i = 0; i < (flow->weights ? 3 : 2); i++)
        HF_TRY(graph_file_read(&g->base.file, words + i * n,
                               g->begin + (i * g->edges + first) * sizeof *words,
                               bytes));
    const uint32_t *from = words, *to = words + n, *weights = words + 2 * n;
    for (size_t i = 0; i < n; i++) {
        uint32_t high = from[i] > to[i] ? from[i] : to[i];
        if (high >= vertices)
            return entry_fail(g, first + i, "vertex", high, 0, vertices - 1);
        if (flow->weights && weights[i] == 0)
            return entry_fail(g, first + i, "weight", 0, 1, UINT32_MAX);
        edge_put(flow, from[i], to[i], flow->weights ? weights[i] : 1);
    }
    return HF_OK;
}

/* ---- rows ---- */

/* Row of an entry: the last that begins at or before it. */
static uint32_t row_find(const stored_graph *g, uint64_t entry) {
    uint64_t low = 0, high = g->base.graph.info.vertices; /* offsets[high] > entry */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        *((uint64_t)g->offsets[middle] <= entry ? &low : &high) = middle;
    }
    return (uint32_t)low;
}

static hf_status rows_block(const hf_graph *graph, uint64_t block, edge_flow *flow) {
    const stored_graph *g = (const stored_graph *)graph;
    uint64_t first = block * BLOCK, vertices = graph->info.vertices;
    size_t n = entries_of(g, first), step = g->column ? 2 : 1;
    HF_TRY(flow_room(flow, n * step * sizeof(int32_t)));
    const int32_t *words = flow->room;
    HF_TRY(graph_file_read(&g->base.file, flow->room,
                           g->begin + first * step * sizeof *words,
                           n * step * sizeof *words));
    uint32_t row = row_find(g, first);
    for (size_t i = 0; i < n; i++) {
        int32_t to = words[i * step], weight = flow->weights ? words[i * step + 1] : 1;
        while ((uint64_t)g->offsets[row + 1] <= first + i)
            row++;
        if (to < 0 || (uint64_t)to >= vertices)
            return entry_fail(g, first + i, "vertex", to, 0, vertices - 1);
        if (weight < 1)
            return entry_fail(g, first + i, "weight", weight, 1, INT32_MAX);
        if (g->base.twice)
            edge_mirror(flow, row, (uint32_t)to, (uint32_t)weight);
        else
            edge_put(flow, row, (uint32_t)to, (uint32_t)weight);
    }
    return HF_OK;
}

/* ---- headers ---- */

static const graph_ops arrays_ops = {arrays_block, file_graph_same, stored_close};
static const graph_ops rows_ops = {rows_block, file_graph_same, stored_close};

static stored_graph *stored_new(uint64_t vertices, uint64_t edges, bool directed,
                                bool weighted) {
    stored_graph *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->edges = edges;
    g->base.told = UINT64_MAX;
    g->base.graph.blocks = (edges + BLOCK - 1) / BLOCK;
    g->base.graph.info = (hf_graph_info){
        .vertices = vertices, .directed = directed, .weighted = weighted};
    return g;
}

/* Refuses a file that has not exactly what its header tells. */
static hf_status size_check(const graph_file *file, uint64_t wanted) {
    return file->bytes == wanted
               ? HF_OK
               : hf_fail(HF_EARG,
                         "graph %s has %llu B, by its header it should have %llu B",
                         file->path, (unsigned long long)file->bytes,
                         (unsigned long long)wanted);
}

/* `n` things of the header may be in the file; what is computed of them does not overflow. */
static hf_status told_check(const graph_file *file, const char *what, int64_t n) {
    return n >= 0 && (uint64_t)n <= file->bytes
               ? HF_OK
               : hf_fail(
                     HF_EARG, "graph %s: its header tells %lld %s, in a file of %llu B",
                     file->path, (long long)n, what, (unsigned long long)file->bytes);
}

hf_status hfg_open(file_graph **out, const graph_file *file, bool weights) {
    struct {
        char magic[8];
        int64_t vertices, edges;
        uint32_t directed, weighted;
    } head;
    HF_TRY(graph_file_read(file, &head, 0, sizeof head));
    if (memcmp(head.magic, hfg_magic, sizeof hfg_magic) != 0)
        return hf_fail(HF_EARG, "graph %s: no .hfg file of this version", file->path);
    HF_TRY(told_check(file, "edges", head.edges));
    uint64_t edges = (uint64_t)head.edges;
    HF_TRY(size_check(file, sizeof head +
                                edges * sizeof(uint32_t) * (head.weighted ? 3 : 2)));
    HF_TRY(vertices_check(file, (uint64_t)head.vertices));
    stored_graph *g = stored_new((uint64_t)head.vertices, edges, head.directed != 0,
                                 head.weighted && weights);
    if (!g)
        return hf_fail(HF_ENOMEM, "no memory for graph %s", file->path);
    g->begin = sizeof head;
    g->base.graph.ops = &arrays_ops;
    *out = &g->base;
    return HF_OK;
}

static hf_status offsets_read(stored_graph *g, const graph_file *file, uint64_t at) {
    uint64_t rows = g->base.graph.info.vertices;
    g->offsets = malloc((rows + 1) * sizeof *g->offsets);
    if (!g->offsets)
        return hf_fail(HF_ENOMEM, "no memory for rows of graph %s", file->path);
    HF_TRY(graph_file_read(file, g->offsets, at, (rows + 1) * sizeof *g->offsets));
    bool ascend = g->offsets[0] == 0 && g->offsets[rows] == (int64_t)g->edges;
    uint64_t row = 0;
    while (ascend && row < rows && g->offsets[row] <= g->offsets[row + 1])
        row++;
    if (ascend && row == rows)
        return HF_OK;
    return hf_fail(HF_EARG,
                   "graph %s: rows begin at %lld, end at %lld of %llu entries, and do "
                   "not ascend at row %llu",
                   file->path, (long long)g->offsets[0], (long long)g->offsets[rows],
                   (unsigned long long)g->edges, (unsigned long long)row);
}

/* A byte that says whether the graph is directed, entries, rows; the begins of rows, and
 * entries; of directed graphs the same again by the vertices that edges come to. */
static hf_status serialized_open(file_graph **out, const graph_file *file, bool column,
                                 bool weights) {
    char head[1 + 2 * sizeof(int64_t)];
    int64_t told[2];
    HF_TRY(graph_file_read(file, head, 0, sizeof head));
    memcpy(told, head + 1, sizeof told);
    if ((unsigned char)*head > 1)
        return hf_fail(HF_EARG, "graph %s: its first byte is %d, not 0 or 1",
                       file->path, (unsigned char)*head);
    HF_TRY(told_check(file, "edges", told[0]));
    HF_TRY(told_check(file, "vertices", told[1]));
    uint64_t edges = (uint64_t)told[0], rows = (uint64_t)told[1];
    uint64_t entry = sizeof(int32_t) * (column ? 2 : 1);
    uint64_t bytes = (rows + 1) * sizeof(int64_t) + edges * entry;
    HF_TRY(size_check(file, sizeof head + bytes * (*head ? 2 : 1)));
    HF_TRY(vertices_check(file, rows));
    stored_graph *g = stored_new(rows, edges, *head, column && weights);
    if (!g)
        return hf_fail(HF_ENOMEM, "no memory for graph %s", file->path);
    g->column = column;
    g->begin = sizeof head + (rows + 1) * sizeof(int64_t);
    g->base.twice = !*head;
    g->base.graph.ops = &rows_ops;
    hf_status status = offsets_read(g, file, sizeof head);
    if (status == HF_OK)
        *out = &g->base;
    else
        stored_free(g);
    return status;
}

hf_status sg_open(file_graph **out, const graph_file *file, bool weights) {
    return serialized_open(out, file, false, weights);
}

hf_status wsg_open(file_graph **out, const graph_file *file, bool weights) {
    return serialized_open(out, file, true, weights);
}
