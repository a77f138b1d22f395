/* graph.c - graphs by the text that names them. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "generate.h"
#include "graph_file.h"

static const char *word_skip(const char *text, const char *word) {
    size_t letters = strlen(word);
    return strncmp(text, word, letters) == 0 ? text + letters : NULL;
}

/* What stands behind the words in front of a graph's name; each word's flag is set. */
static const char *words_read(const char *text, bool *simple, bool *undirected,
                              bool *unweighted) {
    const struct {
        const char *word;
        bool *flag;
    } words[] = {
        {"simple:", simple}, {"undirected:", undirected}, {"unweighted:", unweighted}};
    for (size_t i = 0; i < sizeof words / sizeof *words;) {
        const char *rest = word_skip(text, words[i].word);
        *words[i].flag |= rest != NULL;
        i = rest ? 0 : i + 1;
        text = rest ? rest : text;
    }
    return text;
}

hf_status hf_graph_open(hf_graph **out, const char *text, uint64_t seed) {
    double start = hf_clock_now();
    bool simple = false, undirected = false, unweighted = false;
    const char *name = words_read(text, &simple, &undirected, &unweighted);
    hf_graph *graph;
    if (generator_named(name))
        HF_TRY(generator_open(&graph, name, seed));
    else
        HF_TRY(file_graph_open(&graph, name, !unweighted));
    graph->text = malloc(strlen(text) + 1);
    if (!graph->text) {
        graph->ops->close(graph);
        return hf_fail(HF_ENOMEM, "no memory for graph %s", text);
    }
    memcpy(graph->text, text, strlen(text) + 1);
    graph->info.simple |= simple;
    graph->info.directed &= !undirected;
    graph->info.weighted &= !unweighted;
    graph->info.load_time = hf_clock_now() - start;
    *out = graph;
    return HF_OK;
}

const hf_graph_info *hf_graph_info_of(const hf_graph *graph) {
    return &graph->info;
}

void hf_graph_close(hf_graph *graph) {
    if (!graph)
        return;
    free(graph->text);
    graph->ops->close(graph);
}
