/* generate.c - graphs whose edges are functions of seed and index. */
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/random.h"

enum {
    MAX_SCALE = 31,
    EDGES_PER_VERTEX = 16,
    MAX_EDGES_PER_VERTEX = 1 << 16,
    BLOCK_LOG = 16,   /* edges of a block */
    MAX_WEIGHT = 255, /* as in the GAP benchmark suite */
    WORDS = 16,       /* of a Kronecker edge: two levels each */
};

typedef struct generator generator;
typedef edge (*maker)(const generator *g, uint64_t i);

struct generator {
    hf_graph graph;
    unsigned scale;
    uint64_t across, rows, columns; /* grid: edges between columns, and its shape */
    uint64_t key, weight_key;       /* streams of random words */
    uint64_t factors[3], terms[3];  /* of the permutation */
    maker make;
};

/* A bijection of the numbers below 2^scale: neither step loses a bit. */
static uint32_t permuted(const generator *g, uint32_t v) {
    uint32_t mask = (uint32_t)((UINT64_C(1) << g->scale) - 1);
    for (int i = 0; i < 3; i++) {
        v = (v * (uint32_t)g->factors[i] + (uint32_t)g->terms[i]) & mask;
        v ^= v >> (g->scale / 2 + 1);
    }
    return v;
}

/* Chakrabarti, Zhan and Faloutsos, "R-MAT: A recursive model for graph mining", 2004, with
 * the initiator of Graph500: each level of the adjacency matrix chooses a quarter. */
static edge kronecker(const generator *g, uint64_t i) {
    const uint32_t a = 2448131359u, ab = 3264175145u, abc = 4080218931u; /* of 2^32 */
    uint32_t from = 0, to = 0;
    for (unsigned level = 0; level < g->scale; level += 2) {
        uint64_t word = hf_random(g->key, i * WORDS + level / 2);
        unsigned levels = g->scale - level < 2 ? 1 : 2;
        for (unsigned k = 0; k < levels; k++, word >>= 32) {
            uint32_t r = (uint32_t)word;
            uint32_t down = r >= ab, right = (r >= a) ^ down ^ (r >= abc);
            from = from << 1 | down;
            to = to << 1 | right;
        }
    }
    return (edge){permuted(g, from), permuted(g, to), 1};
}

static edge uniform(const generator *g, uint64_t i) {
    uint64_t word = hf_random(g->key, i);
    uint32_t from = (uint32_t)(word >> (64 - g->scale));
    uint32_t to = (uint32_t)(word & ((UINT64_C(1) << g->scale) - 1));
    return (edge){from, to, 1};
}

static edge grid(const generator *g, uint64_t i) {
    if (i < g->across) {
        uint64_t row = i / (g->columns - 1), column = i % (g->columns - 1);
        uint32_t v = (uint32_t)(row * g->columns + column);
        return (edge){v, v + 1, 1};
    }
    uint32_t v = (uint32_t)(i - g->across);
    return (edge){v, v + (uint32_t)g->columns, 1};
}

static hf_status generator_block(const hf_graph *graph, uint64_t block,
                                 edge_flow *flow) {
    const generator *g = (const generator *)graph;
    uint64_t first = block << BLOCK_LOG, last = first + (UINT64_C(1) << BLOCK_LOG);
    if (last > graph->info.edges)
        last = graph->info.edges;
    for (uint64_t i = first; i < last; i++) {
        edge e = g->make(g, i);
        if (flow->weights)
            e.weight = (uint32_t)(hf_random(g->weight_key, i) % MAX_WEIGHT) + 1;
        edge_put(flow, e.from, e.to, e.weight);
    }
    return HF_OK;
}

static hf_status generator_same(const hf_graph *graph) {
    (void)graph;
    return HF_OK;
}

static void generator_close(hf_graph *graph) {
    free(graph);
}

static const graph_ops generator_ops = {generator_block, generator_same,
                                        generator_close};
static const struct {
    const char *name;
    maker make;
} known[] = {{"kron", kronecker}, {"urand", uniform}, {"grid", grid}};

enum { N_KNOWN = sizeof known / sizeof *known };

static size_t generator_find(const char *text) {
    size_t letters = strcspn(text, ":"), i = 0;
    while (i < N_KNOWN && (strlen(known[i].name) != letters ||
                           strncmp(known[i].name, text, letters) != 0))
        i++;
    return text[letters] == ':' ? i : N_KNOWN;
}

bool generator_named(const char *text) {
    return generator_find(text) < N_KNOWN;
}

/* A number of at most six digits and what stands behind it; NULL if there is none. */
static const char *number_read(const char *text, unsigned *out) {
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 6)
        return NULL;
    *out = (unsigned)strtoul(text, NULL, 10);
    return text + digits;
}

hf_status generator_open(hf_graph **out, const char *text, uint64_t seed) {
    maker make = known[generator_find(text)].make;
    unsigned scale = 0, per_vertex = EDGES_PER_VERTEX;
    const char *rest = number_read(strchr(text, ':') + 1, &scale);
    if (rest && *rest == ':' && make != grid)
        rest = number_read(rest + 1, &per_vertex);
    if (!rest || *rest)
        return hf_fail(HF_EARG,
                       "graph: \"%s\" is no generator; known: kron:SCALE, urand:SCALE, "
                       "each with :EDGES a vertex behind it or without, grid:SCALE",
                       text);
    if (scale < 1 || scale > MAX_SCALE)
        return hf_fail(HF_EARG, "graph %s: scale %u is not within 1 and %d", text,
                       scale, MAX_SCALE);
    if (per_vertex < 1 || per_vertex > MAX_EDGES_PER_VERTEX)
        return hf_fail(HF_EARG, "graph %s: %u edges a vertex are not within 1 and %d",
                       text, per_vertex, MAX_EDGES_PER_VERTEX);
    generator *g = calloc(1, sizeof *g);
    if (!g)
        return hf_fail(HF_ENOMEM, "no memory for graph %s", text);
    g->scale = scale;
    g->make = make;
    g->columns = UINT64_C(1) << (scale + 1) / 2;
    g->rows = UINT64_C(1) << scale / 2;
    g->across = g->rows * (g->columns - 1);
    g->key = hf_random(seed, 0);
    g->weight_key = hf_random(seed, 1);
    for (uint64_t i = 0; i < 3; i++) {
        g->factors[i] = hf_random(seed, 2 + 2 * i) | 1;
        g->terms[i] = hf_random(seed, 3 + 2 * i);
    }
    hf_graph_info *info = &g->graph.info;
    info->vertices = UINT64_C(1) << scale;
    info->edges = make == grid ? g->across + (g->rows - 1) * g->columns
                               : info->vertices * per_vertex;
    info->weighted = true;
    info->simple = true;
    uint64_t made_of[] = {generator_find(text), scale, per_vertex, seed};
    info->digest = hf_digest(HF_DIGEST_START, made_of, sizeof made_of);
    g->graph.scale = scale;
    g->graph.ops = &generator_ops;
    g->graph.blocks = (info->edges >> BLOCK_LOG) + 1;
    *out = &g->graph;
    return HF_OK;
}
