/* graph_buffers.c - what the device holds of a graph, and where. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph_engine.h"

enum { VERTEX_WEIGHT = 4 }; /* of a vertex in a chunk, in edges */

/* Chunks of a work-item, or of a work-group; for small graphs not all of these. */
enum { ITEM_CHUNKS = 64, GROUP_CHUNKS = 2048, FEWEST_CHUNKS = 128 };
enum { GROUP_WORK = 1 << 14 };           /* edges that are worth a group's chunk */
enum { ITEM_ROOM = 16, GROUP_ROOM = 4 }; /* updates in the list of a chunk */

static size_t aligned(size_t bytes) {
    return (bytes + GRAPH_ALIGN - 1) / GRAPH_ALIGN * GRAPH_ALIGN;
}

/* Cut vertices with these rows into n pieces of about as many edges, at multiples of
 * HF_VERTEX_GRAIN. */
static void pieces_cut(uint32_t *pieces, uint32_t n, const uint64_t *rows,
                       uint32_t vertices) {
    double each = ((double)rows[vertices] + (double)VERTEX_WEIGHT * vertices) / n;
    uint32_t v = 0;
    for (uint32_t c = 0; c < n; c++) {
        pieces[c] = v;
        while (v < vertices &&
               (double)rows[v] + (double)VERTEX_WEIGHT * v < each * (c + 1))
            v = v + HF_VERTEX_GRAIN < vertices ? v + HF_VERTEX_GRAIN : vertices;
    }
    pieces[n] = vertices;
}

/* Of each rank; all know as many. */
static uint32_t chunks_of(const graph_state *s) {
    if (s->routing->one_chunk)
        return 1;
    if (!graph_groups(s))
        return ITEM_CHUNKS;
    uint64_t work = (uint64_t)VERTEX_WEIGHT * s->info->vertices + 2 * s->info->edges,
             n = work / (uint64_t)s->env.size / GROUP_WORK;
    return n < FEWEST_CHUNKS  ? FEWEST_CHUNKS
           : n > GROUP_CHUNKS ? GROUP_CHUNKS
                              : (uint32_t)n;
}

hf_status graph_chunks_cut(graph_state *s) {
    const hf_part *p = s->part;
    uint32_t n = chunks_of(s);
    s->chunks = malloc((n + 1) * sizeof *s->chunks);
    if (!s->chunks)
        return hf_fail(HF_ENOMEM, "no memory for %u chunks", n);
    pieces_cut(s->chunks, n, p->rows, p->own);
    s->run.chunks = n;
    return HF_OK;
}

/* Do plans bring updates to other ranks? Heads have lists of them, but in programs that apply all
 * vertices. Where lists are too short, bits and updates follow. */
static bool updates_cross(const graph_state *s) {
    return s->env.size > 1 && s->routing->lists && s->architecture->lists;
}

/* Where what the ranks tell comes to: heads, and behind them bits and updates where plans bring
 * these. */
static hf_status places_set(graph_state *s) {
    size_t size = (size_t)s->env.size, update = s->traits[GRAPH_UPDATE_BYTES];
    bool parts = updates_cross(s);
    graph_place *p = s->places = calloc(size + 1, sizeof *p);
    if (!p)
        return hf_fail(HF_ENOMEM, "no memory for places of %zu ranks", size);
    for (size_t r = 0; r < size; r++) {
        size_t room = graph_room(s, (int)r), heard = s->part->heard[r],
               updates = aligned(s->run.head + (room + 31) / 32 * sizeof(uint32_t)),
               bytes = parts ? aligned(updates + heard * update) : s->run.head;
        p[r].updates = updates;
        p[r].first = s->part->starts[r];
        p[r].heard = s->part->starts[r] + (uint32_t)heard;
        p[r + 1].box = p[r].box + bytes;
    }
    p[size].first = s->part->starts[size];
    return HF_OK;
}

/* Numbers in the input of own vertices: where they are in a row, the first and the distance. */
static void ids_set(graph_state *s) {
    const uint32_t *names = s->part->names + graph_first(s), own = s->part->own;
    uint32_t step = own > 1 && names[1] > names[0] ? names[1] - names[0] : 1;
    for (uint32_t v = 1; v < own; v++)
        if (names[v] - names[v - 1] != step)
            return;
    s->run.id = own ? names[0] : 0;
    s->run.step = step;
}

