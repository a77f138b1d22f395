/* chunks.c - plans whose messages go in chunks. */
#include "chunks_plan.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/work.h"
#include "relay.h"

enum {
    SPINS = 128,     /* looks between two at the clock */
    BRIEF = 8 << 10, /* copies that end before their caller sleeps [B] */
};

/* Time between two looks for ranks that no longer come [s]. */
static const double LOOKS = 1e-3;

/* Time before the core is left to others, where each rank has one [s]: a thread of the device
 * that wakes is put on a core that is given away again and again. */
static const double PATIENCE = 1e-3;

/* A CPU makes one copy at a time: there few chunks are best. */
static size_t chunk_of(const hf_chunks *c, size_t message) {
    size_t most = c->chunk_size ? c->chunk_size : HF_CHUNK_MAX;
    if (!c->chunk_size && c->base.device->info.type != HF_CPU)
        return (size_t)hf_chunk((double)message);
    return message < most ? message : most;
}

size_t hf_chunk_at(const hf_chunks *c, size_t message, size_t at) {
    size_t chunk = chunk_of(c, message), left = message - at;
    return left < chunk ? left : chunk;
}

/* ---- plans ---- */

static hf_status chunks_plan_take(hf_plan *plan) {
    hf_chunks *c = (hf_chunks *)plan->exchange;
    enum { CHUNK, NO_RELAY, N };
    double found[N] = {[NO_RELAY] = !hf_relay_fits(c, plan)}, *most = &found[CHUNK];
    assert(!c->moving);
    for (size_t slot = 0; slot < HF_MAX_CHUNKS; slot++)
        assert(!c->ins[slot].event); /* no write was deferred: its slot may be wiped */
    for (size_t i = 0; i < plan->n; i++) {
        const hf_message *m = &plan->messages[i];
        *most = fmax(*most, (double)chunk_of(c, m->send_bytes));
        *most = fmax(*most, (double)chunk_of(c, m->recv_bytes));
    }
    ((hf_chunks_plan *)plan)->brief = *most < BRIEF;
    HF_TRY(c->base.net->ops->reduce(c->base.net, found, N, HF_MAX));
    HF_TRY(hf_chunks_room(c, (size_t)*most));
    if (found[NO_RELAY] == 0) {
        HF_TRY(hf_relay_ready(c, plan));
        ((hf_chunks_plan *)plan)->relays = c->relay != NULL;
    }
    hf_chunks_note(c);
    return HF_OK;
}

/* A single chunk each way has nothing to overlap with. */
static bool plan_blocks(const hf_chunks *c, const hf_plan *plan) {
    const hf_message *m = plan->messages;
    return c->base.device->info.type == HF_CPU ||
           (plan->n == 1 && chunk_of(c, m->send_bytes) == m->send_bytes &&
            chunk_of(c, m->recv_bytes) == m->recv_bytes);
}

static hf_status chunks_start(hf_plan *base, const hf_order *order) {
    hf_chunks *c = (hf_chunks *)base->exchange;
    hf_chunks_plan *plan = (hf_chunks_plan *)base;
    assert(!c->moving);
    c->moving = base;
    plan->order = order;
    plan->out = plan->in = (hf_cursor){0};
    /* as on all ranks, which start a plan in the same way */
    plan->relayed =
        plan->relays && base->waited && !base->glances && !base->kernels_beside;
    plan->blocks = plan_blocks(c, base);
    plan->defers = base->enqueued && c->base.device->info.type != HF_CPU;
    plan->begun = plan->marked = plan->late = false;
    c->runs++;
    plan->moved = plan->looked = hf_clock_now();
    plan->looks = 0;
    return HF_OK;
}

static void event_end(hf_device *device, hf_event **event) {
    hf_event *waited = *event;
    *event = NULL;
    if (waited)
        device->ops->wait(device, waited);
}

