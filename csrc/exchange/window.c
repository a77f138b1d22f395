/* window.c - chunks go by memory that the ranks of a node share: the receiver finds them in the
 * sender's slots. Its device takes them from there, or its host copies them into slots of its own.
 *
 * A rank's part of the memory begins with a note for each rank that it sends to, and a receipt for
 * each that it receives from: this rank alone writes both. Its slots follow. A chunk goes by a
 * note, which says where it lies; its slot is free again with the receipt.
 */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "chunks.h"
#include "core/error.h"
#include "core/pages.h"

typedef struct note {
    _Alignas(HF_LINE) _Atomic uint64_t sent; /* chunks: written last */
    struct {
        uint32_t slot;
        uint32_t bytes;
    } places[HF_MAX_CHUNKS]; /* of chunk k: [k % HF_MAX_CHUNKS] */
} note;

typedef struct receipt {
    _Alignas(HF_LINE) _Atomic uint64_t taken; /* chunks */
} receipt;

size_t hf_window_head(int ranks) {
    return hf_pages_bytes((size_t)ranks * (sizeof(note) + sizeof(receipt)));
}

static note *note_of(const hf_chunks *c, int sender, int receiver) {
    return (note *)c->window->parts[sender] + receiver;
}

static receipt *receipt_of(const hf_chunks *c, int receiver, int sender) {
    char *notes_end =
        (char *)c->window->parts[receiver] + (size_t)c->base.net->size * sizeof(note);
    return (receipt *)notes_end + sender;
}

void hf_window_clear(hf_chunks *c) {
    int own = c->base.net->rank;
    for (int rank = 0; rank < c->base.net->size; rank++) {
        atomic_store_explicit(&note_of(c, own, rank)->sent, 0, memory_order_relaxed);
        atomic_store_explicit(&receipt_of(c, own, rank)->taken, 0,
                              memory_order_relaxed);
    }
}

static hf_status window_go(hf_chunks *c, hf_target *to, size_t slot, size_t bytes) {
    note *n = note_of(c, c->base.net->rank, to->rank);
    n->places[to->number % HF_MAX_CHUNKS].slot = (uint32_t)slot;
    n->places[to->number % HF_MAX_CHUNKS].bytes = (uint32_t)bytes;
    atomic_store_explicit(&n->sent, to->number + 1, memory_order_release);
    return HF_OK;
}

static hf_status window_gone(hf_chunks *c, hf_target *to, bool *is) {
    const receipt *r = receipt_of(c, to->rank, c->base.net->rank);
    *is = atomic_load_explicit(&r->taken, memory_order_acquire) > to->number;
    return HF_OK;
}

static hf_status window_expect(hf_chunks *c, hf_incoming *in, size_t slot) {
    (void)c, (void)in, (void)slot;
    return HF_OK;
}

/* Another length, or no slot: the two ranks no longer count alike. */
static hf_status window_come(hf_chunks *c, hf_incoming *in, bool *is) {
    const note *n = note_of(c, in->rank, c->base.net->rank);
    *is = atomic_load_explicit(&n->sent, memory_order_acquire) > in->number;
    if (!*is)
        return HF_OK;
    size_t slot = n->places[in->number % HF_MAX_CHUNKS].slot,
           bytes = n->places[in->number % HF_MAX_CHUNKS].bytes;
    if (bytes != in->bytes || slot >= c->depth)
        return hf_fail(HF_ECOMM,
                       "a chunk of %zu B from rank %d lies in slot %zu of %zu; %zu B "
                       "were expected",
                       bytes, in->rank, slot, c->depth, in->bytes);
    in->memory = (const char *)c->window->parts[in->rank] +
                 hf_window_head(c->base.net->size) + slot * c->slot_room;
    return HF_OK;
}

static void window_taken(hf_chunks *c, const hf_incoming *in) {
    receipt *r = receipt_of(c, c->base.net->rank, in->rank);
    atomic_store_explicit(&r->taken, in->number + 1, memory_order_release);
}

const hf_carrier hf_carrier_window = {
    .go = window_go,
    .gone = window_gone,
    .expect = window_expect,
    .come = window_come,
    .taken = window_taken,
    .waits = true,
    .in_place = true,
};

/* ---- the host copies ---- */

static hf_status copy_expect(hf_chunks *c, hf_incoming *in, size_t slot) {
    in->copy = c->in + slot * c->slot_room;
    return HF_OK;
}

enum { PART = 32 << 10 /* that a thread copies at a time [B] */ };

static void part_copy(void *context, size_t i) {
    const hf_incoming *in = context;
    size_t at = i * PART, left = in->bytes - at;
    memcpy(in->copy + at, in->memory + at, left < PART ? left : PART);
}

/* In turn: a receipt is for all chunks before it, too, whose slots are free then. */
static hf_status copy_come(hf_chunks *c, hf_incoming *in, bool *is) {
    const receipt *own = receipt_of(c, c->base.net->rank, in->rank);
    *is = atomic_load_explicit(&own->taken, memory_order_relaxed) == in->number;
    if (*is)
        HF_TRY(window_come(c, in, is));
    if (!*is)
        return HF_OK;
    hf_team_work(c->team, (in->bytes + PART - 1) / PART, part_copy, in);
    in->memory = in->copy;
    window_taken(c, in);
    return HF_OK;
}

const hf_carrier hf_carrier_copies = {
    .go = window_go,
    .gone = window_gone,
    .expect = copy_expect,
    .come = copy_come,
    .waits = true,
};
