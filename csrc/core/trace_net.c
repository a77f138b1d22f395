/* trace_net.c - a transport's table whose calls leave spans in a trace. */
#include <stddef.h>

#include "core/clock.h"
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
    t->net_ops.barrier = traced_barrier;
    t->net->ops = &t->net_ops;
}
