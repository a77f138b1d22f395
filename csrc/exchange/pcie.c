/* pcie.c - scheme `pcie`: device -> host, host -> host, host -> device, one by one. */
#include <assert.h>
#include <sched.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "exchange.h"

extern const hf_exchange_ops hf_exchange_pcie;

typedef struct pcie {
    hf_exchange base;
    hf_buffer *out, *in; /* staging memory, pinned; NULL where buffers have mirrors */
    hf_plan *moving;     /* the plan that is under way, or NULL */
} pcie;

typedef struct pcie_plan {
    hf_plan base;
    const hf_order *order;
    size_t at, stage;       /* the message that moves, and how far it is */
    const hf_message *held; /* whose block the staging memory to send from has */
    double since;           /* when its stage began [s] */
    hf_event *event;        /* of a copy that has not ended, or NULL */
    hf_transfer out, in;
} pcie_plan;

static hf_status pcie_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    pcie *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    exchange->base =
        (hf_exchange){.ops = &hf_exchange_pcie, .device = device, .net = net};
    *out = &exchange->base;
    return HF_OK;
}

static void pcie_close(hf_exchange *base) {
    pcie *exchange = (pcie *)base;
    if (!exchange)
        return;
    base->device->ops->free(exchange->out);
    base->device->ops->free(exchange->in);
    free(exchange);
}

/* ---- plans ---- */

/* At least `bytes` of staging memory. */
static hf_status staging_grow(hf_buffer **staging, hf_device *device, size_t bytes) {
    if (bytes == 0 || (*staging && bytes <= (*staging)->bytes))
        return HF_OK;
    device->ops->free(*staging);
    *staging = NULL;
    return device->ops->pin(staging, device, NULL, bytes);
}

static hf_status pcie_plan_take(hf_plan *plan) {
    pcie *exchange = (pcie *)plan->exchange;
    size_t out = 0, in = 0;
    assert(!exchange->moving);
    for (size_t i = 0; i < plan->n; i++) {
        const hf_message *m = &plan->messages[i];
        if (m->send_bytes > out && !plan->send->mirror)
            out = m->send_bytes;
        if (m->recv_bytes > in && !plan->recv->mirror)
            in = m->recv_bytes;
    }
    HF_TRY(staging_grow(&exchange->out, plan->exchange->device, out));
    return staging_grow(&exchange->in, plan->exchange->device, in);
}

static hf_status pcie_start(hf_plan *base, const hf_order *order) {
    pcie *exchange = (pcie *)base->exchange;
    pcie_plan *plan = (pcie_plan *)base;
    assert(!exchange->moving);
    exchange->moving = base;
    plan->order = order;
    plan->at = plan->stage = 0;
    plan->held = NULL;
    plan->since = hf_clock_now();
    plan->out.over = plan->in.over = true;
    return HF_OK;
}

static void pcie_plan_free(hf_plan *base) {
    pcie *exchange = (pcie *)base->exchange;
    pcie_plan *plan = (pcie_plan *)base;
    hf_transport *net = base->exchange->net;
    if (exchange->moving != base)
        return;
    exchange->moving = NULL;
    if (!plan->out.over)
        net->ops->abandon(net, &plan->out);
    if (!plan->in.over)
        net->ops->abandon(net, &plan->in);
    if (plan->event)
        base->exchange->device->ops->wait(base->exchange->device, plan->event);
}

/* ---- the stages of a message; *ended says whether it goes on with the next ---- */

/* Where a block is on the host. */
static char *block_host(const hf_buffer *buffer, size_t at, const hf_buffer *staging) {
    return buffer->mirror ? (char *)buffer->mirror + at : staging->host;
}

static char *out_host(const pcie_plan *plan, const hf_message *m) {
    return block_host(plan->base.send, m->send_at,
                      ((const pcie *)plan->base.exchange)->out);
}

static char *in_host(const pcie_plan *plan, const hf_message *m) {
    return block_host(plan->base.recv, m->recv_at,
                      ((const pcie *)plan->base.exchange)->in);
}

