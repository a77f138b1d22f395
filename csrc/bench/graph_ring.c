/* graph_ring.c - graph over kernel-routed schemes: the host's side of graph_stream.cl.
 *
 * A superstep is a launch of three kernels: one makes updates, one sends them and those of others
 * round the ring, one receives. What the barriers of other ranks told comes back with what was
 * received of each, and the two must agree. What ranks tell each other beside updates goes the
 * same way.
 */
#include "graph_ring.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "graph_engine.h"

enum { RING_OUT = 0, RING_IN = 1, N_PORTS };
enum { PASSED = GRAPH_MAKERS, N_INNER };
enum { N_SEND_ARGS = 4, N_RECEIVE_ARGS = 13, MAX_PIECE = 8 };

typedef struct ring {
    hf_link *links;
    size_t packet, depth;  /* of a packet [B], of a link [packets] */
    uint32_t ranks, piece; /* words of what is shared, in a packet */
    hf_kernel *share, *sender, *receiver;
    hf_buffer *came_buffer;
    graph_came *came;  /* [ranks] */
    uint64_t key;      /* the same on all ranks */
    uint32_t launches; /* the same on all ranks */
    uint32_t seal;     /* of this launch */
    bool proven;
} ring;

/* Where a launch puts what it receives, in words. */
typedef struct drain {
    hf_buffer *to;
    uint64_t place, bits;
    uint32_t bit_words, own_word, own_words, words, items, number;
} drain;

static const struct {
    const char *name;
    hf_end end;
} makers[GRAPH_MAKERS] = {
    [GRAPH_STARTS] = {"graph_start", {GRAPH_STARTS, true, true}},
    [GRAPH_PULLS] = {"graph_pull", {GRAPH_PULLS, true, true}},
    [GRAPH_APPLIES] = {"graph_apply", {GRAPH_APPLIES, true, true}},
    [GRAPH_ADMITS] = {"graph_admit", {GRAPH_ADMITS, true, true}},
    [GRAPH_SHARES] = {"graph_share", {GRAPH_SHARES, true, true}},
};
static const hf_end sender_ends[] = {
    {GRAPH_STARTS, true, false},  {GRAPH_PULLS, true, false},
    {GRAPH_APPLIES, true, false}, {GRAPH_ADMITS, true, false},
    {GRAPH_SHARES, true, false},  {PASSED, true, false},
    {RING_OUT, false, true},
};
static const hf_end receiver_ends[] = {{RING_IN, false, false}, {PASSED, true, true}};

/* ---- set-up ---- */

static hf_status update_check(const graph_state *s, const ring *r) {
    size_t update = s->traits[GRAPH_UPDATE_BYTES], words = GRAPH_PAYLOAD(r->packet);
    if (update <= words * sizeof(uint32_t))
        return HF_OK;
    return hf_fail(HF_EARG,
                   "channel_width: packets of %zu B hold updates of up to %zu B, those "
                   "of the program have %zu B; 32 holds 24, 64 holds 56, 128 all",
                   r->packet, words * sizeof(uint32_t), update);
}

static hf_status ring_open(graph_state *s, const hf_args *args) {
    ring *r = s->route = calloc(1, sizeof *r);
    hf_device *device = s->env.device;
    const hf_device_ops *ops = device->ops;
    if (!r)
        return hf_fail(HF_ENOMEM, "no memory for a ring");
    r->ranks = (uint32_t)s->env.size;
    r->packet = (size_t)hf_args_number(args, "channel_width");
    r->depth = (size_t)hf_args_number(args, "channel_depth");
    HF_TRY(update_check(s, r));
    for (r->piece = MAX_PIECE; r->piece > GRAPH_PAYLOAD(r->packet);)
        r->piece /= 2;
    r->came = calloc(r->ranks, sizeof *r->came);
    if (!r->came)
        return hf_fail(HF_ENOMEM, "no memory for a ring of %u ranks", r->ranks);
    HF_TRY(hf_links_make(&r->links, "ring", s->env.size, N_PORTS));
    HF_TRY(graph_buffer_new(s, &r->came_buffer, r->ranks * sizeof *r->came));
    HF_TRY(ops->kernel(&r->share, device, "graph_share", 0));
    HF_TRY(ops->kernel(&r->sender, device, "graph_sender", 0));
    return ops->kernel(&r->receiver, device, "graph_receiver", 0);
}

