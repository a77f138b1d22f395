/* relay.c - plans whose messages the devices of a node pass on by themselves.
 *
 * A rank's part of the memory begins with its control words and a receipt for each rank of the node
 * that it receives from. For each that it sends to, notes and slots follow. This rank alone writes
 * all of these: its device `begun`, notes and slots, its host the others.
 *
 * Launches are in one queue: when one has begun, those before it have ended. They have no events:
 * an H200 takes 2 us of the host for one, and the next launch begins 3 us later. Who waits for the
 * last one has a mark put behind it, when it has begun.
 */
#include "relay.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/pages.h"
#include "relay_layout.h"

enum {
    AHEAD = 3, /* launches that are given and have not begun, at most */
    KEPT = 8,  /* launches of which we know what they expect */
    RANKS = 8, /* of a node: each pair takes memory */
    SHORT_ROOM = 2 * RELAY_SHORT,
    NOTES = RELAY_LANES * RELAY_LINE,
    WORDS = RELAY_SLOTS * SHORT_ROOM,
    PAIR = NOTES + WORDS + RELAY_SLOTS * RELAY_LONGEST,
};

/* What is taken for granted: each lane's last note is below the next message's first; counts of the
 * last launch that ended, of those that run and of the next one are not written over; OpenCL has
 * room for such an argument. */
_Static_assert(RELAY_LONGEST / RELAY_PIECE / RELAY_LANES < RELAY_ROUNDS, "notes");
_Static_assert(KEPT >= AHEAD + 2, "launches");
_Static_assert(sizeof(relay_job) <= 1024 && sizeof(unsigned long) == 8, "arguments");

/* A wait for what has ended [s]. */
static const double BRIEFLY = 1e-3;

#define RELAYED "devices pass messages up to 1 MiB on by themselves"

typedef struct control {
    _Alignas(HF_LINE) _Atomic uint32_t stop;
    _Alignas(HF_LINE) _Atomic uint32_t begun;
    struct {
        _Alignas(HF_LINE) _Atomic uint32_t taken;
    } receipts[RANKS]; /* by the sender's number on the node */
} control;

enum { CONTROL_BYTES = (sizeof(control) + HF_PAGE - 1) / HF_PAGE * HF_PAGE };

struct hf_relay {
    hf_shared *window;
    hf_buffer *pinned; /* the window */
    hf_event *last;    /* of a mark behind the last launch; NULL: there is none */
    uint32_t launched; /* launches so far, */
    uint32_t ended;    /* and those that the host knows to have ended */
    /* Messages so far, by number on the node; received, up to launch k: [k % KEPT] */
    uint32_t sent[RANKS], expected[KEPT][RANKS];
};

/* ---- where things are ---- */

/* Number of a rank among those of its node. */
static int local_of(const hf_transport *net, int rank) {
    int local = 0;
    for (int other = net->nodes[rank]; other < rank; other++)
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
    return (char *)control_of(c, sender) + CONTROL_BYTES +
           (size_t)(to - (to > from)) * PAIR;
}

static size_t pairs_bytes(const hf_transport *net) {
    return (size_t)(net->local_size > 1 ? net->local_size - 1 : 1) * PAIR;
}

static unsigned long slot_of(char *pair, size_t bytes, uint32_t number) {
    size_t i = number % RELAY_SLOTS;
    return (unsigned long)(pair + NOTES +
                           (bytes <= RELAY_SHORT ? i * SHORT_ROOM
                                                 : WORDS + i * RELAY_LONGEST));
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
    bool fits = c->base.ops->relays && !c->chunk_size && !c->chunk_depth &&
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
    if (!c->relay)
        return;
    if (c->relay->window && c->relay->pinned)
        hf_relay_stop(c);
    c->base.device->ops->free(c->relay->pinned);
    hf_chunks_leave(c, c->relay->window);
    free(c->relay);
    c->relay = NULL;
}

static hf_status relay_open(hf_chunks *c) {
    hf_transport *net = c->base.net;
    c->relay = calloc(1, sizeof *c->relay);
    HF_TRY(
        hf_agree(net, c->relay ? HF_OK : hf_fail(HF_ENOMEM, "no memory for a relay")));
    assert(c->relay); /* else the ranks would have agreed on that */
    HF_TRY(hf_shared_new(&c->relay->window, net, CONTROL_BYTES + pairs_bytes(net)));
    const hf_shared *w = c->relay->window;
    return hf_agree(net, hf_chunks_pin(c, &c->relay->pinned, w->memory, w->all_bytes));
}

/* Nothing lies there: a run like the one before would find its data in each slot. */
static void memory_wipe(const hf_chunks *c, size_t longest) {
    char *own = (char *)control_of(c, c->base.net->rank);
    memset(own, 0, CONTROL_BYTES);
    for (char *pair = own + CONTROL_BYTES;
         pair < own + CONTROL_BYTES + pairs_bytes(c->base.net); pair += PAIR) {
        memset(pair, 0, NOTES + WORDS);
        for (size_t i = 0; longest > RELAY_SHORT && i < RELAY_SLOTS; i++)
            memset(pair + NOTES + WORDS + i * RELAY_LONGEST, 0, longest);
    }
}

