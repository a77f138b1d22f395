/* lists.c - graphs as text with an edge in each line: .el, .wel, .gr and .mtx. */
#include <stdio.h>
#include <strings.h>

#include "core/error.h"
#include "graph_text.h"

/* ---- edges ---- */

/* "FROM TO [WEIGHT]" from `*at`, which moves to the line's end. */
static hf_status edge_read(const text_graph *g, uint64_t block, const char *text,
                           const char **at, edge_flow *flow) {
    uint64_t first = g->first, last = g->base.graph.info.vertices - 1 + first, from, to;
    uint32_t weight = 1;
    const char *here = blanks_skip(*at), *next = digits_read(here, &from);
    if (!next || from < first || from > last)
        return word_fail(g, block, text, here, "vertex", first, last);
    here = blanks_skip(next);
    next = digits_read(here, &to);
    if (!next || to < first || to > last)
        return word_fail(g, block, text, here, "vertex", first, last);
    here = blanks_skip(next);
    if (flow->weights) {
        next = weight_read(here, &weight);
        if (!next)
            return weight_fail(g, block, text, here);
        here = blanks_skip(next);
    } else if (g->column) {
        here = line_end(here);
    }
    if (*here != '\n')
        return line_fail(g, block, text, here, "here the line should end");
    edge_put(flow, (uint32_t)(from - first), (uint32_t)(to - first), weight);
    *at = here;
    return HF_OK;
}

static hf_status edges_read(const text_graph *g, uint64_t block, const char *at,
                            const char *end, edge_flow *flow) {
    for (const char *text = at; at < end; at = line_end(at) + 1) {
        at = blanks_skip(at);
        if (*at != '\n' && *at != '#' && *at != '%')
            HF_TRY(edge_read(g, block, text, &at, flow));
    }
    return HF_OK;
}

static hf_status arcs_read(const text_graph *g, uint64_t block, const char *at,
                           const char *end, edge_flow *flow) {
    for (const char *text = at; at < end; at = line_end(at) + 1) {
        at = blanks_skip(at);
        if (*at == '\n' || (*at == 'c' && word_ends(at + 1)))
            continue;
        if (*at != 'a' || !word_ends(at + 1))
            return line_fail(g, block, text, at,
                             "neither an arc (a) nor a comment (c)");
        at++;
        HF_TRY(edge_read(g, block, text, &at, flow));
    }
    return HF_OK;
}

/* ---- headers ---- */

/* What all have in common; `column`: lines have weights. */
static hf_status list_open(file_graph **out, const graph_file *file, uint64_t at,
                           text_reader read, bool column, bool weights) {
    text_graph *g;
    HF_TRY(text_open(&g, file, at, LINE_ROOM, read));
    g->column = column;
    g->base.numbered = true;
    g->base.graph.info.directed = true;
    g->base.graph.info.weighted = column && weights;
    *out = &g->base;
    return HF_OK;
}

hf_status el_open(file_graph **out, const graph_file *file, bool weights) {
    return list_open(out, file, 0, edges_read, false, weights);
}

hf_status wel_open(file_graph **out, const graph_file *file, bool weights) {
    return list_open(out, file, 0, edges_read, true, weights);
}

/* `n` numbers and nothing else from `at` on. */
static bool numbers_read(const char *at, size_t n, uint64_t *out) {
    for (size_t i = 0; i < n && at; i++)
        at = digits_read(blanks_skip(at), &out[i]);
    return at && *blanks_skip(at) == '\n';
}

/* Vertices are counted from 1 where a header tells how many there are. */
static hf_status told_open(file_graph **out, const graph_file *file, uint64_t at,
                           text_reader read, bool column, bool weights,
                           uint64_t vertices, uint64_t edges) {
    HF_TRY(vertices_check(file, vertices));
    HF_TRY(list_open(out, file, at, read, column, weights));
    ((text_graph *)*out)->first = 1;
    (*out)->numbered = false;
    (*out)->graph.info.vertices = vertices;
    (*out)->told = edges;
    return HF_OK;
}

hf_status gr_open(file_graph **out, const graph_file *file, bool weights) {
    char line[LINE_ROOM];
    const char *word = line;
    uint64_t at = 0, numbers[2];
    for (*line = 'c'; *word == 'c' || *word == '\n'; word = blanks_skip(line))
        HF_TRY(line_read(file, &at, line));
    if (strncmp(word, "p sp ", 5) != 0 || !numbers_read(word + 5, 2, numbers))
        return hf_fail(HF_EARG, "graph %s: line %llu should be \"p sp VERTICES EDGES\"",
                       file->path, (unsigned long long)line_of(file, at - 1));
    return told_open(out, file, at, arcs_read, true, weights, numbers[0], numbers[1]);
}

static bool either(const char *word, const char *a, const char *b, const char *c) {
    return strcasecmp(word, a) == 0 || strcasecmp(word, b) == 0 ||
           strcasecmp(word, c) == 0;
}

static hf_status banner_check(const graph_file *file, const char words[4][16]) {
    if (strcasecmp(words[0], "matrix") != 0 || strcasecmp(words[1], "coordinate") != 0)
        return hf_fail(HF_EARG,
                       "graph %s: \"%s %s\" is no graph; known: matrix "
                       "coordinate",
                       file->path, words[0], words[1]);
    if (!either(words[2], "real", "integer", "pattern"))
        return hf_fail(HF_EARG,
                       "graph %s: a matrix of \"%s\" is no graph; known: real, "
                       "integer, pattern",
                       file->path, words[2]);
    if (!either(words[3], "general", "symmetric", "general"))
        return hf_fail(HF_EARG,
                       "graph %s: a matrix that is \"%s\" is no graph; known: "
                       "general, symmetric",
                       file->path, words[3]);
    return HF_OK;
}

hf_status mtx_open(file_graph **out, const graph_file *file, bool weights) {
    char line[LINE_ROOM], words[4][16] = {{0}};
    const char *word = line;
    uint64_t at = 0, numbers[3];
    HF_TRY(line_read(file, &at, line));
    *(char *)memchr(line, '\n', LINE_ROOM) = 0; /* strings may end before */
    if (sscanf(line, "%%%%MatrixMarket %15s %15s %15s %15s", words[0], words[1],
               words[2], words[3]) != 4)
        return hf_fail(HF_EARG,
                       "graph %s: its first line should be \"%%%%MatrixMarket matrix "
                       "coordinate real|integer|pattern general|symmetric\"",
                       file->path);
    HF_TRY(banner_check(file, (const char(*)[16])words));
    for (*line = '%'; *word == '%' || *word == '\n'; word = blanks_skip(line))
        HF_TRY(line_read(file, &at, line));
    if (!numbers_read(word, 3, numbers))
        return hf_fail(HF_EARG,
                       "graph %s: line %llu should be \"ROWS COLUMNS ENTRIES\"",
                       file->path, (unsigned long long)line_of(file, at - 1));
    if (numbers[0] != numbers[1])
        return hf_fail(HF_EARG, "graph %s: a matrix of %llu x %llu is no graph",
                       file->path, (unsigned long long)numbers[0],
                       (unsigned long long)numbers[1]);
    bool column = strcasecmp(words[2], "pattern") != 0;
    HF_TRY(
        told_open(out, file, at, edges_read, column, weights, numbers[0], numbers[2]));
    (*out)->graph.info.directed = strcasecmp(words[3], "general") == 0;
    return HF_OK;
}
