/* graph_tell.c - what all ranks tell each other beside the updates of a program. */
#include <string.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/random.h"
#include "graph_engine.h"

/* Words of a row in which a rank tells of its part. */
enum { FACT_KEY, FACT_GRAPH, FACT_PARTITION, FACT_EDGES, FACT_HEARD, FACT_WORDS };

/* Drawn for each source; words of a row before them. */
enum { CANDIDATES = 32, FACTS = GRAPH_VERDICT_WORDS };
_Static_assert((int)FACT_WORDS <= (int)FACTS, "a verdict takes more words");

/* Words of a row are a multiple of this, as all blocks are of 32 B. */
enum { GRAIN = 4 };

/* ---- what all ranks tell each other ---- */

graph_block graph_block_of(const graph_state *s, graph_shared what, int rank) {
    const graph_buffers *b = &s->buffers;
    const size_t first = s->part->starts[rank], room = graph_room(s, rank),
                 r = (size_t)rank, row = s->words * sizeof *s->told,
                 vertex = s->traits[GRAPH_VERTEX_BYTES],
                 forest = s->part->vertices * sizeof(uint32_t);
    const graph_block blocks[] = {
        [GRAPH_SHARED_ROWS] = {b->told, b->all_told, r * row, row},
        [GRAPH_SHARED_STATE] = {b->state, b->whole, first * vertex, room * vertex},
        [GRAPH_SHARED_FORESTS] = {b->forest, b->forests, r * forest, forest},
        [GRAPH_SHARED_NUMBERS] = {b->numbers, b->all_numbers, first * sizeof(double),
                                  room * sizeof(double)},
    };
    return blocks[what];
}

/* The last word of a row proves that it came as it was, from this rank, in this call. */
static uint64_t row_proof(const graph_state *s, size_t rank, const uint64_t *row) {
    const uint64_t which[] = {s->tells, rank};
    uint64_t digest = hf_digest(HF_DIGEST_START, which, sizeof which);
    return hf_digest(digest, row, (s->words - 1) * sizeof *row);
}

uint64_t *graph_row_new(graph_state *s) {
    uint64_t *mine = s->told + (size_t)s->env.size * s->words;
    return memset(mine, 0, s->words * sizeof *mine);
}

hf_status graph_tell_all(graph_state *s, uint64_t *mine) {
    hf_device *device = s->env.device;
    size_t size = (size_t)s->env.size, bytes = s->words * sizeof *s->told;
    s->tells++;
    mine[s->words - 1] = row_proof(s, (size_t)s->env.rank, mine);
    memset(s->told, 0, size * bytes);
    HF_TRY(device->ops->write(device, s->buffers.told, 0, mine, bytes, NULL, NULL));
    HF_TRY(s->routing->share(s, GRAPH_SHARED_ROWS));
    HF_TRY(device->ops->read(device, s->buffers.all_told, 0, s->told, size * bytes,
                             NULL, NULL));
    for (size_t rank = 0; rank < size; rank++) {
        const uint64_t *row = s->told + rank * s->words;
        if (row[s->words - 1] != row_proof(s, rank, row))
            return hf_fail(HF_EDEVICE, "what rank %zu told is not what came", rank);
    }
    return HF_OK;
}

hf_status graph_tell_numbers(graph_state *s, double *all, const double *mine) {
    hf_device *device = s->env.device;
    size_t own = graph_room(s, s->env.rank) * sizeof *mine,
           bytes = s->part->vertices * sizeof *all;
    if (own > 0)
        HF_TRY(
            device->ops->write(device, s->buffers.numbers, 0, mine, own, NULL, NULL));
    HF_TRY(s->routing->share(s, GRAPH_SHARED_NUMBERS));
    return bytes == 0 ? HF_OK
                      : device->ops->read(device, s->buffers.all_numbers, 0, all, bytes,
                                          NULL, NULL);
}

hf_status graph_tell_forest(graph_state *s, const uint32_t **all,
                            const uint32_t *mine) {
    hf_device *device = s->env.device;
    size_t bytes = s->part->vertices * sizeof *mine;
    *all = s->forests;
    if (!s->forests || bytes == 0)
        return HF_OK;
    HF_TRY(device->ops->write(device, s->buffers.forest, 0, mine, bytes, NULL, NULL));
    HF_TRY(s->routing->share(s, GRAPH_SHARED_FORESTS));
    return device->ops->read(device, s->buffers.forests, 0, s->forests,
                             (size_t)s->env.size * bytes, NULL, NULL);
}

size_t graph_row_words(const graph_state *s) {
    size_t words = FACTS + (s->n_points * CANDIDATES + 63) / 64 + 1;
    return (words + GRAIN - 1) / GRAIN * GRAIN;
}

