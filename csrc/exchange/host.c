/* host.c - scheme `host`: host buffers over the CPU's own network, the yardstick. */
#include <assert.h>
#include <sched.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "exchange.h"

extern const hf_exchange_ops hf_exchange_host;

typedef struct host_exchange {
    hf_exchange base;
    hf_plan *moving; /* the plan that is under way, or NULL */
} host_exchange;

typedef struct host_plan {
    hf_plan base;
    hf_transfer *transfers; /* [2 n], n to receive and n to send */
    const hf_order *order;
    enum { BEGINS, MARKED, MOVES } stage;
    hf_event *event; /* ends once the device is done */
    double since;    /* when it was asked for [s] */
    size_t at;       /* transfers before it are over */
} host_plan;

static hf_status host_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    host_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    exchange->base =
        (hf_exchange){.ops = &hf_exchange_host, .device = device, .net = net};
    *out = &exchange->base;
    return HF_OK;
}

static void host_close(hf_exchange *exchange) {
    free(exchange);
}

static hf_status host_plan_take(hf_plan *base) {
    host_plan *plan = (host_plan *)base;
    plan->transfers = malloc((2 * base->n + 1) * sizeof *plan->transfers);
    return plan->transfers ? HF_OK
                           : hf_fail(HF_ENOMEM, "no memory for %zu messages", base->n);
}

static hf_status host_start(hf_plan *base, const hf_order *order) {
    host_exchange *exchange = (host_exchange *)base->exchange;
    host_plan *plan = (host_plan *)base;
    assert(!exchange->moving);
    exchange->moving = base;
    plan->order = order;
    plan->stage = BEGINS;
    plan->at = 0;
    return HF_OK;
}

static void host_plan_free(hf_plan *base) {
    host_exchange *exchange = (host_exchange *)base->exchange;
    host_plan *plan = (host_plan *)base;
    hf_transport *net = base->exchange->net;
    bool moves = exchange->moving == base;
    if (moves) {
        exchange->moving = NULL;
        if (plan->stage == MARKED)
            base->exchange->device->ops->wait(base->exchange->device, plan->event);
        for (size_t i = 0; plan->stage == MOVES && i < 2 * base->n; i++)
            if (!plan->transfers[i].over)
                net->ops->abandon(net, &plan->transfers[i]);
    }
    free(plan->transfers);
}

/* Blocks move once the device is done with what they come after. */
static hf_status mark_begin(host_plan *plan, bool wait) {
    hf_device *device = plan->base.exchange->device;
    plan->event = NULL;
    HF_TRY(device->ops->mark(device, plan->order, wait ? NULL : &plan->event));
    plan->since = wait ? 0 : hf_clock_now();
    plan->stage = MARKED;
    return HF_OK;
}

static void *block_of(const hf_buffer *buffer, size_t at) {
    return (char *)buffer->host + at;
}

/* All at once: whatever the order of the lists, each message finds its end. */
static hf_status messages_begin(host_plan *plan) {
    hf_transport *net = plan->base.exchange->net;
    size_t n = plan->base.n;
    for (size_t i = 0; i < 2 * n; i++)
        plan->transfers[i] = (hf_transfer){.over = true};
    plan->stage = MOVES;
    for (size_t i = 0; i < n; i++) {
        const hf_message *m = &plan->base.messages[i];
        if (m->recv_bytes > 0)
            HF_TRY(hf_recv(net, &plan->transfers[i],
                           block_of(plan->base.recv, m->recv_at), m->recv_bytes,
                           m->from));
    }
    for (size_t i = 0; i < n; i++) {
        const hf_message *m = &plan->base.messages[i];
        if (m->send_bytes > 0)
            HF_TRY(hf_send(net, &plan->transfers[n + i],
                           block_of(plan->base.send, m->send_at), m->send_bytes,
                           m->to));
    }
    return HF_OK;
}

static hf_status messages_end(host_plan *plan, bool wait, bool *ended) {
    hf_transport *net = plan->base.exchange->net;
    while (plan->at < 2 * plan->base.n) {
        hf_transfer *t = &plan->transfers[plan->at];
        HF_TRY(net->ops->test(net, t));
        plan->at += t->over;
        if (!t->over && !wait)
            return HF_OK;
        if (!t->over)
            sched_yield();
    }
    *ended = true;
    return HF_OK;
}

/* All have moved, and the caller has not gone on. */
static void blocks_tell(const hf_plan *plan) {
    for (size_t i = 0; plan->glances && i < plan->n; i++) {
        const hf_message *m = &plan->messages[i];
        if (m->send_bytes > 0)
            hf_plan_sent(plan, i, 0, block_of(plan->send, m->send_at), m->send_bytes);
        if (m->recv_bytes > 0)
            hf_plan_came(plan, i, 0, block_of(plan->recv, m->recv_at), m->recv_bytes);
    }
}

/* A single message of equal lengths that is waited for needs no transfers of its own. */
static hf_status pair_move(const host_plan *plan, bool wait, bool *ended) {
    const hf_exchange *exchange = plan->base.exchange;
    const hf_message *m = plan->base.messages;
    if (!wait || plan->stage != BEGINS || plan->base.n != 1 || m->send_bytes == 0 ||
        m->send_bytes != m->recv_bytes)
        return HF_OK;
    *ended = true;
    HF_TRY(exchange->device->ops->mark(exchange->device, plan->order, NULL));
    return exchange->net->ops->sendrecv(
        exchange->net, block_of(plan->base.send, m->send_at), m->to,
        block_of(plan->base.recv, m->recv_at), m->from, m->send_bytes);
}

static hf_status host_progress(hf_plan *base, bool wait, bool *done) {
    host_plan *plan = (host_plan *)base;
    bool ended = base->n == 0;
    *done = false;
    HF_TRY(pair_move(plan, wait, &ended));
    if (!ended && plan->stage == BEGINS)
        HF_TRY(mark_begin(plan, wait));
    if (!ended && plan->stage == MARKED) {
        HF_TRY(hf_plan_event(base, &plan->event, plan->since, wait, &ended));
        if (!ended)
            return HF_OK;
        ended = false;
        HF_TRY(messages_begin(plan));
    }
    if (!ended)
        HF_TRY(messages_end(plan, wait, &ended));
    hf_lap(base->exchange->laps, HF_LAP_EXCHANGE);
    if (ended) {
        ((host_exchange *)base->exchange)->moving = NULL;
        blocks_tell(base);
    }
    *done = ended;
    return HF_OK;
}

static const hf_block_ops blocks = {
    .plan_bytes = sizeof(host_plan),
    .plan = host_plan_take,
    .start = host_start,
    .progress = host_progress,
    .free = host_plan_free,
};

const hf_exchange_ops hf_exchange_host = {
    .name = "host",
    .summary = "host buffers only, the CPU's own network: the yardstick",
    .device = "host",
    .host_memory = true,
    .blocks = &blocks,
    .open = host_open,
    .close = host_close,
};
