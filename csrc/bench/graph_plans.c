/* graph_plans.c - graph over host-routed schemes: heads, bits and updates are blocks of plans.
 *
 * A superstep's head goes to every rank. Where a list in it is too short, bits and updates of
 * the whole part follow, and a kernel takes what came. They go with the head, as one message,
 * where they were needed in the superstep before: mostly they are again.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "graph_engine.h"

typedef struct plans {
    hf_plan *news, *shared[GRAPH_SHARED];
    hf_glance *heads; /* [size - 1] where the heads of `news` come by */
    bool whole;       /* whole parts go with the heads of this superstep */
    uint32_t *digests,
        *seen;  /* [size, chunks] of what was told, and what the kernel saw */
    char *head; /* that the device has of a rank */
} plans;

static size_t counts_of(const graph_state *s) {
    return (size_t)s->env.size * s->run.chunks;
}

static hf_status plans_open(graph_state *s, const hf_args *args) {
    plans *p = s->route = calloc(1, sizeof *p);
    size_t n = counts_of(s);
    (void)args;
    if (p) {
        p->digests = calloc(n, sizeof *p->digests);
        p->seen = calloc(n, sizeof *p->seen);
        p->heads = calloc((size_t)s->env.size, sizeof *p->heads);
        p->head = malloc(s->run.head);
    }
    if (!p || !p->digests || !p->seen || !p->heads || !p->head)
        return hf_fail(HF_ENOMEM, "no memory for digests of %zu chunks", n);
    HF_TRY(graph_buffer_new(s, &s->buffers.checks, n * sizeof *p->seen));
    if (s->env.size > 1)
        HF_TRY(graph_words_new(s, &s->buffers.places, "places", s->places,
                               ((size_t)s->env.size + 1) * sizeof *s->places));
    return s->env.device->ops->kernel(&s->kernels.take, s->env.device, "graph_take", 0);
}

/* ---- plans ---- */

/* A block from each rank to each, made by `make`. With `own` the rank's own, too. */
typedef void (*message_make)(const graph_state *s, unsigned what, int to, int from,
                             hf_message *out);

static hf_status plan_new(graph_state *s, hf_plan **out, hf_buffer *recv,
                          const hf_buffer *send, bool own, message_make make,
                          unsigned what) {
    int size = s->env.size, rank = s->env.rank, least = own ? 0 : 1;
    size_t n = (size_t)(size - least);
    hf_message *messages = calloc(n + 1, sizeof *messages);
    /* Without memory the plan of this rank fits nobody's: all fail. */
    for (int k = least; messages && k < size; k++)
        make(s, what, (rank + k) % size, (rank - k + size) % size,
             messages + k - least);
    hf_status status =
        hf_plan_new(out, s->env.exchange, recv, send, messages ? n : 0, messages);
    free(messages);
    return status;
}

/* Most that a rank tells others in a superstep. */
static size_t told_bytes(const graph_state *s, int rank) {
    return s->places[rank + 1].box - s->places[rank].box;
}

static void news_make(const graph_state *s, unsigned what, int to, int from,
                      hf_message *out) {
    (void)what;
    *out = (hf_message){to,
                        from,
                        0,
                        s->places[from].box,
                        told_bytes(s, s->env.rank),
                        told_bytes(s, from)};
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
    return block.to ? plan_new(s, &p->shared[what], block.to, block.from, true,
                               shared_make, what)
                    : HF_OK;
}

static char *head_of(const graph_state *s, int rank) {
    return s->heads + (size_t)rank * s->run.head;
}

static hf_status plans_begin(graph_state *s) {
    return shared_new(s, GRAPH_SHARED_ROWS);
}

static hf_status plans_connect(graph_state *s) {
    plans *p = s->route;
    const graph_buffers *b = &s->buffers;
    HF_TRY(plan_new(s, &p->news, b->inbox, b->outbox, false, news_make, 0));
    for (size_t i = 0; i < p->news->n; i++)
        p->heads[i] = (hf_glance){
            .sent = i == 0 ? head_of(s, s->env.rank) : NULL,
            .came = head_of(s, p->news->messages[i].from),
            .bytes = s->run.head,
        };
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
    p->whole = s->traits[GRAPH_ALWAYS];
    for (size_t i = 0; i < n; i++)
        p->digests[i] = (uint32_t)hf_random(s->seals[s->env.rank], i);
    return device->ops->write(device, s->buffers.checks, 0, p->digests,
                              n * sizeof *p->digests, NULL, NULL);
}

static hf_status plans_make(graph_state *s, uint32_t maker, const hf_arg *args,
                            size_t n_args) {
    return graph_begin(s, s->kernels.all[maker], args, n_args, s->run.chunks);
}