hf_status graph_layout_set(graph_state *s) {
    graph_run *run = &s->run;
    uint32_t update = s->traits[GRAPH_UPDATE_BYTES], own = graph_room(s, s->env.rank);
    run->first = graph_first(s);
    run->own = s->part->own;
    run->tells = s->part->heard[s->env.rank];
    ids_set(s);
    run->rank = (unsigned)s->env.rank;
    run->ranks = (unsigned)s->env.size;
    run->vertices = (unsigned)s->info->vertices;
    run->digests = updates_cross(s);
    run->room = !updates_cross(s) || s->traits[GRAPH_ALWAYS] ? 0
                : graph_groups(s)                            ? GROUP_ROOM
                                                             : ITEM_ROOM;
    uint32_t steps = s->fewer && !s->persists ? GRAPH_FEW_STEPS : 0,
             counts = steps > run->chunks ? steps : run->chunks;
    run->list = run->made = aligned(counts * sizeof(graph_count));
    run->list_words = run->room * (1 + update / (uint32_t)sizeof(uint32_t));
    run->head =
        aligned(run->list + (size_t)run->chunks * run->list_words * sizeof(uint32_t) +
                (size_t)s->env.size * s->architecture->bytes_per_rank);
    run->out_bits = run->head;
    HF_TRY(places_set(s));
    run->out_updates = s->places[s->env.rank].updates;
    run->out_records = aligned(run->out_updates + (size_t)own * update);
    run->in_bits = s->places[s->env.size].box;
    run->in_records = run->head * (size_t)s->env.size;
    run->in_updates =
        aligned(run->in_bits + (s->part->vertices + 31) / 32 * sizeof(uint32_t));
    if (s->routing->in_place) {
        run->out_bits = run->in_bits + run->first / 32 * sizeof(uint32_t);
        run->out_updates = run->in_updates + (uint64_t)run->first * update;
    }
    return HF_OK;
}

hf_status graph_begin(graph_state *s, hf_kernel *kernel, const hf_arg *args,
                      size_t n_args, size_t teams) {
    size_t team = s->traits[GRAPH_TEAM_ITEMS];
    const hf_launch what = {
        .kernel = kernel,
        .args = args,
        .n_args = n_args,
        .items = s->env.ndrange ? teams * team : 1,
        .group = s->env.ndrange ? team : 0,
    };
    assert(s->n_begun < GRAPH_BEGUN);
    HF_TRY(
        s->env.device->ops->launch(s->env.device, &what, NULL, &s->begun[s->n_begun]));
    s->n_begun++;
    return HF_OK;
}

hf_status graph_await(graph_state *s) {
    size_t n = s->n_begun;
    s->n_begun = 0;
    hf_status status = hf_device_wait(s->env.device, s->begun, n);
    hf_lap(s->env.laps, HF_LAP_KERNEL);
    return status;
}

hf_status graph_buffer_new(const graph_state *s, hf_buffer **out, size_t bytes) {
    hf_device *device = s->env.device;
    return device->ops->alloc(out, device, bytes ? bytes : GRAPH_ALIGN, NULL);
}

/* Write words that kernels take for indices, and see that they are there. */
hf_status graph_words_write(graph_state *s, hf_buffer *to, const char *what,
                            const void *from, size_t bytes) {
    hf_device *device = s->env.device;
    const uint32_t *words = from;
    uint64_t count = bytes / sizeof *words, sum = 0,
             n = s->env.ndrange ? s->run.chunks : 1;
    if (bytes == 0)
        return HF_OK;
    HF_TRY(device->ops->write(device, to, 0, from, bytes, NULL, NULL));
    const hf_arg args[] = {{.buffer = to}, GRAPH_BUFFER(sums), HF_VALUE(count)};
    for (size_t i = 0; i < n; i++)
        s->sums[i] = 0;
    HF_TRY(device->ops->write(device, s->buffers.sums, 0, s->sums, n * sizeof *s->sums,
                              NULL, NULL));
    HF_TRY(graph_begin(s, s->kernels.sum, args, sizeof args / sizeof *args, n));
    HF_TRY(graph_await(s));
    HF_TRY(device->ops->read(device, s->buffers.sums, 0, s->sums, n * sizeof *s->sums,
                             NULL, NULL));
    for (uint64_t i = 0; i < count; i++)
        sum += (2 * i + 1) * words[i];
    for (size_t i = 0; i < n; i++)
        sum -= s->sums[i];
    return sum == 0
               ? HF_OK
               : hf_fail(HF_EDEVICE,
                         "the %s of the graph are not on the device as sent", what);
}