static void chunks_plan_free(hf_plan *base) {
    hf_chunks *c = (hf_chunks *)base->exchange;
    hf_transport *net = c->base.net;
    if (!c->moving) /* a failure may have left a write that was deferred */
        for (size_t slot = 0; slot < HF_MAX_CHUNKS; slot++)
            event_end(c->base.device, &c->ins[slot].event);
    hf_relay_stop(c);
    if (c->moving != base)
        return;
    c->moving = NULL;
    for (size_t slot = 0; slot < HF_MAX_CHUNKS; slot++) {
        hf_outgoing *out = &c->outs[slot];
        hf_incoming *in = &c->ins[slot];
        for (size_t i = 0; i < out->n_targets; i++)
            if (!out->targets[i].transfer.over)
                net->ops->abandon(net, &out->targets[i].transfer);
        if (!in->transfer.over)
            net->ops->abandon(net, &in->transfer);
        event_end(c->base.device, &out->event);
        event_end(c->base.device, &in->event);
    }
    event_end(c->base.device, &((hf_chunks_plan *)base)->ready);
}

/* ---- what is sent ---- */

static bool same_block(const hf_message *a, const hf_message *b) {
    return a->send_at == b->send_at && a->send_bytes == b->send_bytes;
}

/* May a block go to several ranks from one read? A chunk keeps its slot until all of them have
 * taken it, and each takes messages in the order of its list: where the slots do not hold the
 * whole block, ranks could wait for each other in a circle. */
static bool block_fits(const hf_chunks *c, size_t bytes) {
    return bytes <= c->depth * chunk_of(c, bytes);
}

/* The next block to send, with those whom it goes to. False past the last. */
static bool block_find(hf_chunks_plan *plan) {
    const hf_chunks *c = hf_chunks_of(plan);
    hf_cursor *at = &plan->out;
    const hf_message *m = plan->base.messages;
    size_t n = plan->base.n, most = 1;
    if (at->n_targets > 0)
        return true;
    while (at->message < n && m[at->message].send_bytes == 0)
        at->message++;
    at->at = 0;
    if (at->message < n && block_fits(c, m[at->message].send_bytes))
        most = HF_MAX_TARGETS;
    for (size_t i = at->message; i < n && at->n_targets < most; i++) {
        if (m[i].send_bytes > 0 && !same_block(&m[i], &m[at->message]))
            break;
        if (m[i].send_bytes > 0)
            at->targets[at->n_targets++] = m[i].to;
        at->after = i + 1;
    }
    return at->n_targets > 0;
}

void hf_cursor_go_on(hf_cursor *at, size_t bytes, size_t message) {
    at->at += bytes;
    if (at->at < message)
        return;
    at->message = at->after;
    at->at = at->n_targets = 0;
}

/* Where nobody waits for the plan: writes of the other queue come after this event. */
static hf_status plan_mark(hf_chunks_plan *plan) {
    hf_device *device = plan->base.exchange->device;
    if (plan->marked)
        return HF_OK;
    plan->marked = true;
    return device->ops->mark(device, plan->order, &plan->ready);
}

static hf_status chunk_read(hf_chunks_plan *plan, bool blocks, bool *moved) {
    hf_chunks *c = hf_chunks_of(plan);
    hf_device *device = c->base.device;
    if (c->out_next - c->out_oldest == c->depth || !block_find(plan))
        return HF_OK;
    hf_cursor *at = &plan->out;
    const hf_message *m = &plan->base.messages[at->message];
    if (c->out_oldest == c->out_next)
        c->out_oldest = c->out_next = 0; /* the slot that is in the caches */
    size_t slot = c->out_next % c->depth, bytes = hf_chunk_at(c, m->send_bytes, at->at);
    hf_outgoing *out = &c->outs[slot];
    out->stage = HF_COPIES;
    out->message = at->message;
    out->at = at->at;
    out->bytes = bytes;
    out->n_targets = at->n_targets;
    out->since = plan->moved;
    for (size_t i = 0; i < at->n_targets; i++)
        out->targets[i] = (hf_target){.carrier = hf_carrier_to(c, at->targets[i]),
                                      .rank = at->targets[i],
                                      .transfer.over = true};
    *moved = true;
    c->out_next++;
    HF_TRY(device->ops->read(device, plan->base.send, m->send_at + at->at,
                             c->out + slot * c->slot_room, bytes, plan->order,
                             blocks ? NULL : &out->event));
    if (blocks)
        hf_lap(c->base.laps, HF_LAP_TRANSFER);
    hf_cursor_go_on(at, bytes, m->send_bytes);
    return HF_OK;
}