/* Send heads, what lies behind them, or both. */
static hf_status news_send(graph_state *s, bool heads, bool rest) {
    plans *p = s->route;
    size_t head = s->run.head, begin = heads ? 0 : head;
    p->news->glances = heads ? p->heads : NULL;
    for (size_t i = 0; i < p->news->n; i++) {
        hf_message *m = &p->news->messages[i];
        m->send_at = begin;
        m->recv_at = s->places[m->from].box + begin;
        m->send_bytes = (rest ? told_bytes(s, s->env.rank) : head) - begin;
        m->recv_bytes = (rest ? told_bytes(s, m->from) : head) - begin;
    }
    for (int rank = 0; rank < s->env.size; rank++) {
        uint64_t bytes =
            (uint64_t)(s->env.size - 1) * ((rest ? told_bytes(s, rank) : head) - begin);
        s->tally.bytes += bytes;
        if (rank == s->env.rank)
            graph_stage_add(s, GRAPH_STAGE_BYTES, bytes);
    }
    return hf_plan_run(p->news);
}

/* The head of a rank alone. From a device's memory it is read right behind the kernels, so that
 * there is one wait. In host memory it is read after that, without a command. */
static hf_status head_read(graph_state *s) {
    hf_device *device = s->env.device;
    const hf_buffer *from = s->buffers.outbox;
    hf_event *read = NULL;
    if (!from->host)
        HF_TRY(device->ops->read(device, from, 0, s->heads, s->run.head, NULL, &read));
    hf_status status = graph_await(s);
    if (status == HF_OK && from->host)
        status = device->ops->read(device, from, 0, s->heads, s->run.head, NULL, NULL);
    if (read && (status == HF_OK || !device->broken)) { /* which said what is late */
        hf_status ended = device->ops->wait(device, read);
        status = status == HF_OK ? ended : status;
    }
    HF_TRY(status);
    hf_lap(s->env.laps, HF_LAP_TRANSFER);
    return HF_OK;
}

/* Those of several come by as they cross. */
static hf_status heads_read(graph_state *s) {
    const plans *p = s->route;
    memset(s->heads, 0xA5, (size_t)s->env.size * s->run.head);
    if (s->env.size == 1)
        return head_read(s);
    HF_TRY(graph_await(s));
    return news_send(s, true, p->whole);
}

void graph_heads_prove(graph_state *s) {
    plans *p = s->route;
    for (size_t i = 0; i < counts_of(s); i++)
        p->digests[i] += graph_count_of(s, i)->seal;
}

/* Of one rank it is already where the next superstep looks. */
hf_status graph_news_take(graph_state *s) {
    plans *p = s->route;
    uint32_t listed = s->totals.listed;
    size_t n = counts_of(s);
    if (s->env.size == 1) {
        graph_boxes_turn(s);
        return HF_OK;
    }
    if (!listed && !p->whole)
        HF_TRY(news_send(s, false, true));
    p->whole = !listed;
    if (s->totals.active == 0 && !s->traits[GRAPH_ALWAYS])
        return HF_OK;
    const hf_arg args[] = {GRAPH_BUFFER(run),    GRAPH_BUFFER(places),
                           GRAPH_BUFFER(outbox), GRAPH_BUFFER(inbox),
                           GRAPH_BUFFER(checks), HF_VALUE(s->superstep),
                           HF_VALUE(listed)};
    graph_heads_prove(s);
    for (size_t i = 0; i < n; i++)
        p->digests[i] += graph_count_of(s, i)->digest;
    return graph_begin(s, s->kernels.take, args, GRAPH_N_ARGS(args), n);
}

static hf_status plans_take(graph_state *s) {
    return s->architecture->take(s);
}

/* The last heads are taken by no kernel. */
static hf_status plans_proven(graph_state *s, bool *right) {
    plans *p = s->route;
    hf_device *device = s->env.device;
    size_t n = counts_of(s), head = s->run.head;
    for (size_t i = 0; i < n; i++)
        p->seen[i] = ~p->digests[i];
    HF_TRY(device->ops->read(device, s->buffers.checks, 0, p->seen, n * sizeof *p->seen,
                             NULL, NULL));
    *right = memcmp(p->seen, p->digests, n * sizeof *p->seen) == 0;
    for (int rank = 0; rank < s->env.size; rank++) {
        if (rank == s->env.rank)
            continue;
        memset(p->head, 0xA5, head);
        HF_TRY(device->ops->read(device, s->buffers.inbox, s->places[rank].box, p->head,
                                 head, NULL, NULL));
        *right = *right && memcmp(p->head, head_of(s, rank), head) == 0;
    }
    return HF_OK;
}

static void plans_close(graph_state *s) {
    plans *p = s->route;
    if (!p)
        return;
    hf_plan_free(p->news);
    for (size_t i = 0; i < GRAPH_SHARED; i++)
        hf_plan_free(p->shared[i]);
    free(p->heads);
    free(p->head);
    free(p->digests);
    free(p->seen);
    free(p);
}

const graph_routing graph_by_plans = {
    .lists = true,
    .few = true,
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