static hf_status ring_begin(graph_state *s) {
    ring *r = s->route;
    hf_exchange *exchange = s->env.exchange;
    const hf_wiring wiring = {.links = r->links,
                              .ports = N_PORTS,
                              .inner = N_INNER,
                              .width = r->packet,
                              .depth = r->depth,
                              .inner_depth = GRAPH_HELD};
    r->key = s->env.seed;
    r->proven = true;
    return exchange->ops->streams->connect(exchange, &wiring);
}

/* From now on launches have seals that no other run has. */
static hf_status ring_connect(graph_state *s) {
    ring *r = s->route;
    for (int rank = 0; rank < s->env.size; rank++)
        r->key ^= s->keys[rank];
    return HF_OK;
}

static hf_status ring_prepare(graph_state *s) {
    hf_exchange *exchange = s->env.exchange;
    ((ring *)s->route)->proven = true;
    return exchange->ops->streams->prepare(exchange);
}

/* ---- a launch ---- */

/* A kernel that makes packets, and with it those that take them round the ring. */
static hf_status ring_launch(graph_state *s, uint32_t maker, hf_kernel *kernel,
                             const hf_arg *args, size_t n_args, const drain *d) {
    ring *r = s->route;
    hf_exchange *exchange = s->env.exchange;
    uint32_t rank = (uint32_t)s->env.rank;
    const hf_arg send[N_SEND_ARGS] = {HF_VALUE(maker), HF_VALUE(rank),
                                      HF_VALUE(r->ranks), HF_VALUE(r->seal)};
    const hf_arg receive[N_RECEIVE_ARGS] = {
        {.buffer = d->to},      {.buffer = r->came_buffer}, HF_VALUE(d->place),
        HF_VALUE(d->bits),      HF_VALUE(d->bit_words),     HF_VALUE(d->own_word),
        HF_VALUE(d->own_words), HF_VALUE(d->words),         HF_VALUE(d->items),
        HF_VALUE(rank),         HF_VALUE(r->ranks),         HF_VALUE(d->number),
        HF_VALUE(r->seal)};
    const hf_stream streams[GRAPH_STREAMS] = {
        {.name = makers[maker].name,
         .launch = {.kernel = kernel, .args = args, .n_args = n_args},
         .ends = &makers[maker].end,
         .n_ends = 1},
        {.name = "graph_sender",
         .launch = {.kernel = r->sender, .args = send, .n_args = N_SEND_ARGS},
         .ends = sender_ends,
         .n_ends = GRAPH_N_ARGS(sender_ends)},
        {.name = "graph_receiver",
         .launch = {.kernel = r->receiver, .args = receive, .n_args = N_RECEIVE_ARGS},
         .ends = receiver_ends,
         .n_ends = GRAPH_N_ARGS(receiver_ends)},
    };
    size_t n = r->ranks > 1 ? GRAPH_STREAMS : 1; /* alone: nothing is sent */
    return exchange->ops->streams->stream(exchange, n, streams);
}

static void launch_begin(ring *r) {
    r->seal = (uint32_t)hf_random(r->key, r->launches++);
}

/* What came from each other rank in this launch: did it come as its barriers say? Their counts
 * are sealed: those of another launch are seen. */
static hf_status came_read(graph_state *s) {
    ring *r = s->route;
    hf_device *device = s->env.device;
    size_t bytes = r->ranks * sizeof *r->came;
    if (r->ranks == 1)
        return HF_OK;
    memset(r->came, 0xA5, bytes);
    HF_TRY(device->ops->read(device, r->came_buffer, 0, r->came, bytes, NULL, NULL));
    for (uint32_t rank = 0; rank < r->ranks; rank++) {
        const graph_came *c = &r->came[rank];
        if (rank != (uint32_t)s->env.rank)
            r->proven = r->proven && c->wrong == 0 && c->taken == c->count.active &&
                        c->digest == c->count.digest;
    }
    return HF_OK;
}

/* ---- a superstep ---- */