/* A chunk that has been read goes to its ranks. */
static hf_status chunk_go(hf_chunks_plan *plan, size_t slot, bool *moved) {
    hf_chunks *c = hf_chunks_of(plan);
    hf_outgoing *out = &c->outs[slot];
    bool ended;
    HF_TRY(hf_plan_event(&plan->base, &out->event, out->since, plan->late, &ended));
    if (!ended)
        return HF_OK;
    *moved = plan->begun = true;
    out->stage = HF_GOES;
    hf_plan_sent(&plan->base, out->message, out->at, c->out + slot * c->slot_room,
                 out->bytes);
    for (size_t i = 0; i < out->n_targets; i++) {
        hf_target *to = &out->targets[i];
        to->number = c->sent[to->rank]++;
        HF_TRY(to->carrier->go(c, to, slot, out->bytes));
    }
    return HF_OK;
}

/* Has a chunk left its slot? `ends`: as far as the plan waits for it. */
static hf_status chunk_gone(hf_chunks *c, hf_outgoing *out, bool ends, bool *is) {
    *is = out->stage == HF_GOES;
    for (size_t i = 0; *is && i < out->n_targets; i++)
        if (!ends || out->targets[i].carrier->ends)
            HF_TRY(out->targets[i].carrier->gone(c, &out->targets[i], is));
    return HF_OK;
}

/* May chunk k go? Messages to one rank that go side by side all come late: the write of the first
 * could not begin before the last is there. So as with a single slot they go one by one, but not
 * those of a block to several ranks: it fits, and none of its ranks waits for another of them. */
static hf_status way_free(hf_chunks *c, size_t k, bool *is) {
    const hf_outgoing *own = &c->outs[k % c->depth];
    hf_outgoing *before = &c->outs[(k + c->depth - 1) % c->depth];
    *is = k == c->out_oldest || !own->targets->carrier->one_by_one ||
          own->n_targets > 1 || before->n_targets > 1 ||
          own->targets->rank != before->targets->rank;
    return *is ? HF_OK : chunk_gone(c, before, false, is);
}

static hf_status out_go_on(hf_chunks_plan *plan, bool blocks, bool *moved) {
    hf_chunks *c = hf_chunks_of(plan);
    bool gone = true;
    while (c->out_oldest < c->out_next && gone) {
        HF_TRY(chunk_gone(c, &c->outs[c->out_oldest % c->depth], false, &gone));
        c->out_oldest += gone;
    }
    HF_TRY(chunk_read(plan, blocks, moved));
    bool ready = true;
    for (size_t k = c->out_oldest; k < c->out_next && ready; k++) {
        size_t slot = k % c->depth;
        if (c->outs[slot].stage == HF_COPIES)
            HF_TRY(way_free(c, k, &ready));
        if (c->outs[slot].stage == HF_COPIES && ready)
            HF_TRY(chunk_go(plan, slot, moved));
        ready = c->outs[slot].stage == HF_GOES;
    }
    return HF_OK;
}

static hf_status out_done(hf_chunks_plan *plan, bool *done) {
    hf_chunks *c = hf_chunks_of(plan);
    *done = !block_find(plan);
    for (size_t k = c->out_oldest; *done && k < c->out_next; k++)
        HF_TRY(chunk_gone(c, &c->outs[k % c->depth], true, done));
    return HF_OK;
}

bool hf_chunks_reads_ended(hf_chunks_plan *plan) {
    const hf_chunks *c = hf_chunks_of(plan);
    bool ended = !block_find(plan);
    for (size_t k = c->out_oldest; ended && k < c->out_next; k++)
        ended = c->outs[k % c->depth].stage != HF_COPIES;
    return ended;
}

/* ---- waits ---- */

/* Whom the plan waits for where nobody else looks after him, or HF_NOBODY. */
static int waited_for(const hf_chunks *c) {
    for (size_t k = c->in_oldest; k < c->in_next; k++) {
        const hf_incoming *in = &c->ins[k % c->depth];
        if (in->stage == HF_GOES && in->carrier->waits)
            return in->rank;
    }
    for (size_t k = c->out_oldest; k < c->out_next; k++) {
        const hf_outgoing *out = &c->outs[k % c->depth];
        if (out->stage == HF_GOES && out->targets[0].carrier->waits)
            return out->targets[0].rank;
    }
    return HF_NOBODY;
}

