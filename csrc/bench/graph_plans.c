/* graph_plans.c - graph over host-routed schemes: heads, bits and updates are blocks of plans.
 *
 * A superstep's head goes to every rank. Where a list in it is too short, bits and updates of
 * whole parts follow, and a kernel takes what came.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "graph_engine.h"

typedef struct plans {
    hf_plan *heads, *dense, *shared[GRAPH_SHARED];
    uint64_t bytes_heads, bytes_dense; /* that a superstep sends, all ranks */
    uint32_t *digests,
        *seen; /* [size, chunks] of what was told, and what the kernel saw */
} plans;

static size_t counts_of(const graph_state *s) {
    return (size_t)s->env.size * s->run.chunks;
}

static hf_status plans_open(graph_state *s, const hf_args *args) {
    plans *p = s->route = calloc(1, sizeof *p);
    size_t n = counts_of(s);
    uint64_t others = (uint64_t)s->env.size - 1;
    (void)args;
    if (p) {
        p->digests = calloc(n, sizeof *p->digests);
        p->seen = calloc(n, sizeof *p->seen);
    }
    if (!p || !p->digests || !p->seen)
        return hf_fail(HF_ENOMEM, "no memory for digests of %zu chunks", n);
    p->bytes_heads = others * (uint64_t)s->env.size * s->run.head;
    p->bytes_dense =
        others * (s->part->vertices / 8 +
                  (uint64_t)s->part->vertices * s->traits[GRAPH_UPDATE_BYTES]);
    HF_TRY(graph_buffer_new(s, &s->buffers.checks, n * sizeof *p->seen));
    return s->env.device->ops->kernel(&s->kernels.take, s->env.device, "graph_take", 0);
}

/* ---- plans ---- */

/* A block from each rank to each: `per` messages to a peer, made by `make`. With `own` the
 * rank's own, too. */
typedef void (*message_make)(const graph_state *s, unsigned what, int to, int from,
                             hf_message *out);

static hf_status plan_new(graph_state *s, hf_plan **out, hf_buffer *recv,
                          const hf_buffer *send, size_t per, bool own,
                          message_make make, unsigned what) {
    int size = s->env.size, rank = s->env.rank, least = own ? 0 : 1;
    size_t n = (size_t)(size - least) * per;
    hf_message *messages = calloc(n + 1, sizeof *messages);
    /* Without memory the plan of this rank fits nobody's: all fail. */
    for (int k = least; messages && k < size; k++)
        make(s, what, (rank + k) % size, (rank - k + size) % size,
             messages + (size_t)(k - least) * per);
    hf_status status =
        hf_plan_new(out, s->env.exchange, recv, send, messages ? n : 0, messages);
    free(messages);
    return status;
}

static void head_make(const graph_state *s, unsigned what, int to, int from,
                      hf_message *out) {
    size_t bytes = s->run.head;
    (void)what;
    *out = (hf_message){to, from, 0, (size_t)from * bytes, bytes, bytes};
}