static hf_status ring_make(graph_state *s, uint32_t maker, const hf_arg *args,
                           size_t n_args) {
    const graph_run *run = &s->run;
    const size_t word = sizeof(uint32_t);
    const drain d = {
        .to = s->buffers.outbox,
        .place = run->in_updates / word,
        .bits = run->in_bits / word,
        .bit_words = (s->part->vertices + 31) / 32,
        .own_word = run->first / 32,
        .own_words = (run->own + 31) / 32,
        .words = s->traits[GRAPH_UPDATE_BYTES] / (uint32_t)word,
        .items = s->part->vertices,
        .number = s->superstep,
    };
    HF_TRY(graph_await(s)); /* what was begun is in another queue */
    launch_begin(s->route);
    HF_TRY(ring_launch(s, maker, s->kernels.all[maker], args, n_args, &d));
    hf_lap(s->env.laps, HF_LAP_KERNEL);
    return HF_OK;
}

static hf_status heads_read(graph_state *s) {
    ring *r = s->route;
    hf_device *device = s->env.device;
    size_t head = s->run.head, own = (size_t)s->env.rank * head;
    uint64_t most = 0;
    HF_TRY(came_read(s));
    for (uint32_t rank = 0; rank < r->ranks; rank++)
        memcpy(s->heads + rank * head, &r->came[rank].count, sizeof(graph_count));
    HF_TRY(device->ops->read(device, s->buffers.outbox, 0, s->heads + own, head, NULL,
                             NULL));
    for (uint32_t rank = 0; rank < r->ranks; rank++) {
        uint64_t active = graph_count_of(s, rank)->active;
        most = active > most ? active : most;
    }
    uint64_t bytes = graph_sent(r->ranks, most) * r->packet;
    s->tally.bytes += bytes * r->ranks;
    graph_stage_add(s, GRAPH_STAGE_BYTES, bytes);
    hf_lap(s->env.laps, HF_LAP_TRANSFER);
    return HF_OK;
}

static hf_status ring_take(graph_state *s) {
    graph_boxes_turn(s);
    return HF_OK;
}

static hf_status ring_proven(graph_state *s, bool *right) {
    *right = ((const ring *)s->route)->proven;
    return HF_OK;
}

/* ---- what else all ranks tell each other ---- */

static hf_status ring_share(graph_state *s, graph_shared what) {
    ring *r = s->route;
    const graph_block block = graph_block_of(s, what, s->env.rank);
    const size_t bytes = r->piece * sizeof(uint32_t);
    uint32_t first = (uint32_t)(block.at / bytes),
             pieces = (uint32_t)(block.bytes / bytes);
    launch_begin(r);
    uint32_t number = r->launches;
    const hf_arg args[] = {{.buffer = block.from}, {.buffer = block.to},
                           HF_VALUE(first),        HF_VALUE(pieces),
                           HF_VALUE(r->piece),     HF_VALUE(r->ranks),
                           HF_VALUE(number),       HF_VALUE(r->seal)};
    const drain d = {.to = block.to,
                     .words = r->piece,
                     .items = (uint32_t)(block.to->bytes / bytes),
                     .number = number};
    HF_TRY(ring_launch(s, GRAPH_SHARES, r->share, args, GRAPH_N_ARGS(args), &d));
    HF_TRY(came_read(s));
    for (uint32_t rank = 0; rank < r->ranks; rank++) {
        const graph_count *c = &r->came[rank].count;
        if (rank != (uint32_t)s->env.rank)
            r->proven = r->proven && c->seal == graph_seal(c, r->seal, number, 0);
    }
    return HF_OK;
}

static void ring_close(graph_state *s) {
    ring *r = s->route;
    const hf_device_ops *ops = s->env.device->ops;
    if (!r)
        return;
    ops->free(r->came_buffer);
    ops->kernel_free(r->share);
    ops->kernel_free(r->sender);
    ops->kernel_free(r->receiver);
    free(r->links);
    free(r->came);
    free(r);
}

const graph_routing graph_by_ring = {
    .one_chunk = true,
    .in_place = true,
    .open = ring_open,
    .begin = ring_begin,
    .connect = ring_connect,
    .prepare = ring_prepare,
    .share = ring_share,
    .make = ring_make,
    .heads_read = heads_read,
    .take = ring_take,
    .proven = ring_proven,
    .close = ring_close,
};
