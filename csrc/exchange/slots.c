/* slots.c - host memory of schemes whose messages go in chunks: who has which, pinned or not. */
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "chunks.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/pages.h"
#include "core/parallel.h"

enum { DEPTH = 4 };

static void text_add(char *text, size_t room, const char *more) {
    size_t used = strlen(text);
    if (*more)
        snprintf(text + used, room - used, "%s%s", used ? "; " : "", more);
}

static void note_add(hf_chunks *c, const char *text) {
    text_add(c->slots_note, sizeof c->slots_note, text);
}

void hf_chunks_note(hf_chunks *c) {
    char *note = c->base.note;
    snprintf(note, sizeof c->base.note, "%s", c->slots_note);
    text_add(note, sizeof c->base.note, c->relay_note);
}

static bool in_window(const hf_chunks *c, int rank) {
    return c->window && c->window->parts[rank];
}

const hf_carrier *hf_carrier_to(const hf_chunks *c, int rank) {
    return in_window(c, rank) ? c->near : &hf_carrier_messages;
}

void hf_chunks_room_free(hf_chunks *c) {
    const hf_device *device = c->base.device;
    device->ops->free(c->pinned);
    device->ops->free(c->pinned_out);
    device->ops->free(c->pinned_in);
    hf_chunks_leave(c, c->window);
    c->pinned = c->pinned_out = c->pinned_in = NULL;
    c->window = NULL;
    c->out = c->in = NULL;
    c->slot_room = 0;
}

/* Where there is no such memory, messages do. */
static hf_status window_make(hf_chunks *c, size_t bytes) {
    hf_transport *net = c->base.net;
    hf_status status =
        hf_shared_new(&c->window, net, hf_window_head(net->size) + bytes);
    if (status == HF_OK || status == HF_ECOMM)
        return status;
    char text[sizeof c->slots_note];
    snprintf(text, sizeof text, "all ranks exchange by messages: %.180s", hf_error());
    note_add(c, text);
    return HF_OK;
}

hf_status hf_chunks_pin(hf_chunks *c, hf_buffer **out, void *memory, size_t bytes) {
    hf_device *device = c->base.device;
    HF_TRY(device->ops->pin(out, device, memory, bytes));
    if ((*out)->host == memory)
        return HF_OK;
    device->ops->free(*out);
    *out = NULL;
    return hf_fail(HF_ENOTSUP, "device \"%s\" pins memory elsewhere",
                   device->info.name);
}

void hf_chunks_leave(const hf_chunks *c, hf_shared *shared) {
    if (c->base.device->broken)
        hf_shared_keep(shared);
    else
        hf_shared_free(shared);
}

/* All of it, or the part of this rank where others copy from there. */
static hf_status window_pin(hf_chunks *c) {
    const hf_shared *w = c->window;
    return c->near->in_place
               ? hf_chunks_pin(c, &c->pinned, w->memory, w->all_bytes)
               : hf_chunks_pin(c, &c->pinned, w->parts[c->base.net->rank], w->bytes);
}

/* Copies to and from memory that is not pinned are slower, and right. */
static hf_status window_use(hf_chunks *c) {
    hf_transport *net = c->base.net;
    c->out = (char *)c->window->parts[net->rank] + hf_window_head(net->size);
    hf_status status = hf_agree(net, window_pin(c));
    if (status == HF_OK || status == HF_ECOMM)
        return status;
    char text[sizeof c->slots_note];
    snprintf(text, sizeof text,
             "the ranks' common memory is not pinned on each: %.160s", hf_error());
    note_add(c, text);
    return HF_OK;
}

/* Pairs of ranks that use the window, and others. */
static hf_status pairs_note(hf_chunks *c) {
    hf_transport *net = c->base.net;
    double pairs = net->local_size;
    HF_TRY(net->ops->reduce(net, &pairs, 1, HF_SUM));
    char text[sizeof c->slots_note];
    snprintf(
        text, sizeof text,
        "%.0f of %.0f pairs of ranks exchange by common memory, the others by messages",
        pairs, (double)net->size * net->size);
    note_add(c, text);
    return HF_OK;
}

