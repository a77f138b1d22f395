/* metis.c - graphs as METIS writes them, .graph: a line of neighbours for each vertex. */
#include <stdlib.h>

#include "core/error.h"
#include "graph_text.h"

static const size_t longest = (size_t)1 << 30; /* line of a vertex [B] */

/* ---- lines ---- */

/* Only counts: `lines` gets the vertices of each block. */
static hf_status lines_count(const text_graph *g, uint64_t block, const char *at,
                             const char *end, edge_flow *flow) {
    (void)flow;
    uint64_t lines = 0;
    for (; at < end; at = line_end(at) + 1)
        lines += *at != '%';
    g->lines[block + 1] = lines;
    return HF_OK;
}

static hf_status vertex_read(const text_graph *g, uint64_t block, const char *text,
                             const char *at, uint32_t vertex, edge_flow *flow) {
    uint64_t last = g->base.graph.info.vertices, other, unread;
    uint32_t weight = 1;
    const char *next;
    for (uint64_t i = 0; i < g->skip; i++, at = blanks_skip(next))
        if (!(next = digits_read(at, &unread)))
            return word_fail(g, block, text, at, "number of the vertex", 0, UINT32_MAX);
    while (*at != '\n') {
        next = digits_read(at, &other);
        if (!next || other < 1 || other > last)
            return word_fail(g, block, text, at, "neighbour", 1, last);
        if (other - 1 == vertex)
            return line_fail(g, block, text, at, "a vertex is its own neighbour");
        at = blanks_skip(next);
        if (g->column) {
            next = flow->weights ? weight_read(at, &weight) : digits_read(at, &unread);
            if (!next)
                return weight_fail(g, block, text, at);
            at = blanks_skip(next);
        }
        edge_mirror(flow, vertex, (uint32_t)other - 1, weight);
    }
    return HF_OK;
}

static hf_status vertices_read(const text_graph *g, uint64_t block, const char *at,
                               const char *end, edge_flow *flow) {
    const char *text = at;
    uint64_t vertex = g->lines[block], vertices = g->base.graph.info.vertices;
    for (; at < end; at = line_end(at) + 1) {
        if (*at == '%')
            continue;
        const char *here = blanks_skip(at);
        if (vertex < vertices)
            HF_TRY(vertex_read(g, block, text, here, (uint32_t)vertex, flow));
        else if (*here != '\n')
            return line_fail(g, block, text, here, "all vertices had their lines");
        vertex++;
    }
    return HF_OK;
}

/* ---- header ---- */

/* Vertices before each block. */
static hf_status lines_set(text_graph *g, const graph_file *file) {
    uint64_t blocks = g->base.graph.blocks, vertices = g->base.graph.info.vertices;
    edge_sums none;
    g->lines = calloc(blocks + 1, sizeof *g->lines);
    if (!g->lines)
        return hf_fail(HF_ENOMEM, "no memory for graph %s", file->path);
    g->base.file = *file;
    g->read = lines_count;
    HF_TRY(edges_pass(&none, &g->base.graph, false, NULL));
    g->read = vertices_read;
    for (uint64_t b = 0; b < blocks; b++)
        g->lines[b + 1] += g->lines[b];
    if (g->lines[blocks] >= vertices)
        return HF_OK;
    return hf_fail(
        HF_EARG, "graph %s: its header tells %llu vertices, it has lines for %llu",
        file->path, (unsigned long long)vertices, (unsigned long long)g->lines[blocks]);
}

/* "VERTICES EDGES [FORMAT [NUMBERS]]": digits of the format say that vertices have sizes,
 * vertices have weights (so many numbers), edges have weights. */
static bool header_read(const char *at, uint64_t numbers[4]) {
    numbers[2] = 0;
    numbers[3] = 1;
    for (size_t i = 0; i < 4 && (i < 2 || *blanks_skip(at) != '\n'); i++) {
        at = digits_read(blanks_skip(at), &numbers[i]);
        if (!at)
            return false;
    }
    uint64_t format = numbers[2];
    return *blanks_skip(at) == '\n' && format / 100 <= 1 && format / 10 % 10 <= 1 &&
           format % 10 <= 1 && numbers[3] <= 64;
}

hf_status metis_open(file_graph **out, const graph_file *file, bool weights) {
    char line[LINE_ROOM];
    uint64_t at = 0, numbers[4];
    for (*line = '%'; *line == '%';)
        HF_TRY(line_read(file, &at, line));
    if (!header_read(line, numbers))
        return hf_fail(
            HF_EARG,
            "graph %s: line %llu should be \"VERTICES EDGES\", with a format "
            "behind it or without",
            file->path, (unsigned long long)line_of(file, at - 1));
    HF_TRY(vertices_check(file, numbers[0]));
    text_graph *g;
    HF_TRY(text_open(&g, file, at, longest, vertices_read));
    uint64_t format = numbers[2];
    g->skip = format / 100 + (format / 10 % 10 ? numbers[3] : 0);
    g->column = format % 10 == 1;
    g->base.graph.info.vertices = numbers[0];
    g->base.graph.info.weighted = g->column && weights;
    g->base.told = numbers[1];
    g->base.twice = true;
    hf_status status = lines_set(g, file);
    if (status == HF_OK)
        *out = &g->base;
    else
        text_free(g);
    return status;
}