/* Bits, then updates. */
static void dense_make(const graph_state *s, unsigned what, int to, int from,
                       hf_message *out) {
    size_t update = s->traits[GRAPH_UPDATE_BYTES], ours = graph_room(s, s->env.rank),
           theirs = graph_room(s, from), word = sizeof(uint32_t),
           first = s->part->starts[from];
    (void)what;
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

static void shared_make(const graph_state *s, unsigned what, int to, int from,
                        hf_message *out) {
    graph_block ours = graph_block_of(s, what, s->env.rank),
                theirs = graph_block_of(s, what, from);
    *out = (hf_message){to, from, 0, theirs.at, ours.bytes, theirs.bytes};
}

static hf_status shared_new(graph_state *s, graph_shared what) {
    plans *p = s->route;
    graph_block block = graph_block_of(s, what, s->env.rank);
    return block.to ? plan_new(s, &p->shared[what], block.to, block.from, 1, true,
                               shared_make, what)
                    : HF_OK;
}

static hf_status plans_begin(graph_state *s) {
    return shared_new(s, GRAPH_SHARED_ROWS);
}

hf_status graph_dense_connect(graph_state *s) {
    return plan_new(s, &((plans *)s->route)->dense, s->buffers.inbox, s->buffers.outbox,
                    2, false, dense_make, 0);
}

static hf_status plans_connect(graph_state *s) {
    plans *p = s->route;
    const graph_buffers *b = &s->buffers;
    HF_TRY(plan_new(s, &p->heads, b->inbox, b->outbox, 1, false, head_make, 0));
    HF_TRY(s->architecture->connect(s));
    HF_TRY(shared_new(s, GRAPH_SHARED_NUMBERS));
    HF_TRY(shared_new(s, GRAPH_SHARED_FORESTS));
    return shared_new(s, GRAPH_SHARED_STATE);
}

static hf_status plans_share(graph_state *s, graph_shared what) {
    return hf_plan_run(((plans *)s->route)->shared[what]);
}

/* ---- a sample ---- */

static hf_status plans_prepare(graph_state *s) {
    plans *p = s->route;
    hf_device *device = s->env.device;
    size_t n = counts_of(s);
    for (size_t i = 0; i < n; i++)
        p->digests[i] = (uint32_t)hf_random(s->seals[s->env.rank], i);
    return device->ops->write(device, s->buffers.checks, 0, p->digests,
                              n * sizeof *p->digests, NULL, NULL);
}

static hf_status plans_make(graph_state *s, uint32_t maker, const hf_arg *args,
                            size_t n_args) {
    return graph_launch(s, s->kernels.all[maker], args, n_args, s->run.chunks);
}

static hf_status heads_read(graph_state *s) {
    plans *p = s->route;
    hf_device *device = s->env.device;
    size_t head = s->run.head, own = (size_t)s->env.rank * head, behind = own + head,
           bytes = (size_t)s->env.size * head;
    memset(s->heads, 0xA5, bytes);
    if (s->env.size > 1)
        HF_TRY(hf_plan_run(p->heads));
    if (own > 0)
        HF_TRY(
            device->ops->read(device, s->buffers.inbox, 0, s->heads, own, NULL, NULL));
    if (behind < bytes)
        HF_TRY(device->ops->read(device, s->buffers.inbox, behind, s->heads + behind,
                                 bytes - behind, NULL, NULL));
    HF_TRY(device->ops->read(device, s->buffers.outbox, 0, s->heads + own, head, NULL,
                             NULL));
    s->tally.bytes += p->bytes_heads;
    graph_table_sent(s, (size_t)(s->env.size - 1) * head);
    hf_lap(s->env.laps, HF_LAP_TRANSFER);
    return HF_OK;
}

static hf_status dense_send(graph_state *s) {
    plans *p = s->route;
    size_t room = graph_room(s, s->env.rank);
    s->tally.bytes += p->bytes_dense;
    graph_table_sent(s, (size_t)(s->env.size - 1) *
                            ((room + 31) / 32 * sizeof(uint32_t) +
                             room * s->traits[GRAPH_UPDATE_BYTES]));
    return hf_plan_run(p->dense);
}

/* Of one rank it is already where the next superstep looks. */
hf_status graph_dense_take(graph_state *s) {
    plans *p = s->route;
    uint32_t listed = s->totals.listed;
    size_t n = counts_of(s);
    if (s->env.size == 1) {
        graph_boxes_turn(s);
        return HF_OK;
    }
    if (s->totals.active == 0 && !s->traits[GRAPH_ALWAYS])
        return HF_OK;
    const hf_arg args[] = {GRAPH_BUFFER(run),         GRAPH_BUFFER(outbox),
                           GRAPH_BUFFER(inbox),       GRAPH_BUFFER(checks),
                           GRAPH_VALUE(s->superstep), GRAPH_VALUE(listed)};
    if (!listed)
        HF_TRY(dense_send(s));
    for (size_t i = 0; i < n; i++)
        p->digests[i] += graph_count_of(s, i)->digest;
    return graph_launch(s, s->kernels.take, args, GRAPH_N_ARGS(args), n);
}

static hf_status plans_take(graph_state *s) {
    return s->architecture->take(s);
}

static hf_status plans_proven(graph_state *s, bool *right) {
    plans *p = s->route;
    hf_device *device = s->env.device;
    size_t n = counts_of(s);
    for (size_t i = 0; i < n; i++)
        p->seen[i] = ~p->digests[i];
    HF_TRY(device->ops->read(device, s->buffers.checks, 0, p->seen, n * sizeof *p->seen,
                             NULL, NULL));
    *right = memcmp(p->seen, p->digests, n * sizeof *p->seen) == 0;
    return HF_OK;
}

static void plans_close(graph_state *s) {
    plans *p = s->route;
    if (!p)
        return;
    hf_plan_free(p->heads);
    hf_plan_free(p->dense);
    for (size_t i = 0; i < GRAPH_SHARED; i++)
        hf_plan_free(p->shared[i]);
    free(p->digests);
    free(p->seen);
    free(p);
}

const graph_routing graph_by_plans = {
    .open = plans_open,
    .begin = plans_begin,
    .connect = plans_connect,
    .prepare = plans_prepare,
    .share = plans_share,
    .make = plans_make,
    .heads_read = heads_read,
    .take = plans_take,
    .proven = plans_proven,
    .close = plans_close,
};
