/* graph_tell.c - what all ranks tell each other beside the updates of a program. */
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/random.h"
#include "graph_engine.h"

/* Drawn for each source; words of a row before them. */
enum { CANDIDATES = 32, FACTS = 5 };

/* ---- what all ranks tell each other ---- */

/* A block from each rank to each: `per` messages to a peer, made by `make`. With `own` the
 * rank's own, too. */
typedef void (*message_make)(const graph_state *s, int to, int from, hf_message *out);

static hf_status plan_new(graph_state *s, hf_plan **out, hf_buffer *recv,
                          const hf_buffer *send, size_t per, bool own,
                          message_make make) {
    int size = s->env.size, rank = s->env.rank, least = own ? 0 : 1;
    size_t n = (size_t)(size - least) * per;
    hf_message *messages = calloc(n + 1, sizeof *messages);
    /* Without memory the plan of this rank fits nobody's: all fail. */
    for (int k = least; messages && k < size; k++)
        make(s, (rank + k) % size, (rank - k + size) % size,
             messages + (size_t)(k - least) * per);
    hf_status status =
        hf_plan_new(out, s->env.exchange, recv, send, messages ? n : 0, messages);
    free(messages);
    return status;
}

static void tell_make(const graph_state *s, int to, int from, hf_message *out) {
    size_t bytes = s->words * sizeof *s->told;
    *out = (hf_message){to, from, 0, (size_t)from * bytes, bytes, bytes};
}

static void head_make(const graph_state *s, int to, int from, hf_message *out) {
    size_t bytes = s->run.head;
    *out = (hf_message){to, from, 0, (size_t)from * bytes, bytes, bytes};
}

/* Bits, then updates. */
static void dense_make(const graph_state *s, int to, int from, hf_message *out) {
    size_t update = s->traits[GRAPH_UPDATE_BYTES], ours = graph_room(s, s->env.rank),
           theirs = graph_room(s, from), word = sizeof(uint32_t),
           first = s->part->starts[from];
    out[0] = (hf_message){to,
                          from,
                          s->run.out_bits,
                          s->run.in_bits + first / 32 * word,
                          (ours + 31) / 32 * word,
                          (theirs + 31) / 32 * word};
    out[1] = (hf_message){to,
                          from,
                          s->run.out_updates,
                          s->run.in_updates + first * update,
                          ours * update,
                          theirs * update};
}

static void state_make(const graph_state *s, int to, int from, hf_message *out) {
    size_t vertex = s->traits[GRAPH_VERTEX_BYTES];
    *out = (hf_message){to,
                        from,
                        0,
                        s->part->starts[from] * vertex,
                        graph_room(s, s->env.rank) * vertex,
                        graph_room(s, from) * vertex};
}

/* The last word of a row proves that it came as it was, in this call. */
static uint64_t row_proof(const graph_state *s, const uint64_t *row) {
    return hf_digest(HF_DIGEST_START ^ s->tells, row, (s->words - 1) * sizeof *row);
}

hf_status graph_tell_all(graph_state *s, uint64_t *mine) {
    hf_device *device = s->env.device;
    size_t size = (size_t)s->env.size, bytes = s->words * sizeof *s->told;
    s->tells++;
    mine[s->words - 1] = row_proof(s, mine);
    memset(s->told, 0, size * bytes);
    HF_TRY(device->ops->write(device, s->buffers.told, 0, mine, bytes, NULL, NULL));
    HF_TRY(hf_plan_run(s->tell_plan));
    HF_TRY(device->ops->read(device, s->buffers.all_told, 0, s->told, size * bytes,
                             NULL, NULL));
    for (size_t rank = 0; rank < size; rank++) {
        const uint64_t *row = s->told + rank * s->words;
        if (row[s->words - 1] != row_proof(s, row))
            return hf_fail(HF_EDEVICE, "what rank %zu told is not what came", rank);
    }
    return HF_OK;
}

static void numbers_make(const graph_state *s, int to, int from, hf_message *out) {
    size_t bytes = sizeof(double);
    *out = (hf_message){to,
                        from,
                        0,
                        s->part->starts[from] * bytes,
                        graph_room(s, s->env.rank) * bytes,
                        graph_room(s, from) * bytes};
}

