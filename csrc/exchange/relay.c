/* relay.c - plans whose messages the devices of a node pass on by themselves.
 *
 * A rank's part of the memory begins with its control words and a receipt for each rank of the node
 * that it receives from. For each that it sends to, notes and slots follow. This rank alone writes
 * all of these: its device `begun`, notes and slots, its host the others.
 *
 * Launches are in one queue: when one has begun, those before it have ended. So only a launch that
 * is waited for has an event. An H200 takes 2 us of the host for one, and the next launch begins
 * 3 us later.
 */
#include "relay.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "core/error.h"
#include "core/pages.h"
#include "relay_layout.h"

enum {
    AHEAD = 3, /* launches that are given and have not begun, at most */
    KEPT = 8,  /* launches of which we know what they expect: AHEAD and some */
    RANKS = 8, /* of a node: each pair takes memory */
    SHORT_ROOM = 2 * RELAY_SHORT,
    NOTES = RELAY_LANES * RELAY_LINE,
    PAIR = NOTES + RELAY_SLOTS * (SHORT_ROOM + RELAY_LONGEST),
};

#define RELAYED "devices pass messages up to 1 MiB on by themselves"

typedef struct control {
    _Alignas(RELAY_LINE) _Atomic uint32_t stop;
    _Alignas(RELAY_LINE) _Atomic uint32_t begun;
    struct {
        _Alignas(RELAY_LINE) _Atomic uint32_t taken;
    } receipts[RANKS]; /* by the sender's number on the node */
} control;

enum { HEAD = (sizeof(control) + HF_PAGE - 1) / HF_PAGE * HF_PAGE };

struct hf_relay {
    hf_shared *window;
    hf_buffer *pinned; /* the window */
    hf_event *last;    /* of the last launch; NULL: it has none, or has ended */
    uint32_t launched,
        ended;            /* launches so far; those that the host knows to have ended */
    uint32_t sent[RANKS]; /* messages so far, by number on the node */
    uint32_t expected[KEPT]
                     [RANKS]; /* likewise, up to launch k: [k % KEPT]; 0 is none */
};

/* ---- where things are ---- */

/* Number of a rank among those of its node. */
static int local_of(const hf_transport *net, int rank) {
    int local = 0;
    for (int other = 0; other < rank; other++)
        local += net->nodes[other] == net->nodes[rank];
    return local;
}

static control *control_of(const hf_chunks *c, int rank) {
    return c->relay->window->parts[rank];
}

static _Atomic uint32_t *receipt_of(const hf_chunks *c, int receiver, int sender) {
    return &control_of(c, receiver)->receipts[local_of(c->base.net, sender)].taken;
}

/* Notes of a pair; its slots follow. Nobody sends to itself, unless it is alone. */
static char *pair_of(const hf_chunks *c, int sender, int receiver) {
    int from = local_of(c->base.net, sender), to = local_of(c->base.net, receiver);
    return (char *)control_of(c, sender) + HEAD + (size_t)(to - (to > from)) * PAIR;
}

static size_t pairs_bytes(const hf_transport *net) {
    return (size_t)(net->local_size > 1 ? net->local_size - 1 : 1) * PAIR;
}

static unsigned long slot_of(char *pair, size_t bytes, uint32_t number) {
    size_t i = number % RELAY_SLOTS, longs = (size_t)RELAY_SLOTS * SHORT_ROOM;
    return (unsigned long)(pair + NOTES +
                           (bytes <= RELAY_SHORT ? i * SHORT_ROOM
                                                 : longs + i * RELAY_LONGEST));
}

/* ---- which plans ---- */

/* May a message cross between this rank and another? `seen` has ranks of the node that have one
 * already: of each pair there is one at a time. */
static bool way_fits(const hf_transport *net, int rank, size_t bytes, unsigned *seen,
                     size_t *ways) {
    if (bytes == 0)
        return true;
    if (net->nodes[rank] != net->nodes[net->rank] ||
        (rank == net->rank && net->local_size > 1))
        return false;
    unsigned bit = 1U << local_of(net, rank);
    bool fits = bytes <= RELAY_LONGEST && !(*seen & bit);
    *seen |= bit;
    ++*ways;
    return fits;
}

bool hf_relay_fits(const hf_chunks *c, const hf_plan *plan) {
    const hf_transport *net = c->base.net;
    const hf_device *device = c->base.device;
    unsigned to = 0, from = 0;
    size_t ways = 0;
    bool fits = c->near == &hf_carrier_window && !c->chunk_size && !c->chunk_depth &&
                device->relay && device->info.type != HF_CPU &&
                net->local_size <= RANKS;
    for (size_t i = 0; fits && i < plan->n; i++) {
        const hf_message *m = &plan->messages[i];
        fits = way_fits(net, m->to, m->send_bytes, &to, &ways) &&
               way_fits(net, m->from, m->recv_bytes, &from, &ways);
    }
    return fits && ways <= RELAY_WAYS;
}

