/* plan.c - what is exchanged again and again: do both ends of every message agree? */
#include "plan.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "core/clock.h"
#include "core/error.h"
#include "exchange.h"

/** One end of a message, as a rank plans it: to whom or from whom, and the length. */
typedef struct half {
    int64_t peer;
    uint64_t bytes;
    uint64_t number; /* in the list */
} half;

static bool block_lies_in(const hf_buffer *buffer, size_t at, size_t bytes) {
    return bytes == 0 || (buffer && at <= buffer->bytes && bytes <= buffer->bytes - at);
}

/* Refuse what one rank can see alone. */
static hf_status own_check(const hf_plan *plan) {
    const hf_transport *net = plan->exchange->net;
    for (size_t i = 0; i < plan->n; i++) {
        const hf_message *m = &plan->messages[i];
        int bad = m->to < HF_NOBODY || m->to >= net->size ? m->to : m->from;
        if (bad < HF_NOBODY || bad >= net->size)
            return hf_fail(HF_EARG,
                           "message %zu of rank %d names rank %d; ranks are 0 "
                           ".. %d",
                           i, net->rank, bad, net->size - 1);
        if ((m->to == HF_NOBODY && m->send_bytes) ||
            (m->from == HF_NOBODY && m->recv_bytes))
            return hf_fail(HF_EARG, "message %zu of rank %d has bytes for nobody", i,
                           net->rank);
        if (!block_lies_in(plan->send, m->send_at, m->send_bytes) ||
            !block_lies_in(plan->recv, m->recv_at, m->recv_bytes))
            return hf_fail(HF_EARG,
                           "message %zu of rank %d does not lie in its buffers", i,
                           net->rank);
    }
    return HF_OK;
}

/* The messages that this rank sends, or that it expects. Returns their number. */
static size_t halves_take(half *out, const hf_plan *plan, bool sends) {
    size_t n = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const hf_message *m = &plan->messages[i];
        int peer = sends ? m->to : m->from;
        if (peer != HF_NOBODY) {
            out[n] = (half){peer, sends ? m->send_bytes : m->recv_bytes, n};
            n++;
        }
    }
    return n;
}

