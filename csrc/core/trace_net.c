/* trace_net.c - a transport's table whose calls leave spans in a trace. */
#include <stddef.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/trace_state.h"

/* The trace that has taken the place of the transport's own table. */
static hf_trace *trace_of(const hf_transport *net) {
    return (hf_trace *)((char *)(uintptr_t)net->ops - offsetof(hf_trace, net_ops));
}

static hf_status traced_sendrecv(hf_transport *net, const void *send, int to,
                                 void *recv, int from, size_t bytes) {
    hf_trace *t = trace_of(net);
    double start = hf_clock_now();
    hf_status status = t->net_own->sendrecv(net, send, to, recv, from, bytes);
    hf_span *span = hf_trace_host(t, HF_SPAN_MESSAGE, start, "");
    if (span) {
        span->bytes = bytes;
        span->to = to;
        span->from = from;
    }
    return status;
}

/* ---- messages that move on their own ---- */

static void transfer_look(hf_trace *t, const hf_transfer *transfer) {
    hf_span *span = transfer->over ? hf_trace_take(t, transfer) : NULL;
    if (span)
        span->clock = HF_BY_HOST;
}

static hf_status traced_start(hf_transport *net, hf_transfer *transfer) {
    hf_trace *t = trace_of(net);
    int queue = transfer->sends ? HF_TRACE_SENDS : HF_TRACE_RECVS;
    hf_span *span = t->armed ? hf_trace_span(t, HF_SPAN_MESSAGE, queue) : NULL;
    if (span) {
        span->start = span->end = hf_clock_now();
        span->bytes = transfer->bytes;
        span->to = span->from = transfer->peer;
        hf_trace_pend(t, span, transfer);
    }
    hf_status status = t->net_own->start(net, transfer);
    transfer_look(t, transfer);
    return status;
}

static hf_status traced_test(hf_transport *net, hf_transfer *transfer) {
    hf_trace *t = trace_of(net);
    hf_status status = t->net_own->test(net, transfer);
    transfer_look(t, transfer);
    return status;
}

static void traced_abandon(hf_transport *net, hf_transfer *transfer) {
    hf_trace *t = trace_of(net);
    t->net_own->abandon(net, transfer);
    transfer_look(t, transfer);
}

/* ---- what all do together ---- */

static void together(hf_trace *t, double start, const char *label, size_t bytes) {
    hf_span *span = hf_trace_host(t, HF_SPAN_MESSAGE, start, label);
    if (span) {
        span->bytes = bytes;
        span->to = span->from = HF_TRACE_ALL;
    }
}

static hf_status traced_broadcast(hf_transport *net, void *data, size_t bytes,
                                  int root) {
    hf_trace *t = trace_of(net);
    double start = hf_clock_now();
    hf_status status = t->net_own->broadcast(net, data, bytes, root);
    together(t, start, "broadcast", bytes);
    return status;
}

static hf_status traced_reduce(hf_transport *net, double *values, size_t n,
                               hf_reduction how) {
    hf_trace *t = trace_of(net);
    double start = hf_clock_now();
    hf_status status = t->net_own->reduce(net, values, n, how);
    together(t, start, "reduce", n * sizeof *values);
    return status;
}

static hf_status traced_gather(hf_transport *net, void *all, const void *mine,
                               size_t bytes) {
    hf_trace *t = trace_of(net);
    double start = hf_clock_now();
    hf_status status = t->net_own->gather(net, all, mine, bytes);
    together(t, start, "gather", bytes);
    return status;
}

/* A group is a transport, and traced as the one that it is of. */
static hf_status traced_group(hf_transport **out, hf_transport *net, int color) {
    hf_trace *t = trace_of(net);
    HF_TRY(t->net_own->group(out, net, color));
    (*out)->ops = &t->net_ops;
    return HF_OK;
}

static hf_status traced_barrier(hf_transport *net) {
    hf_trace *t = trace_of(net);
    double start = hf_clock_now();
    hf_status status = t->net_own->barrier(net);
    hf_trace_host(t, HF_SPAN_WAIT, start, "barrier");
    return status;
}

void hf_trace_wrap_net(hf_trace *t) {
    t->net_own = t->net->ops;
    t->net_ops = *t->net_own;
    t->net_ops.sendrecv = traced_sendrecv;
    t->net_ops.start = traced_start;
    t->net_ops.test = traced_test;
    t->net_ops.abandon = traced_abandon;
    t->net_ops.gather = traced_gather;
    t->net_ops.broadcast = traced_broadcast;
    t->net_ops.reduce = traced_reduce;
    t->net_ops.group = traced_group;
    t->net_ops.barrier = traced_barrier;
    t->net->ops = &t->net_ops;
}