/* ---- memory ---- */

void hf_relay_free(hf_chunks *c) {
    hf_device *device = c->base.device;
    if (!c->relay)
        return;
    device->ops->free(c->relay->pinned);
    if (device->broken)
        hf_shared_keep(c->relay->window);
    else
        hf_shared_free(c->relay->window);
    free(c->relay);
    c->relay = NULL;
}

static hf_status relay_pin(hf_relay *r, hf_device *device) {
    HF_TRY(
        device->ops->pin(&r->pinned, device, r->window->memory, r->window->all_bytes));
    return r->pinned->host == r->window->memory
               ? HF_OK
               : hf_fail(HF_ENOTSUP, "device \"%s\" pins memory elsewhere",
                         device->info.name);
}

static hf_status relay_open(hf_chunks *c) {
    hf_transport *net = c->base.net;
    c->relay = calloc(1, sizeof *c->relay);
    HF_TRY(
        hf_agree(net, c->relay ? HF_OK : hf_fail(HF_ENOMEM, "no memory for a relay")));
    assert(c->relay); /* else the ranks would have agreed on that */
    HF_TRY(hf_shared_new(&c->relay->window, net, HEAD + pairs_bytes(net)));
    return hf_agree(net, relay_pin(c->relay, c->base.device));
}

hf_status hf_relay_ready(hf_chunks *c) {
    if (!c->relay && !c->relay_refused) {
        hf_status status = relay_open(c);
        char text[200] = RELAYED;
        if (status != HF_OK)
            snprintf(text, sizeof text,
                     "no device passes messages on by itself: %.140s", hf_error());
        c->relay_refused = status != HF_OK;
        if (c->relay_refused)
            hf_relay_free(c);
        if (status == HF_ECOMM)
            return status;
        hf_chunks_note(c, text);
    }
    hf_relay *r = c->relay;
    if (!r)
        return HF_OK;
    if (!strstr(c->base.note, RELAYED)) /* other slots have other notes */
        hf_chunks_note(c, RELAYED);
    hf_relay_stop(c);
    memset(r->sent, 0, sizeof r->sent);
    memset(r->expected, 0, sizeof r->expected);
    r->launched = r->ended = 0;
    memset(control_of(c, c->base.net->rank), 0, HEAD + pairs_bytes(c->base.net));
    return HF_OK;
}

/* ---- launches ---- */

static relay_way way_of(const hf_chunks *c, int sender, int receiver, size_t at,
                        size_t bytes, uint32_t number) {
    char *pair = pair_of(c, sender, receiver);
    _Atomic uint32_t *receipt = receipt_of(c, receiver, sender);
    return (relay_way){
        .slot = slot_of(pair, bytes, number),
        .notes = (unsigned long)pair,
        .receipt = (unsigned long)receipt,
        .at = at,
        .bytes = (unsigned)bytes,
        .number = number,
        .taken = atomic_load_explicit(receipt, memory_order_acquire),
    };
}

/* The ways of a plan's next launch; returns their number. */
static size_t ways_of(const hf_chunks_plan *plan, relay_job *job) {
    const hf_chunks *c = hf_chunks_of(plan);
    uint32_t *expected = c->relay->expected[job->launch % KEPT];
    const hf_transport *net = c->base.net;
    size_t n = 0;
    for (int out = 1; out >= 0; out--) {
        for (size_t i = 0; i < plan->base.n; i++) {
            const hf_message *m = &plan->base.messages[i];
            size_t bytes = out ? m->send_bytes : m->recv_bytes;
            int sender = out ? net->rank : m->from, receiver = out ? m->to : net->rank;
            if (bytes == 0)
                continue;
            uint32_t *count = out ? &c->relay->sent[local_of(net, receiver)]
                                  : &expected[local_of(net, sender)];
            job->ways[n] = way_of(c, sender, receiver, out ? m->send_at : m->recv_at,
                                  bytes, ++*count);
            job->ways[n].groups =
                (n ? job->ways[n - 1].groups : 0) + relay_lanes((unsigned)bytes);
            n++;
        }
        if (out)
            job->out = (unsigned)n;
    }
    return n;
}