static int half_order(const void *a, const void *b) {
    const half *x = a, *y = b;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static hf_status mismatch(int from, int to, size_t k, const half *sent,
                          const half *expected) {
    char theirs[32] = "nothing", ours[32] = "nothing";
    if (sent)
        snprintf(theirs, sizeof theirs, "%llu B", (unsigned long long)sent->bytes);
    if (expected)
        snprintf(ours, sizeof ours, "%llu B", (unsigned long long)expected->bytes);
    return hf_fail(
        HF_EARG,
        "rank %d sends %s to rank %d as message %zu of the pair, which expects "
        "%s",
        from, theirs, to, k, ours);
}

/* Compare what one rank sends to us with the part of `expected` that is from it; *at is
 * where that begins, and ends. */
static hf_status pair_check(const hf_transport *net, int from, const half *sent,
                            size_t n_sent, const half *expected, size_t n_expected,
                            size_t *at) {
    size_t k = 0;
    for (size_t i = 0; i < n_sent; i++) {
        if (sent[i].peer != net->rank)
            continue;
        bool ours = *at < n_expected && expected[*at].peer == from;
        if (!ours || expected[*at].bytes != sent[i].bytes)
            return mismatch(from, net->rank, k, &sent[i], ours ? &expected[*at] : NULL);
        ++*at;
        k++;
    }
    if (*at < n_expected && expected[*at].peer == from)
        return mismatch(from, net->rank, k, NULL, &expected[*at]);
    return HF_OK;
}

/* Every rank looks at what is sent to it. Collective. */
static hf_status ends_check(const hf_plan *plan) {
    assert(plan);
    hf_transport *net = plan->exchange->net;
    half *mine = malloc((plan->n + 1) * sizeof *mine);
    half *expected = malloc((plan->n + 1) * sizeof *expected);
    size_t *at = malloc(((size_t)net->size + 1) * sizeof *at), next = 0;
    char *all = NULL;
    hf_status status = hf_agree(net, mine && expected && at
                                         ? HF_OK
                                         : hf_fail(HF_ENOMEM, "no memory for a plan"));
    if (status == HF_OK) {
        assert(mine && expected && at); /* else the ranks would have agreed on that */
        size_t n_sent = halves_take(mine, plan, true);
        status = hf_gather_unequal(net, &all, at, mine, n_sent * sizeof *mine);
    }
    if (status == HF_OK) {
        size_t n = halves_take(expected, plan, false);
        qsort(expected, n, sizeof *expected, half_order);
        for (int from = 0; status == HF_OK && from < net->size; from++) {
            const void *sent = all + at[from];
            status =
                pair_check(net, from, sent, (at[from + 1] - at[from]) / sizeof(half),
                           expected, n, &next);
        }
        status = hf_agree(net, status);
    }
    free(all);
    free(at);
    free(expected);
    free(mine);
    return status;
}

/* ---- plans ---- */

const hf_param hf_plan_params[] = {HF_CHUNK_PARAMS, {0}};

static hf_status plan_make(hf_plan **out, hf_exchange *exchange, hf_buffer *recv,
                           const hf_buffer *send, size_t n,
                           const hf_message *messages) {
    hf_plan *plan = calloc(1, exchange->ops->blocks->plan_bytes);
    hf_message *own = malloc((n + 1) * sizeof *own);
    if (!plan || !own) {
        free(plan);
        free(own);
        return hf_fail(HF_ENOMEM, "no memory for a plan of %zu messages", n);
    }
    if (n > 0)
        memcpy(own, messages, n * sizeof *own);
    *plan = (hf_plan){
        .exchange = exchange, .recv = recv, .send = send, .n = n, .messages = own};
    *out = plan;
    return own_check(plan);
}

static hf_status scheme_choose(hf_exchange **exchange, size_t n,
                               const hf_message *messages) {
    const hf_block_ops *ops = (*exchange)->ops->blocks;
    hf_transport *net = (*exchange)->net;
    double longest = 0;
    if (!ops->choose)
        return HF_OK;
    for (size_t i = 0; i < n; i++) {
        longest = fmax(longest, (double)messages[i].send_bytes);
        longest = fmax(longest, (double)messages[i].recv_bytes);
    }
    HF_TRY(net->ops->reduce(net, &longest, 1, HF_MAX));
    *exchange = ops->choose(*exchange, (size_t)longest);
    return HF_OK;
}

hf_status hf_plan_new(hf_plan **out, hf_exchange *exchange, hf_buffer *recv,
                      const hf_buffer *send, size_t n, const hf_message *messages) {
    hf_transport *net = exchange->net;
    HF_TRY(scheme_choose(&exchange, n, messages));
    hf_plan *plan = NULL;
    hf_status status = plan_make(&plan, exchange, recv, send, n, messages);
    status = hf_agree(net, status);
    if (status == HF_OK)
        status = ends_check(plan);
    if (status == HF_OK)
        status = hf_agree(net, exchange->ops->blocks->plan(plan));
    if (status == HF_OK)
        *out = plan;
    else
        hf_plan_free(plan);
    return status;
}

void hf_plan_free(hf_plan *plan) {
    if (!plan)
        return;
    plan->exchange->ops->blocks->free(plan);
    free(plan->messages);
    free(plan);
}

hf_status hf_plan_event(const hf_plan *plan, hf_event **event, double since, bool wait,
                        bool *ended) {
    hf_device *device = plan->exchange->device;
    hf_event *waited = *event;
    *ended = true;
    if (!waited)
        return HF_OK;
    if (!wait)
        HF_TRY(device->ops->test(device, waited, 0, ended));
    if (!*ended && hf_clock_now() - since < device->deadline)
        return HF_OK;
    *event = NULL;
    return device->ops->wait(device, waited); /* which tells what is late */
}

static void glance_add(void *to, size_t most, size_t at, const void *bytes, size_t n) {
    if (to && at < most)
        memcpy((char *)to + at, bytes, n < most - at ? n : most - at);
}

void hf_plan_sent(const hf_plan *plan, size_t i, size_t at, const void *bytes,
                  size_t n) {
    const hf_glance *g = plan->glances;
    if (g)
        glance_add(g[i].sent, g[i].bytes, at, bytes, n);
}

void hf_plan_came(const hf_plan *plan, size_t i, size_t at, const void *bytes,
                  size_t n) {
    const hf_glance *g = plan->glances;
    if (g)
        glance_add(g[i].came, g[i].bytes, at, bytes, n);
}

static hf_status plan_go(hf_plan *plan, bool enqueued) {
    const hf_block_ops *ops = plan->exchange->ops->blocks;
    bool done = false;
    plan->enqueued = enqueued;
    plan->waited = true;
    plan->exchange->used = true;
    HF_TRY(ops->start(plan, NULL));
    plan->enqueued = plan->waited = false;
    while (!done)
        HF_TRY(ops->progress(plan, true, &done));
    return HF_OK;
}

hf_status hf_plan_run(hf_plan *plan) {
    return plan_go(plan, false);
}

hf_status hf_plan_enqueue(hf_plan *plan) {
    return plan_go(plan, true);
}