static hf_status own_make(hf_chunks *c, bool far, size_t bytes) {
    hf_device *device = c->base.device;
    if (!c->window) {
        HF_TRY(device->ops->pin(&c->pinned_out, device, NULL, bytes));
        c->out = c->pinned_out->host;
    }
    if (far || !c->near->in_place) {
        HF_TRY(device->ops->pin(&c->pinned_in, device, NULL, bytes));
        c->in = c->pinned_in->host;
    }
    return HF_OK;
}

/* Slots to send from, and those that messages of others need to come into. Memory that is not
 * there would end the process when it is written, not here. */
static hf_status memory_check(const hf_chunks *c, size_t bytes) {
    const hf_transport *net = c->base.net;
    bool there = c->near->in_place && net->local_size == net->size;
    uint64_t wanted = (uint64_t)bytes * (there ? 1 : 2),
             left = hf_host_memory_of("").free / (uint64_t)net->local_size;
    return wanted <= left
               ? HF_OK
               : hf_fail(
                     HF_ENOMEM,
                     "%zu chunks of %zu B take %llu B of the host's memory, of "
                     "which %llu B are left for this rank; less chunk_size, or less "
                     "chunk_depth",
                     c->depth, bytes / c->depth, (unsigned long long)wanted,
                     (unsigned long long)left);
}

static hf_status slots_make(hf_chunks *c, size_t bytes) {
    hf_transport *net = c->base.net;
    c->slots_note[0] = '\0';
    HF_TRY(hf_agree(net, memory_check(c, bytes)));
    HF_TRY(window_make(c, bytes));
    bool far = !c->window || net->local_size < net->size;
    if (c->window)
        HF_TRY(window_use(c));
    if (c->window && far)
        HF_TRY(pairs_note(c));
    return hf_agree(net, own_make(c, far, bytes));
}

/* A run like the one before uses each slot for what lies there already: a copy that gets lost
 * would leave right data. */
static void slots_wipe(const hf_chunks *c, size_t bytes) {
    enum { NO_DATA = 0xA5 };
    for (size_t slot = 0; slot < c->depth; slot++) {
        if (c->out)
            memset(c->out + slot * c->slot_room, NO_DATA, bytes);
        if (c->in)
            memset(c->in + slot * c->slot_room, NO_DATA, bytes);
    }
}

/* A core copies 512 KiB in 75 us, four times as long as a GPU. CPUs need their cores themselves. */
static void team_take(hf_chunks *c) {
    enum { MOST = 4 };
    size_t cores = hf_cores() / (size_t)c->base.net->local_size;
    if (!c->team && !c->near->in_place && c->base.device->info.type != HF_CPU &&
        cores > 1)
        c->team = hf_team_new((cores < MOST ? cores : MOST) - 1);
}

hf_status hf_chunks_room(hf_chunks *c, size_t bytes) {
    size_t ranks = (size_t)c->base.net->size, room = hf_pages_bytes(bytes),
           depth = c->chunk_depth ? c->chunk_depth : DEPTH;
    if (room > c->slot_room || (room > 0 && depth != c->depth)) {
        hf_chunks_room_free(c);
        c->depth = depth;
        hf_status status = slots_make(c, c->depth * room);
        if (status != HF_OK) {
            hf_chunks_room_free(c);
            return status;
        }
        c->slot_room = room;
    }
    team_take(c);
    memset(c->sent, 0, ranks * sizeof *c->sent);
    memset(c->expected, 0, ranks * sizeof *c->expected);
    c->out_next = c->out_oldest = c->in_next = c->in_oldest = 0;
    if (c->window)
        hf_window_clear(c);
    slots_wipe(c, bytes);
    return HF_OK;
}