hf_status graph_fill(const graph_state *s, hf_buffer *buffer, size_t begin) {
    hf_device *device = s->env.device;
    size_t bytes = GRAPH_FILL_WORDS * sizeof *s->fill;
    for (size_t at = begin; at < buffer->bytes; at += bytes) {
        size_t left = buffer->bytes - at;
        HF_TRY(device->ops->write(device, buffer, at, s->fill,
                                  left < bytes ? left : bytes, NULL, NULL));
    }
    return HF_OK;
}

hf_status graph_words_new(graph_state *s, hf_buffer **out, const char *what,
                          const void *from, size_t bytes) {
    HF_TRY(graph_buffer_new(s, out, bytes));
    return graph_words_write(s, *out, what, from, bytes);
}

/* A rank alone on a CPU reads heads where they are: a command would wake a thread. */
static hf_status box_new(const graph_state *s, hf_buffer **out, size_t bytes) {
    hf_device *device = s->env.device;
    return s->env.size == 1 && device->info.type == HF_CPU
               ? device->ops->wrap(out, device, NULL, bytes)
               : graph_buffer_new(s, out, bytes);
}

hf_status graph_buffers_new(graph_state *s) {
    graph_buffers *b = &s->buffers;
    hf_device *device = s->env.device;
    const hf_part *p = s->part;
    size_t size = (size_t)s->env.size, own = graph_room(s, s->env.rank),
           update = s->traits[GRAPH_UPDATE_BYTES],
           vertex = s->traits[GRAPH_VERTEX_BYTES], word = sizeof(uint32_t);
    graph_sizes sizes;
    HF_TRY(s->architecture->setup(s, &sizes));
    s->sums = calloc(s->run.chunks, sizeof *s->sums);
    if (!s->sums)
        return hf_fail(HF_ENOMEM, "no memory for %u chunks", s->run.chunks);
    HF_TRY(graph_buffer_new(s, &b->sums, s->run.chunks * sizeof *s->sums));
    HF_TRY(graph_words_new(s, &b->chunks, "chunks", s->chunks,
                           (s->run.chunks + 1) * word));
    HF_TRY(
        graph_words_new(s, &b->rows, "rows", p->rows, (p->own + 1) * sizeof *p->rows));
    size_t edges = sizes.edges ? p->in_edges : 0;
    HF_TRY(graph_words_new(s, &b->from, "edges", p->from, edges * word));
    HF_TRY(graph_words_new(s, &b->weights, "weights", p->weights,
                           p->weights ? edges * word : 0));
    HF_TRY(graph_words_new(s, &b->degrees, "degrees", p->degrees, p->own * word * 2));
    HF_TRY(graph_words_new(s, &b->names, "names", p->names + graph_first(s),
                           p->own * word));
    HF_TRY(graph_buffer_new(s, &b->run, sizeof s->run));
    HF_TRY(graph_buffer_new(s, &b->state, own * vertex));
    HF_TRY(graph_buffer_new(s, &b->waiting, (own + 31) / 32 * word));
    HF_TRY(
        graph_buffer_new(s, &b->later, s->traits[GRAPH_PRIORITIES] ? own * update : 0));
    HF_TRY(box_new(s, &b->outbox, sizes.outbox));
    HF_TRY(box_new(s, &b->inbox, sizes.inbox));
    s->words = graph_row_words(s);
    HF_TRY(graph_buffer_new(s, &b->told, s->words * sizeof *s->told));
    HF_TRY(graph_buffer_new(s, &b->all_told, size * s->words * sizeof *s->told));
    if (size > 1)
        HF_TRY(graph_buffer_new(s, &b->whole, p->vertices * vertex));
    s->told = calloc(size + 1, s->words * sizeof *s->told);
    s->keys = calloc(size, sizeof *s->keys);
    s->seals = calloc(size, sizeof *s->seals);
    s->sources = calloc(s->n_points, sizeof *s->sources);
    HF_TRY(device->ops->pin(&b->heads, device, NULL, size * s->run.head));
    s->heads = b->heads->host;
    s->fill = malloc(GRAPH_FILL_WORDS * sizeof *s->fill);
    s->state = malloc(p->vertices * vertex + 1);
    s->levels = malloc(p->vertices * sizeof *s->levels + 1);
    s->parents = malloc(p->vertices * sizeof *s->parents + 1);
    s->lows = malloc(p->vertices + (size_t)1);
    return s->told && s->keys && s->seals && s->sources && s->fill && s->state &&
                   s->levels && s->parents && s->lows
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for the state of %u vertices",
                         p->vertices);
}

/* The edges of this rank's part by where they leave, in the order of where they lead. */
typedef struct edges_out {
    uint64_t *rows; /* [vertices + 1] */
    uint32_t *to, *weights, *pieces;
} edges_out;