/* A block that goes to several ranks, one after the other, is read once. */
static hf_status read_begin(pcie_plan *plan, const hf_message *m, bool wait,
                            bool *ended) {
    hf_device *device = plan->base.exchange->device;
    const hf_message *held = plan->held;
    *ended = true;
    if (m->send_bytes == 0 ||
        (held && held->send_at == m->send_at && held->send_bytes == m->send_bytes))
        return HF_OK;
    plan->held = m;
    return device->ops->read(device, plan->base.send, m->send_at, out_host(plan, m),
                             m->send_bytes, plan->order, wait ? NULL : &plan->event);
}

static hf_status write_begin(pcie_plan *plan, const hf_message *m, bool wait,
                             bool *ended) {
    hf_device *device = plan->base.exchange->device;
    *ended = true;
    if (m->recv_bytes == 0)
        return HF_OK;
    hf_plan_came(&plan->base, plan->at, 0, in_host(plan, m), m->recv_bytes);
    return device->ops->write(device, plan->base.recv, m->recv_at, in_host(plan, m),
                              m->recv_bytes, plan->order, wait ? NULL : &plan->event);
}

static hf_status copy_end(pcie_plan *plan, const hf_message *m, bool wait,
                          bool *ended) {
    (void)m;
    HF_TRY(hf_plan_event(&plan->base, &plan->event, plan->since, wait, ended));
    hf_lap(plan->base.exchange->laps, HF_LAP_TRANSFER);
    return HF_OK;
}

static hf_status exchange_begin(pcie_plan *plan, const hf_message *m, bool wait,
                                bool *ended) {
    hf_transport *net = plan->base.exchange->net;
    *ended = true;
    plan->out = plan->in = (hf_transfer){.over = true}; /* an end may be nobody's */
    if (plan->held == m)
        hf_plan_sent(&plan->base, plan->at, 0, out_host(plan, m), m->send_bytes);
    if (wait && m->send_bytes > 0 && m->send_bytes == m->recv_bytes)
        return net->ops->sendrecv(net, out_host(plan, m), m->to, in_host(plan, m),
                                  m->from, m->send_bytes);
    if (m->recv_bytes > 0)
        HF_TRY(hf_recv(net, &plan->in, in_host(plan, m), m->recv_bytes, m->from));
    if (m->send_bytes > 0)
        HF_TRY(hf_send(net, &plan->out, out_host(plan, m), m->send_bytes, m->to));
    return HF_OK;
}

static hf_status exchange_end(pcie_plan *plan, const hf_message *m, bool wait,
                              bool *ended) {
    hf_transport *net = plan->base.exchange->net;
    (void)m;
    for (;;) {
        HF_TRY(net->ops->test(net, &plan->in));
        HF_TRY(net->ops->test(net, &plan->out));
        *ended = plan->in.over && plan->out.over;
        if (*ended || !wait)
            break;
        sched_yield();
    }
    hf_lap(plan->base.exchange->laps, HF_LAP_EXCHANGE);
    return HF_OK;
}

static hf_status pcie_progress(hf_plan *base, bool wait, bool *done) {
    static hf_status (*const stages[])(pcie_plan *, const hf_message *, bool,
                                       bool *) = {
        read_begin, copy_end, exchange_begin, exchange_end, write_begin, copy_end};
    enum { N_STAGES = sizeof stages / sizeof stages[0] };
    pcie_plan *plan = (pcie_plan *)base;
    *done = false;
    while (plan->at < base->n) {
        bool ended = true;
        HF_TRY(stages[plan->stage](plan, &base->messages[plan->at], wait, &ended));
        if (!ended)
            return HF_OK;
        plan->stage = (plan->stage + 1) % N_STAGES;
        plan->at += plan->stage == 0;
        if (!wait)
            plan->since = hf_clock_now();
    }
    ((pcie *)base->exchange)->moving = NULL;
    *done = true;
    return HF_OK;
}

static const hf_block_ops blocks = {
    .plan_bytes = sizeof(pcie_plan),
    .plan = pcie_plan_take,
    .start = pcie_start,
    .progress = pcie_progress,
    .free = pcie_plan_free,
};

const hf_exchange_ops hf_exchange_pcie = {
    .name = "pcie",
    .summary = "read from the device, MPI, write to the device, one after the other",
    .device = "opencl",
    .blocks = &blocks,
    .open = pcie_open,
    .close = pcie_close,
};