/* ---- sources ---- */

static uint32_t candidate(const graph_state *s, size_t i) {
    return (uint32_t)(hf_random(~s->env.seed, i) % s->info->vertices);
}

/* Bits of the candidates that this rank owns and that have edges. */
static void candidates_mark(const graph_state *s, uint64_t *bits) {
    const hf_part *p = s->part;
    for (size_t i = 0; i < s->n_points * CANDIDATES; i++) {
        uint32_t v = p->numbers[candidate(s, i)] - graph_first(s);
        if (v < p->own && p->degrees[v] > 0)
            bits[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

/* Has a rank told that candidate `i` has edges? */
static bool candidate_fits(const graph_state *s, size_t i) {
    uint64_t bits = 0;
    for (int rank = 0; rank < s->env.size; rank++)
        bits |= s->told[(size_t)rank * s->words + FACTS + i / 64];
    return bits >> (i % 64) & 1;
}

static bool among(const uint32_t *vertices, size_t n, uint32_t v) {
    size_t i = 0;
    while (i < n && vertices[i] != v)
        i++;
    return i < n;
}

/* Each is drawn once, while there are others. */
static hf_status sources_draw(graph_state *s) {
    size_t n = 0;
    for (size_t i = 0; n < s->n_points && i < s->n_points * CANDIDATES; i++)
        if (candidate_fits(s, i) && !among(s->sources, n, candidate(s, i)))
            s->sources[n++] = candidate(s, i);
    if (n == 0)
        return hf_fail(HF_EARG,
                       "graph: no vertex with edges among %zu that were drawn; "
                       "name one as source",
                       s->n_points * CANDIDATES);
    for (size_t i = n; i < s->n_points; i++)
        s->sources[i] = s->sources[i % n];
    return HF_OK;
}

/* Seals and digests of all ranks, how many vertices are heard, and which sources have edges. */
hf_status graph_connect(void *state) {
    graph_state *s = state;
    HF_TRY(s->routing->begin(s));
    uint64_t *mine = graph_row_new(s);
    mine[FACT_KEY] = hf_random(s->env.seals->key, s->env.seals->drawn++);
    mine[FACT_GRAPH] = s->info->digest;
    mine[FACT_PARTITION] = s->part->digest;
    mine[FACT_EDGES] = s->part->in_edges;
    for (uint32_t v = 0; v < s->part->heard[s->env.rank]; v++)
        mine[FACT_HEARD] += s->part->degrees[v] > 0;
    if (s->starts && !s->given)
        candidates_mark(s, mine + FACTS);
    HF_TRY(graph_tell_all(s, mine));
    for (int rank = 0; rank < s->env.size; rank++) {
        const uint64_t *told = s->told + (size_t)rank * s->words;
        s->keys[rank] = told[FACT_KEY];
        s->edges += told[FACT_EDGES];
        s->run.heard += (unsigned)told[FACT_HEARD];
        if (told[FACT_GRAPH] != s->info->digest)
            return hf_fail(HF_EARG, "graph: that of rank %d is another one", rank);
        if (told[FACT_PARTITION] != s->part->digest)
            return hf_fail(HF_EARG, "partition: that of rank %d is another one", rank);
    }
    for (size_t i = 0; s->given && i < s->n_points; i++)
        s->sources[i] = (uint32_t)s->given[i];
    if (s->starts && !s->given)
        HF_TRY(sources_draw(s));
    return s->routing->connect(s);
}

hf_status graph_tell_state(graph_state *s) {
    hf_device *device = s->env.device;
    const hf_buffer *all = s->buffers.whole ? s->buffers.whole : s->buffers.state;
    size_t vertices = s->part->vertices,
           bytes = vertices * s->traits[GRAPH_VERTEX_BYTES];
    memset(s->state, 0xA5, bytes);
    if (s->buffers.whole)
        HF_TRY(s->routing->share(s, GRAPH_SHARED_STATE));
    return bytes == 0 ? HF_OK
                      : device->ops->read(device, all, 0, s->state, bytes, NULL, NULL);
}

uint64_t graph_state_digest(const graph_state *s) {
    const uint32_t *names = s->part->names;
    size_t vertices = s->part->vertices, bytes = s->traits[GRAPH_VERTEX_BYTES], to;
    uint64_t digest = HF_DIGEST_START;
    if (s->env.size == 1) /* nobody has another state */
        return digest;
    for (size_t at = 0; at < vertices; at = to) {
        bool real = names[at] != HF_NO_VERTEX;
        for (to = at + 1; to < vertices && (names[to] != HF_NO_VERTEX) == real;)
            to++;
        if (real)
            digest = hf_digest(digest, (const char *)s->state + at * bytes,
                               (to - at) * bytes);
    }
    return digest;
}
