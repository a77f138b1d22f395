/* yield.c - scheduler `yield`: each kernel keeps its thread, and gives its core away while it
 * waits. It has no state. */
#include <sched.h>

#include "scheduler.h"

static void host_wait(hf_ring_host *self, const hf_ring *ring,
                      const hf_ring_side *other, hf_word still) {
    (void)self, (void)ring, (void)other, (void)still;
    sched_yield();
}

static void host_leave(hf_ring_host *self) {
    (void)self;
}

static hf_status yield_open(hf_scheduler **out, hf_transport *net) {
    (void)net;
    *out = NULL;
    return HF_OK;
}

static void yield_prepare(hf_scheduler *scheduler, size_t n) {
    (void)scheduler, (void)n;
}

static void yield_attach(hf_scheduler *scheduler, size_t i, hf_ring_side *side) {
    (void)scheduler, (void)i, (void)side;
}

static const hf_ring_host *yield_host(const hf_scheduler *scheduler, size_t i) {
    static const hf_ring_host host = {host_wait, host_leave};
    (void)scheduler, (void)i;
    return &host;
}

static void yield_close(hf_scheduler *scheduler) {
    (void)scheduler;
}

const hf_scheduler_ops hf_scheduler_yield = {
    .open = yield_open,
    .prepare = yield_prepare,
    .attach = yield_attach,
    .host = yield_host,
    .close = yield_close,
};