hf_status graph_tell_numbers(graph_state *s, double *all, const double *mine) {
    hf_device *device = s->env.device;
    size_t own = graph_room(s, s->env.rank) * sizeof *mine,
           bytes = s->part->vertices * sizeof *all;
    if (own > 0)
        HF_TRY(
            device->ops->write(device, s->buffers.numbers, 0, mine, own, NULL, NULL));
    HF_TRY(hf_plan_run(s->numbers_plan));
    return bytes == 0 ? HF_OK
                      : device->ops->read(device, s->buffers.all_numbers, 0, all, bytes,
                                          NULL, NULL);
}

static void forest_make(const graph_state *s, int to, int from, hf_message *out) {
    size_t bytes = s->part->vertices * sizeof(uint32_t);
    *out = (hf_message){to, from, 0, (size_t)from * bytes, bytes, bytes};
}

hf_status graph_tell_forest(graph_state *s, const uint32_t **all,
                            const uint32_t *mine) {
    hf_device *device = s->env.device;
    size_t bytes = s->part->vertices * sizeof *mine;
    *all = s->forests;
    if (!s->forests || bytes == 0)
        return HF_OK;
    HF_TRY(device->ops->write(device, s->buffers.forest, 0, mine, bytes, NULL, NULL));
    HF_TRY(hf_plan_run(s->forest_plan));
    return device->ops->read(device, s->buffers.forests, 0, s->forests,
                             (size_t)s->env.size * bytes, NULL, NULL);
}

size_t graph_row_words(const graph_state *s) {
    return FACTS + (s->n_points * CANDIDATES + 63) / 64 + 1;
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

static hf_status sources_draw(graph_state *s) {
    size_t n = 0;
    for (size_t i = 0; n < s->n_points && i < s->n_points * CANDIDATES; i++)
        for (int rank = 0; rank < s->env.size; rank++)
            if (s->told[(size_t)rank * s->words + FACTS + i / 64] >> (i % 64) & 1)
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

/* Seals and digests of all ranks, and which sources have edges. */
hf_status graph_connect(graph_state *s) {
    graph_buffers *b = &s->buffers;
    HF_TRY(plan_new(s, &s->tell_plan, b->all_told, b->told, 1, true, tell_make));
    uint64_t *mine = calloc(s->words, sizeof *mine);
    if (!mine)
        return hf_fail(HF_ENOMEM, "no memory for %zu sources", s->n_points);
    mine[0] = hf_random(s->env.seals->key, s->env.seals->drawn++);
    mine[1] = s->info->digest;
    mine[2] = s->part->digest;
    mine[3] = s->part->in_edges;
    if (s->starts && !s->given)
        candidates_mark(s, mine + FACTS);
    hf_status status = graph_tell_all(s, mine);
    free(mine);
    HF_TRY(status);
    for (int rank = 0; rank < s->env.size; rank++) {
        const uint64_t *told = s->told + (size_t)rank * s->words;
        s->keys[rank] = told[0];
        s->edges += told[3];
        if (told[1] != s->info->digest)
            return hf_fail(HF_EARG, "graph: that of rank %d is another one", rank);
        if (told[2] != s->part->digest)
            return hf_fail(HF_EARG, "partition: that of rank %d is another one", rank);
    }
    for (size_t i = 0; s->given && i < s->n_points; i++)
        s->sources[i] = (uint32_t)s->given[i];
    if (s->starts && !s->given)
        HF_TRY(sources_draw(s));
    HF_TRY(plan_new(s, &s->heads_plan, b->inbox, b->outbox, 1, false, head_make));
    HF_TRY(plan_new(s, &s->dense_plan, b->inbox, b->outbox, 2, false, dense_make));
    if (s->reference)
        HF_TRY(plan_new(s, &s->numbers_plan, b->all_numbers, b->numbers, 1, true,
                        numbers_make));
    if (s->forests)
        HF_TRY(
            plan_new(s, &s->forest_plan, b->forests, b->forest, 1, true, forest_make));
    return plan_new(s, &s->gather_plan, b->whole, b->state, 1, true, state_make);
}
