/* chunks_in.c - what a plan receives: chunks come into slots, and are written from there. */
#include "chunks_plan.h"
#include "core/error.h"

static bool expected_find(hf_chunks_plan *plan) {
    hf_cursor *at = &plan->in;
    const hf_message *m = plan->base.messages;
    while (at->message < plan->base.n && m[at->message].recv_bytes == 0)
        at->message++;
    at->after = at->message + 1;
    return at->message < plan->base.n;
}

static hf_status chunk_expect(hf_chunks_plan *plan, bool *moved) {
    hf_chunks *c = hf_chunks_of(plan);
    if (c->in_next - c->in_oldest == c->depth || !expected_find(plan))
        return HF_OK;
    hf_cursor *at = &plan->in;
    const hf_message *m = &plan->base.messages[at->message];
    if (c->in_oldest == c->in_next)
        c->in_oldest = c->in_next = 0; /* the slot that is in the caches */
    size_t slot = c->in_next++ % c->depth;
    hf_incoming *in = &c->ins[slot];
    *in = (hf_incoming){.stage = HF_GOES,
                        .carrier = hf_carrier_to(c, m->from),
                        .rank = m->from,
                        .number = c->expected[m->from]++,
                        .message = at->message,
                        .bytes = hf_chunk_at(c, m->recv_bytes, at->at),
                        .at = m->recv_at + at->at,
                        .transfer.over = true};
    *moved = true;
    hf_cursor_go_on(at, in->bytes, m->recv_bytes);
    return in->carrier->expect(c, in, slot);
}

/* May this chunk's write be deferred? It is the plan's last, and its slot the last to be given
 * back: no other waits behind it. */
static bool is_last(hf_chunks_plan *plan, const hf_incoming *in) {
    const hf_chunks *c = hf_chunks_of(plan);
    return !expected_find(plan) && in == &c->ins[(c->in_next - 1) % c->depth];
}

/* Where the plan is waited for, a write after all its reads is in the plan's own queue, and the
 * last one may be deferred. Others go on beside reads, without an event between queues, which
 * costs more than to look for a read that has ended. */
static hf_status chunk_write(hf_chunks_plan *plan, hf_incoming *in, bool wait) {
    hf_exchange *exchange = plan->base.exchange;
    hf_device *device = exchange->device;
    bool blocks = wait && plan->blocks,
         reads_ended = wait && hf_chunks_reads_ended(plan),
         deferred = reads_ended && plan->defers && is_last(plan, in);
    hf_order own = plan->order ? *plan->order : (hf_order){0};
    own.lazy = deferred && plan->brief;
    const hf_order beside = {.queue = HF_WRITES_QUEUE,
                             .n_after = 1,
                             .after = &plan->ready,
                             .label = plan->order ? plan->order->label : NULL};
    hf_plan_came(&plan->base, in->message,
                 in->at - plan->base.messages[in->message].recv_at, in->memory,
                 in->bytes);
    in->stage = HF_COPIES;
    in->since = plan->moved;
    in->deferred_by = deferred ? hf_chunks_of(plan)->runs : 0;
    if (blocks)
        hf_lap(exchange->laps, HF_LAP_EXCHANGE);
    HF_TRY(device->ops->write(device, plan->base.recv, in->at, in->memory, in->bytes,
                              blocks || reads_ended ? &own : &beside,
                              blocks && !plan->defers ? NULL : &in->event));
    if (blocks)
        hf_lap(exchange->laps, HF_LAP_TRANSFER);
    return HF_OK;
}

/* May a chunk be written now? Not before all that the plan comes after has ended, but where the
 * order of the write sees to that. */
static bool write_may(hf_chunks_plan *plan, bool wait) {
    bool orders = !wait || (plan->blocks && !plan->defers);
    return orders || plan->begun || hf_chunks_reads_ended(plan);
}

static hf_status chunk_take(hf_chunks_plan *plan, hf_incoming *in, bool wait,
                            bool *moved) {
    bool is = false;
    if (in->stage == HF_GOES && write_may(plan, wait)) {
        HF_TRY(in->carrier->come(hf_chunks_of(plan), in, &is));
        if (is)
            HF_TRY(chunk_write(plan, in, wait));
        *moved = *moved || is;
    }
    if (in->stage == HF_COPIES && in->deferred_by != hf_chunks_of(plan)->runs) {
        HF_TRY(hf_plan_event(&plan->base, &in->event, in->since, plan->late, &is));
        if (is)
            in->stage = HF_IDLE;
    }
    return HF_OK;
}

static void slot_back(hf_chunks *c, const hf_incoming *in) {
    if (in->carrier->taken)
        in->carrier->taken(c, in);
}

hf_status hf_chunks_in_go_on(hf_chunks_plan *plan, bool wait, bool *moved) {
    hf_chunks *c = hf_chunks_of(plan);
    HF_TRY(chunk_expect(plan, moved));
    for (size_t k = c->in_oldest; k < c->in_next; k++)
        HF_TRY(chunk_take(plan, &c->ins[k % c->depth], wait, moved));
    while (c->in_oldest < c->in_next &&
           c->ins[c->in_oldest % c->depth].stage == HF_IDLE) {
        const hf_incoming *in = &c->ins[c->in_oldest++ % c->depth];
        slot_back(c, in);
        *moved = true;
    }
    return HF_OK;
}

hf_status hf_chunks_in_end(hf_chunks *c) {
    for (; c->in_oldest < c->in_next; c->in_oldest++) {
        hf_incoming *in = &c->ins[c->in_oldest % c->depth];
        hf_event *event = in->event;
        in->event = NULL;
        in->stage = HF_IDLE;
        HF_TRY(c->base.device->ops->wait(c->base.device, event));
        slot_back(c, in);
    }
    return HF_OK;
}

bool hf_chunks_in_done(hf_chunks_plan *plan) {
    const hf_chunks *c = hf_chunks_of(plan);
    bool done = !expected_find(plan);
    for (size_t k = c->in_oldest; done && k < c->in_next; k++) {
        const hf_incoming *in = &c->ins[k % c->depth];
        done = in->stage == HF_IDLE || in->deferred_by == c->runs;
    }
    return done;
}
