/* graph_text.c - graphs as text: blocks of whole lines, and the numbers in them. */
#include "graph_text.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/number.h"

enum { BLOCK = 1 << 18, WINDOW = 1 << 12, SHOWN = 24 };

/* ---- blocks ---- */

/* Place behind the first end of a line from `at` on; the file's end if there is none. */
static hf_status line_next(const graph_file *file, uint64_t at, size_t longest,
                           uint64_t *out) {
    char window[WINDOW];
    for (uint64_t begin = at; at < file->bytes; at += WINDOW) {
        size_t n = file->bytes - at < WINDOW ? (size_t)(file->bytes - at) : WINDOW;
        HF_TRY(graph_file_read(file, window, at, n));
        const char *end = memchr(window, '\n', n);
        if (end) {
            *out = at + (uint64_t)(end - window) + 1;
            return HF_OK;
        }
        if (at - begin > longest)
            return hf_fail(HF_EARG,
                           "graph %s: a line at byte %llu is longer than %zu B",
                           file->path, (unsigned long long)begin, longest);
    }
    *out = file->bytes;
    return HF_OK;
}

static hf_status begins_set(text_graph *g, const graph_file *file, uint64_t at,
                            size_t longest) {
    uint64_t blocks = 0;
    g->begins[0] = at;
    while (at < file->bytes) {
        uint64_t from = at + BLOCK - 1;
        HF_TRY(line_next(file, from < file->bytes ? from : file->bytes, longest, &at));
        g->begins[++blocks] = at;
    }
    g->base.graph.blocks = blocks;
    return HF_OK;
}

static hf_status text_block(const hf_graph *graph, uint64_t block, edge_flow *flow) {
    const text_graph *g = (const text_graph *)graph;
    uint64_t begin = g->begins[block];
    size_t bytes = (size_t)(g->begins[block + 1] - begin);
    HF_TRY(flow_room(flow, bytes + 1));
    HF_TRY(graph_file_read(&g->base.file, flow->room, begin, bytes));
    /* A last line without an end gets one. */
    char *text = flow->room;
    bool ends = bytes > 0 && text[bytes - 1] == '\n';
    text[bytes] = '\n';
    return g->read(g, block, text, text + bytes + (ends ? 0 : 1), flow);
}

void text_free(text_graph *g) {
    free(g->begins);
    free(g->lines);
    free(g);
}

static void text_close(hf_graph *graph) {
    text_graph *g = (text_graph *)graph;
    graph_file_close(&g->base.file);
    text_free(g);
}

static const graph_ops text_ops = {text_block, file_graph_same, text_close};

hf_status text_open(text_graph **out, const graph_file *file, uint64_t at,
                    size_t longest, text_reader read) {
    text_graph *g = calloc(1, sizeof *g);
    uint64_t *begins = malloc((file->bytes / BLOCK + 2) * sizeof *begins);
    if (!g || !begins) {
        free(begins);
        free(g);
        return hf_fail(HF_ENOMEM, "no memory for graph %s", file->path);
    }
    g->begins = begins;
    g->read = read;
    hf_status status = begins_set(g, file, at, longest);
    if (status != HF_OK) {
        text_free(g);
        return status;
    }
    g->base.graph.ops = &text_ops;
    g->base.graph.info.vertices = HF_NO_VERTEX - 1;
    g->base.told = UINT64_MAX;
    *out = g;
    return HF_OK;
}

hf_status line_read(const graph_file *file, uint64_t *at, char *line) {
    uint64_t left = file->bytes - *at;
    size_t n = left < LINE_ROOM - 1 ? (size_t)left : LINE_ROOM - 1;
    if (n == 0)
        return hf_fail(HF_EARG, "graph %s ends in its header", file->path);
    HF_TRY(graph_file_read(file, line, *at, n));
    const char *end = memchr(line, '\n', n);
    if (!end && n < left)
        return hf_fail(HF_EARG, "graph %s: line %llu is longer than %d B", file->path,
                       (unsigned long long)line_of(file, *at), LINE_ROOM - 1);
    line[n] = '\n';
    *at += end ? (uint64_t)(end - line) + 1 : n;
    return HF_OK;
}

/* ---- words ---- */

uint64_t line_of(const graph_file *file, uint64_t at) {
    char window[WINDOW];
    uint64_t line = 1;
    for (uint64_t begin = 0; begin < at; begin += WINDOW) {
        size_t n = at - begin < WINDOW ? (size_t)(at - begin) : WINDOW;
        if (graph_file_read(file, window, begin, n) != HF_OK)
            return 0;
        for (size_t i = 0; i < n; i++)
            line += window[i] == '\n';
    }
    return line;
}

/* The word at `at`, to show it: `room` characters and what is not printed as "?". */
static const char *word_shown(char *to, size_t room, const char *at) {
    size_t n = 0;
    for (; n + 1 < room && *at != '\n' && *at != ' ' && *at != '\t' && *at != '\r'; n++)
        to[n] = (char)(*at < ' ' || *at > '~' ? '?' : *at), at++;
    to[n] = 0;
    return to;
}

static unsigned long long block_line(const text_graph *g, uint64_t block,
                                     const char *text, const char *at) {
    return line_of(&g->base.file, g->begins[block] + (uint64_t)(at - text));
}

hf_status word_fail(const text_graph *g, uint64_t block, const char *text,
                    const char *at, const char *what, uint64_t low, uint64_t high) {
    char shown[SHOWN];
    return hf_fail(
        HF_EARG, "graph %s: line %llu: %s \"%s\" is no whole number from %llu to %llu",
        g->base.file.path, block_line(g, block, text, at), what,
        word_shown(shown, sizeof shown, at), (unsigned long long)low,
        (unsigned long long)high);
}

hf_status weight_fail(const text_graph *g, uint64_t block, const char *text,
                      const char *at) {
    char shown[SHOWN];
    return hf_fail(
        HF_EARG,
        "graph %s: line %llu: weight \"%s\" is no whole number from 1 to %u; "
        "\"unweighted:\" before the path leaves weights out",
        g->base.file.path, block_line(g, block, text, at),
        word_shown(shown, sizeof shown, at), UINT32_MAX);
}

hf_status line_fail(const text_graph *g, uint64_t block, const char *text,
                    const char *at, const char *said) {
    char shown[SHOWN];
    return hf_fail(HF_EARG, "graph %s: line %llu: \"%s\": %s", g->base.file.path,
                   block_line(g, block, text, at), word_shown(shown, sizeof shown, at),
                   said);
}

const char *weight_read(const char *at, uint32_t *out) {
    uint64_t whole;
    const char *end = digits_read(at, &whole);
    if (!end && *at != '\n') {
        char *behind;
        double number = hf_number_read(at, &behind);
        end = word_ends(behind) ? behind : NULL;
        whole = number >= 1 && number <= UINT32_MAX ? (uint64_t)number : 0;
        whole = (double)whole == number ? whole : 0;
    }
    *out = (uint32_t)whole;
    return end && whole >= 1 && whole <= UINT32_MAX ? end : NULL;
}