static hf_status relay_launch(hf_chunks_plan *plan) {
    static const hf_order untold = {.label = "relay", .untold = true},
                          told = {.label = "relay"};
    const hf_chunks *c = hf_chunks_of(plan);
    hf_relay *r = c->relay;
    hf_device *device = c->base.device;
    control *own = control_of(c, c->base.net->rank);
    relay_job job = {.stop = (unsigned long)&own->stop,
                     .begun = (unsigned long)&own->begun,
                     .launch = r->launched + 1};
    memcpy(r->expected[job.launch % KEPT], r->expected[r->launched % KEPT],
           sizeof r->expected[0]);
    size_t n = ways_of(plan, &job);
    if (n == 0)
        return HF_OK;
    hf_buffer *sent = (hf_buffer *)(uintptr_t)plan->base.send, *got = plan->base.recv;
    const hf_arg args[] = {/* one may not be there, and is not used */
                           {.buffer = sent ? sent : got},
                           {.buffer = got ? got : sent},
                           HF_VALUE(job)};
    const hf_launch launch = {.kernel = device->relay,
                              .args = args,
                              .n_args = sizeof args / sizeof *args,
                              .items = (size_t)job.ways[n - 1].groups * RELAY_GROUP,
                              .group = RELAY_GROUP};
    HF_TRY(device->ops->launch(device, &launch, plan->defers ? &untold : &told,
                               plan->defers ? NULL : &r->last));
    r->launched++;
    return HF_OK;
}

static uint32_t begun_of(const hf_chunks *c) {
    return atomic_load_explicit(&control_of(c, c->base.net->rank)->begun,
                                memory_order_acquire);
}

/* So many launches have ended: what they expected has been taken. */
static void ended_note(const hf_chunks *c, uint32_t ended) {
    hf_relay *r = c->relay;
    if (ended == r->ended)
        return;
    control *own = control_of(c, c->base.net->rank);
    for (int local = 0; local < c->base.net->local_size; local++)
        atomic_store_explicit(&own->receipts[local].taken,
                              r->expected[ended % KEPT][local], memory_order_release);
    r->ended = ended;
}

/* Wait for all launches. */
static hf_status launches_wait(const hf_chunks *c) {
    hf_relay *r = c->relay;
    hf_device *device = c->base.device;
    if (!r->last)
        HF_TRY(device->ops->mark(device, NULL, &r->last));
    hf_event *last = r->last;
    r->last = NULL;
    HF_TRY(device->ops->wait(device, last));
    ended_note(c, r->launched);
    return HF_OK;
}

hf_status hf_relay_go_on(hf_chunks_plan *plan, bool *moved, bool *done) {
    hf_chunks *c = hf_chunks_of(plan);
    hf_relay *r = c->relay;
    hf_device *device = c->base.device;
    uint32_t begun = begun_of(c);
    if (begun > r->ended + 1)
        ended_note(c, begun - 1);
    if (plan->late && r->ended < r->launched && hf_relay_waits_for(c) == HF_NOBODY) {
        HF_TRY(launches_wait(c)); /* the device tells what keeps it */
        *moved = true;
    }
    if (!plan->begun && r->launched - begun < AHEAD) {
        HF_TRY(relay_launch(plan));
        plan->begun = *moved = true;
    }
    *done = plan->begun && (plan->defers || r->ended == r->launched);
    bool ended = false;
    if (plan->begun && !*done)
        HF_TRY(device->ops->test(device, r->last, 0, &ended));
    *moved = *moved || ended;
    return ended ? launches_wait(c) : HF_OK;
}

/* Has message `number` from a rank come, as far as the host sees? */
static bool has_come(const hf_chunks *c, int from, uint32_t number) {
    char *pair = pair_of(c, from, c->base.net->rank);
    const volatile uint32_t *word = (uint32_t *)slot_of(pair, RELAY_SHORT, number),
                            *note = (uint32_t *)pair;
    return number == 0 || word[1] == number || *note / RELAY_ROUNDS >= number;
}

/* Of the launch that runs: the last one that has begun, or the first. */
int hf_relay_waits_for(const hf_chunks *c) {
    const hf_transport *net = c->base.net;
    const hf_relay *r = c->relay;
    const uint32_t *expected = r->expected[begun_of(c) % KEPT];
    for (int rank = 0; rank < net->size; rank++) {
        int local = local_of(net, rank);
        if (net->nodes[rank] != net->nodes[net->rank])
            continue;
        if ((rank != net->rank || net->local_size == 1) &&
            !has_come(c, rank, expected[local]))
            return rank;
        if (r->sent[local] > *receipt_of(c, rank, net->rank) + RELAY_SLOTS)
            return rank;
    }
    return HF_NOBODY;
}

void hf_relay_stop(hf_chunks *c) {
    const hf_relay *r = c->relay;
    char line[HF_MESSAGE_ROOM]; /* of the failure before, which is told */
    if (!r || r->ended == r->launched)
        return;
    snprintf(line, sizeof line, "%s", hf_error());
    atomic_store(&control_of(c, c->base.net->rank)->stop, 1);
    if (launches_wait(c) != HF_OK)
        (void)hf_fail(HF_EDEVICE, "%s", line);
}