hf_status hf_relay_ready(hf_chunks *c, const hf_plan *plan) {
    size_t longest = 0;
    if (!c->relay && !*c->relay_why) {
        hf_status status = relay_open(c);
        if (status != HF_OK) {
            snprintf(c->relay_why, sizeof c->relay_why,
                     "devices do not pass messages on by themselves: %.110s",
                     hf_error());
            hf_relay_free(c);
        }
        if (status == HF_ECOMM)
            return status;
    }
    c->relay_note = c->relay ? RELAYED : c->relay_why;
    hf_relay *r = c->relay;
    if (!r)
        return HF_OK;
    hf_relay_stop(c);
    memset(r->sent, 0, sizeof r->sent);
    memset(r->expected, 0, sizeof r->expected);
    r->launched = r->ended = 0;
    for (size_t i = 0; i < plan->n; i++)
        if (plan->messages[i].send_bytes > longest)
            longest = plan->messages[i].send_bytes;
    memory_wipe(c, longest);
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

/* It counts at once: after a failure nobody knows whether it runs. */
static hf_status relay_launch(hf_chunks_plan *plan) {
    static const hf_order order = {.label = "relay", .no_event = true};
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
    r->launched++;
    return device->ops->launch(device, &launch, &order, NULL);
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

static hf_status last_take(hf_relay *r, hf_device *device) {
    return r->last ? HF_OK : device->ops->mark(device, NULL, &r->last);
}

/* Wait for all launches, by their device. */
static hf_status launches_wait(const hf_chunks *c) {
    hf_relay *r = c->relay;
    hf_device *device = c->base.device;
    HF_TRY(last_take(r, device));
    hf_event *last = r->last;
    r->last = NULL;
    HF_TRY(device->ops->wait(device, last));
    ended_note(c, r->launched);
    return HF_OK;
}

/* All that they wait for is there: have they ended? */
static hf_status launches_look(const hf_chunks *c, bool *ended) {
    hf_relay *r = c->relay;
    hf_device *device = c->base.device;
    HF_TRY(last_take(r, device));
    HF_TRY(device->ops->test(device, r->last, 0, ended));
    return *ended ? launches_wait(c) : HF_OK;
}

/* Launches wait for nobody and are late: the device tells what keeps it. Where one has not begun,
 * that is what was given before it. */
static hf_status device_hear(const hf_chunks_plan *plan, uint32_t begun, bool *moved) {
    const hf_chunks *c = hf_chunks_of(plan);
    hf_device *device = c->base.device;
    double start = hf_clock_now();
    if (begun == c->relay->launched || start - plan->moved > device->deadline)
        return launches_wait(c);
    HF_TRY(device->ops->mark(device, NULL, NULL));
    *moved = hf_clock_now() - start > BRIEFLY; /* it was there */
    return HF_OK;
}

bool hf_relay_busy(const hf_chunks *c) {
    return c->relay && c->relay->ended != c->relay->launched;
}

hf_status hf_relay_go_on(hf_chunks_plan *plan, bool *moved, bool *done) {
    hf_chunks *c = hf_chunks_of(plan);
    hf_relay *r = c->relay;
    uint32_t begun = begun_of(c);
    bool ended = false;
    if (begun > r->ended + 1)
        ended_note(c, begun - 1);
    if (plan->late && hf_relay_busy(c) && hf_relay_waits_for(c) == HF_NOBODY) {
        HF_TRY(device_hear(plan, begun, moved));
        begun = begun_of(c);
    }
    if (plan->relayed && !plan->begun && r->launched - begun < AHEAD) {
        HF_TRY(relay_launch(plan));
        plan->begun = *moved = true;
    }
    if (plan->relayed && !plan->begun)
        return HF_OK;
    *done = !hf_relay_busy(c) || (plan->relayed && plan->defers);
    if (!*done && begun == r->launched)
        HF_TRY(launches_look(c, &ended));
    *moved = *moved || ended;
    return HF_OK;
}

/* Has message `number` from a rank come, as far as the host sees? */
static bool has_come(const hf_chunks *c, int from, uint32_t number) {
    char *pair = pair_of(c, from, c->base.net->rank);
    const volatile uint32_t *word = (uint32_t *)slot_of(pair, RELAY_SHORT, number);
    uint64_t note; /* the first lane's */
    memcpy(&note, pair, sizeof note);
    return number == 0 || word[1] == number || note / RELAY_ROUNDS >= number;
}

/* Of the launch that runs: the last one that has begun. */
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
    char line[HF_MESSAGE_ROOM]; /* of the failure before, which is told */
    if (!hf_relay_busy(c))
        return;
    control *own = control_of(c, c->base.net->rank);
    snprintf(line, sizeof line, "%s", hf_error());
    atomic_store(&own->stop, 1);
    if (launches_wait(c) != HF_OK)
        (void)hf_fail(HF_EDEVICE, "%s", line);
}