static void outs_fill(const hf_part *p, edges_out *o) {
    for (uint64_t e = 0; e < p->in_edges; e++)
        o->rows[p->from[e] + 1]++;
    for (uint32_t v = 0; v < p->vertices; v++)
        o->rows[v + 1] += o->rows[v];
    for (uint32_t v = 0; v < p->own; v++)
        for (uint64_t e = p->rows[v]; e < p->rows[v + 1]; e++) {
            uint64_t at = o->rows[p->from[e]]++;
            o->to[at] = v;
            if (p->weights)
                o->weights[at] = p->weights[e];
        }
    memmove(o->rows + 1, o->rows, p->vertices * sizeof *o->rows);
    o->rows[0] = 0;
}

static hf_status outs_write(graph_state *s, edges_out *o) {
    graph_buffers *b = &s->buffers;
    const hf_part *p = s->part;
    size_t word = sizeof(uint32_t), n = p->in_edges;
    if (!o->rows || !o->to || !o->weights || !o->pieces)
        return hf_fail(HF_ENOMEM, "no memory for %zu edges by where they leave", n);
    outs_fill(p, o);
    pieces_cut(o->pieces, s->run.chunks, o->rows, p->vertices);
    HF_TRY(graph_words_new(s, &b->pieces, "pieces", o->pieces,
                           (s->run.chunks + 1) * word));
    HF_TRY(graph_words_new(s, &b->outs, "rows", o->rows,
                           ((size_t)p->vertices + 1) * sizeof *o->rows));
    HF_TRY(graph_words_new(s, &b->to, "edges", o->to, n * word));
    return graph_words_new(s, &b->to_weights, "weights", o->weights,
                           p->weights ? n * word : 0);
}

hf_status graph_outs_new(graph_state *s) {
    graph_buffers *b = &s->buffers;
    const hf_part *p = s->part;
    size_t own = s->pushes ? graph_room(s, s->env.rank) : 0, word = sizeof(uint32_t),
           update = s->traits[GRAPH_UPDATE_BYTES];
    HF_TRY(graph_buffer_new(s, &b->got, own * word));
    HF_TRY(graph_buffer_new(s, &b->touched, (own + 31) / 32 * word));
    size_t made = s->run.chunks * (2 * sizeof(uint64_t));
    HF_TRY(graph_buffer_new(s, &b->made, s->persists ? 0 : made));
    HF_TRY(graph_buffer_new(s, &b->lists, s->fewer ? GRAPH_LISTS_BYTES(update) : 0));
    if (s->persists) {
        s->control = malloc(sizeof *s->control);
        if (!s->control)
            return hf_fail(HF_ENOMEM, "no memory for counts of supersteps");
        HF_TRY(box_new(s, &b->control, sizeof *s->control + made));
    }
    if (!s->pushes || s->mirrored)
        return HF_OK;
    edges_out o = {calloc((size_t)p->vertices + 2, sizeof *o.rows),
                   malloc(p->in_edges * word + 1),
                   malloc(p->weights ? p->in_edges * word : 1),
                   malloc((s->run.chunks + 1) * word)};
    hf_status status = outs_write(s, &o);
    free(o.rows);
    free(o.to);
    free(o.weights);
    free(o.pieces);
    return status;
}

/* Only where a check needs it: it is as large as the state of all vertices on each rank. */
hf_status graph_forest_new(graph_state *s) {
    size_t bytes = s->part->vertices * sizeof(uint32_t), size = (size_t)s->env.size;
    if (size == 1 || !s->check->forest)
        return HF_OK;
    HF_TRY(graph_buffer_new(s, &s->buffers.forest, bytes));
    HF_TRY(graph_buffer_new(s, &s->buffers.forests, size * bytes));
    s->forests = malloc(size * bytes + 1);
    return s->forests
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for components on %zu ranks", size);
}

hf_status graph_reference_new(graph_state *s) {
    size_t own = graph_room(s, s->env.rank), all = s->part->vertices;
    if (!s->check->reference)
        return HF_OK;
    HF_TRY(graph_buffer_new(s, &s->buffers.numbers, own * sizeof(double)));
    HF_TRY(graph_buffer_new(s, &s->buffers.all_numbers, all * sizeof(double)));
    s->reference = calloc(all + 1, sizeof *s->reference);
    s->spread = calloc(all + 1, sizeof *s->spread);
    s->share = calloc(own + 1, sizeof *s->share);
    s->mirror = malloc(s->architecture->seen(s).n * sizeof *s->mirror + 1);
    return s->reference && s->spread && s->share && s->mirror
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for a second result of %zu vertices",
                         all);
}