/* Nothing moves: are all still there? On one core, the caller of a brief copy yields once, so that
 * the device's thread goes to sleep now: the next copy would wait for that. The caller of a longer
 * copy does not: it sleeps itself, and the thread takes the next copy while it is awake. Copies
 * depend on their device alone: one that is late is waited for by the device, which tells the other
 * ranks what it waits for. */
static hf_status plan_look(hf_chunks_plan *plan, bool wait) {
    hf_chunks *c = hf_chunks_of(plan);
    hf_transport *net = c->base.net;
    if (wait && c->one_core && plan->brief && plan->looks == 0)
        sched_yield();
    if (wait && ++plan->looks % SPINS)
        return HF_OK;
    double now = hf_clock_now();
    if (now - plan->looked > LOOKS) {
        int whom = hf_relay_busy(c) ? hf_relay_waits_for(c) : waited_for(c);
        plan->looked = now;
        HF_TRY(whom == HF_NOBODY ? net->ops->heed(net)
                                 : net->ops->look(net, whom, plan->moved));
    }
    plan->late = wait && now - plan->moved > HF_HEARING;
    if (wait && (c->crowded || now - plan->moved > PATIENCE))
        sched_yield();
    return HF_OK;
}

static void plan_moved(hf_chunks_plan *plan) {
    plan->moved = hf_clock_now();
    plan->looks = 0;
    plan->late = false;
}

/* Time of copies and messages side by side is that of the copies. */
static void plan_lap(const hf_chunks *c) {
    bool copies = false;
    if (!c->base.laps)
        return;
    for (size_t slot = 0; slot < c->depth; slot++)
        copies = copies || c->outs[slot].event || c->ins[slot].event;
    hf_lap(c->base.laps, copies ? HF_LAP_TRANSFER : HF_LAP_EXCHANGE);
}

static hf_status plan_end(hf_chunks_plan *plan) {
    hf_device *device = plan->base.exchange->device;
    hf_event *ready = plan->ready;
    hf_chunks_of(plan)->moving = NULL;
    plan->ready = NULL;
    return ready ? device->ops->wait(device, ready) : HF_OK;
}

/* Relayed plans go on, and launches of those before others that are not. */
static hf_status relayed_progress(hf_chunks_plan *plan, bool wait, bool *done) {
    hf_status status = HF_OK;
    bool moved = true;
    *done = false;
    while (status == HF_OK && !*done && (wait || moved)) {
        moved = false;
        status = hf_relay_go_on(plan, &moved, done);
        if (moved)
            plan_moved(plan);
        else if (status == HF_OK && !*done)
            status = plan_look(plan, wait);
    }
    if (status != HF_OK)
        hf_relay_stop(hf_chunks_of(plan));
    hf_lap(plan->base.exchange->laps, HF_LAP_TRANSFER);
    return status;
}

static hf_status chunks_progress(hf_plan *base, bool wait, bool *done) {
    hf_chunks_plan *plan = (hf_chunks_plan *)base;
    hf_chunks *c = hf_chunks_of(plan);
    if (plan->relayed || hf_relay_busy(c)) {
        HF_TRY(relayed_progress(plan, wait, done));
        if (*done && plan->relayed && !plan->defers)
            HF_TRY(hf_chunks_in_end(c));
        if (plan->relayed || !*done)
            return *done ? plan_end(plan) : HF_OK;
    }
    bool blocks = wait && plan->blocks, moved;
    if (!wait)
        HF_TRY(plan_mark(plan));
    do {
        moved = *done = false;
        HF_TRY(out_go_on(plan, blocks, &moved));
        HF_TRY(hf_chunks_in_go_on(plan, wait, &moved));
        if (!blocks)
            plan_lap(c);
        if (hf_chunks_in_done(plan))
            HF_TRY(out_done(plan, done));
        if (*done)
            return plan_end(plan);
        if (moved)
            plan_moved(plan);
        else
            HF_TRY(plan_look(plan, wait));
    } while (wait || moved);
    return HF_OK;
}

const hf_block_ops hf_chunks_blocks = {
    .plan_bytes = sizeof(hf_chunks_plan),
    .plan = chunks_plan_take,
    .start = chunks_start,
    .progress = chunks_progress,
    .take = hf_chunks_take,
    .free = chunks_plan_free,
};
