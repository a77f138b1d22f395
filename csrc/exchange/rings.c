/* rings.c - channels in memory that the ranks of a node share, for kernels on CPUs.
 *
 * A channel is a ring of packets (hf_ring.h). A rank's part of the memory holds its roster, the
 * rings that end at its ports, then those of its inner channels.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "core/error.h"
#include "rings.h"

enum { PAGE = sizeof(hf_ring) };
static_assert(sizeof(hf_roster) <= PAGE,
              "rings lie behind the page of a rank's roster");

static const hf_scheduler_ops *const scheduler = &HF_SCHEDULER;

/* ---- where each ring lies ---- */

static size_t slots_for(size_t depth) {
    size_t slots = 1;
    while (slots < depth)
        slots *= 2;
    return slots;
}

static size_t ring_bytes(size_t width, size_t depth) {
    size_t bytes = slots_for(depth) * width;
    return PAGE + (bytes + PAGE - 1) / PAGE * PAGE;
}

static size_t part_bytes(const hf_wiring *w) {
    return PAGE + (size_t)w->ports * ring_bytes(w->width, w->depth) +
           (size_t)w->inner * ring_bytes(w->width, w->inner_depth);
}

hf_roster *hf_rings_roster(const hf_rings *r, int rank) {
    return r->shared->parts[rank];
}

static hf_ring *port_ring(const hf_rings *r, int rank, int port) {
    const hf_wiring *w = &r->base.wiring;
    size_t at = PAGE + (size_t)port * ring_bytes(w->width, w->depth);
    return (hf_ring *)((char *)r->shared->parts[rank] + at);
}

static hf_ring *inner_ring(const hf_rings *r, int rank, int index) {
    const hf_wiring *w = &r->base.wiring;
    size_t at = (size_t)index * ring_bytes(w->width, w->inner_depth);
    return (hf_ring *)((char *)port_ring(r, rank, w->ports) + at);
}

hf_ring *hf_rings_at(const hf_rings *r, size_t i) {
    size_t ports = (size_t)r->base.wiring.ports;
    size_t each = ports + (size_t)r->base.wiring.inner;
    size_t rank = i / each, index = i % each;
    if (rank >= (size_t)r->base.net->size)
        return NULL;
    return index < ports ? port_ring(r, (int)rank, (int)index)
                         : inner_ring(r, (int)rank, (int)(index - ports));
}

/* ---- open, connect, close ---- */

static hf_status rings_open(hf_medium **out, hf_device *device, hf_transport *net) {
    hf_rings *r = calloc(1, sizeof *r + (size_t)net->size * sizeof *r->looks);
    if (!r)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    r->looks = (hf_word *)(r + 1);
    r->base = (hf_medium){.ops = &hf_medium_rings, .device = device, .net = net};
    *out = &r->base;
    return HF_OK;
}

/* Give back what `connect` took, unless kernels use it. */
static void rings_free(hf_rings *r) {
    const hf_device_ops *ops = r->base.device->ops;
    if (!r->base.stuck) {
        for (size_t i = 0; i < HF_MAX_PORTS; i++) {
            ops->free(r->out[i].buffer);
            ops->free(r->in[i].buffer);
            ops->free(r->inner[i].buffer);
            r->out[i] = r->in[i] = r->inner[i] = (hf_endpoint){0};
        }
        hf_shared_free(r->shared);
        scheduler->close(r->scheduler);
    }
    r->shared = NULL;
    r->scheduler = NULL;
}

static void rings_close(hf_medium *base) {
    rings_free((hf_rings *)base);
    free(base);
}

static hf_status endpoint_make(const hf_rings *r, hf_endpoint *end, hf_ring *ring,
                               size_t depth) {
    hf_device *device = r->base.device;
    HF_TRY(device->ops->wrap(&end->buffer, device, ring,
                             ring_bytes(r->base.wiring.width, depth)));
    end->ring = ring;
    return HF_OK;
}

static hf_status endpoints_make(hf_rings *r, const hf_wiring *w) {
    int rank = r->base.net->rank;
    for (int port = 0; port < w->ports; port++) {
        const hf_link *link = &w->links[rank * w->ports + port];
        hf_ring *theirs = port_ring(r, link->to, link->in);
        HF_TRY(endpoint_make(r, &r->out[port], theirs, w->depth));
        HF_TRY(endpoint_make(r, &r->in[port], port_ring(r, rank, port), w->depth));
    }
    for (int i = 0; i < w->inner; i++)
        HF_TRY(endpoint_make(r, &r->inner[i], inner_ring(r, rank, i), w->inner_depth));
    return HF_OK;
}

/* What may refuse rings on this rank alone. */
static hf_status rings_fit(const hf_rings *r, const hf_wiring *w) {
    size_t memory = r->base.device->info.memory, bytes = part_bytes(w);
    HF_TRY(hf_medium_one_node(r->base.net));
    if (bytes <= memory)
        return HF_OK;
    return hf_fail(HF_ENOMEM,
                   "channel_depth: links of %zu packets take %zu B on each rank; its "
                   "share of the memory is %zu B",
                   w->depth, bytes, memory);
}

static hf_status rings_connect(hf_medium *base, const hf_wiring *wiring) {
    hf_rings *r = (hf_rings *)base;
    HF_TRY(hf_agree(base->net, rings_fit(r, wiring)));
    rings_free(r);
    HF_TRY(scheduler->open(&r->scheduler, base->net));
    HF_TRY(hf_shared_new(&r->shared, base->net, part_bytes(wiring)));
    return endpoints_make(r, wiring);
}

/* ---- between runs of kernels ---- */

/* Each kernel holds a thread of the runtime, also while it waits. */
static hf_status kernels_fit(const hf_device_info *info, size_t n) {
    if (n <= info->kernels)
        return HF_OK;
    return hf_fail(HF_ENOTSUP,
                   "%zu kernels must run at the same time, device \"%s\" runs %zu%s, "
                   "or take fewer replications",
                   n, info->name, info->kernels, info->more_kernels);
}

static void ring_clear(hf_ring *ring, size_t width, size_t depth) {
    memset(ring, 0, sizeof *ring);
    ring->depth = depth;
    ring->mask = slots_for(depth) - 1;
    ring->width = width;
}

static hf_status rings_clear(hf_medium *base) {
    hf_rings *r = (hf_rings *)base;
    const hf_wiring *w = &base->wiring;
    hf_roster *mine = hf_rings_roster(r, base->net->rank);
    mine->n = mine->launches = 0;
    mine->why[0] = '\0';
    for (int port = 0; port < w->ports; port++)
        ring_clear(r->in[port].ring, w->width, w->depth);
    for (int i = 0; i < w->inner; i++)
        ring_clear(r->inner[i].ring, w->width, w->inner_depth);
    return HF_OK;
}

static hf_status rings_ready(hf_medium *base) {
    HF_TRY(kernels_fit(&base->device->info, base->n));
    scheduler->prepare(((hf_rings *)base)->scheduler, base->n);
    return HF_OK;
}

static const hf_endpoint *endpoint_of(const hf_rings *r, const hf_end *end) {
    const hf_endpoint *all = end->inner ? r->inner : end->sends ? r->out : r->in;
    return &all[end->index];
}

/* The kernel at the other end of an inner channel; "nobody" where this launch has none. */
static const char *peer_of(const hf_rings *r, const hf_end *end) {
    for (size_t i = 0; i < r->base.n; i++) {
        const hf_stream *stream = &r->base.streams[i];
        for (size_t e = 0; e < stream->n_ends; e++) {
            const hf_end *other = &stream->ends[e];
            if (other->inner && other->index == end->index &&
                other->sends != end->sends)
                return stream->name;
        }
    }
    return "nobody";
}

/* Tell a ring and the scheduler which kernel is at this end of it: "rank 0 b_eff_send_0 out 1",
 * by its port, or "rank 0 b_eff_send_0 to b_eff_recv_0". */
static void end_take(const hf_rings *r, size_t kernel, const hf_end *end) {
    hf_ring *ring = endpoint_of(r, end)->ring;
    hf_ring_side *side = end->sends ? &ring->writer : &ring->reader;
    char *name = ring->names[end->sends ? 0 : 1], other[32];
    side->host = r->hosts[kernel];
    scheduler->attach(r->scheduler, kernel, side);
    side->owner = hf_rings_kernel(r->base.net->rank, kernel);
    if (end->inner)
        snprintf(other, sizeof other, "%s %.24s", end->sends ? "to" : "from",
                 peer_of(r, end));
    else
        snprintf(other, sizeof other, "%s %d", end->sends ? "out" : "in", end->index);
    snprintf(name, sizeof ring->names[0], "rank %d %.24s %s", r->base.net->rank,
             r->base.streams[kernel].name, other);
}

static void rings_attach(hf_medium *base, size_t i, hf_arg *args, size_t *n_args) {
    hf_rings *r = (hf_rings *)base;
    const hf_stream *stream = &base->streams[i];
    hf_roster *mine = hf_rings_roster(r, base->net->rank);
    r->hosts[i] = (uintptr_t)scheduler->host(r->scheduler, i);
    snprintf(mine->names[i], sizeof mine->names[i], "rank %d %.24s", base->net->rank,
             stream->name);
    for (size_t e = 0; e < stream->n_ends; e++) {
        end_take(r, i, &stream->ends[e]);
        args[(*n_args)++] =
            (hf_arg){.buffer = endpoint_of(r, &stream->ends[e])->buffer};
    }
    args[(*n_args)++] = (hf_arg)HF_VALUE(r->hosts[i]);
    HF_RING_STORE(&mine->ended[i], 0);
    HF_RING_STORE(&mine->n, i + 1); /* before it runs: a rank may never look at it */
    HF_RING_STORE(&mine->launches, mine->launches + (i == 0));
}

/* ---- stopped kernels, waiting kernels, counters ---- */

/* Each kernel, on every rank, leaves at its next wait: once is enough. */
static double rings_stop(hf_medium *base, const char *why) {
    const hf_rings *r = (hf_rings *)base;
    hf_roster *mine = hf_rings_roster(r, base->net->rank);
    hf_ring *ring;
    snprintf(mine->why, sizeof mine->why, "%s", why);
    for (size_t i = 0; (ring = hf_rings_at(r, i)); i++)
        HF_RING_STORE(&ring->abort, HF_RING_HALT);
    return HUGE_VAL;
}

bool hf_rings_halted(const hf_rings *r) {
    return HF_RING_LOAD(&hf_rings_at(r, 0)->abort) == HF_RING_HALT;
}

hf_status hf_rings_stopped_fail(const hf_rings *r) {
    for (int rank = 0; rank < r->base.net->size; rank++) {
        const hf_roster *its = hf_rings_roster(r, rank);
        if (rank != r->base.net->rank && its->why[0])
            return hf_fail(HF_ECOMM, "%s", its->why);
    }
    return hf_fail(HF_ECOMM, "another rank stopped the channels");
}

static hf_status rings_check(const hf_medium *base) {
    const hf_rings *r = (const hf_rings *)base;
    hf_word word = 0;
    for (int port = 0; port < base->wiring.ports; port++) {
        word |= HF_RING_LOAD(&r->in[port].ring->abort);
        word |= HF_RING_LOAD(&r->out[port].ring->abort);
    }
    for (int i = 0; i < base->wiring.inner; i++)
        word |= HF_RING_LOAD(&r->inner[i].ring->abort);
    if (word >= HF_RING_MISFIT)
        return hf_fail(HF_EARG,
                       "channel_width: %zu, but the kernels were built for packets of "
                       "%llu B",
                       base->wiring.width, (unsigned long long)word / HF_RING_MISFIT);
    return word ? hf_rings_stopped_fail(r) : HF_OK;
}

static void rings_traffic(const hf_medium *base, hf_traffic *out) {
    const hf_rings *r = (const hf_rings *)base;
    *out = (hf_traffic){0};
    for (int port = 0; port < base->wiring.ports; port++) {
        const hf_ring *in = r->in[port].ring, *sent = r->out[port].ring;
        double most = (double)HF_RING_LOAD(&in->reader.high_water);
        out->packets += (double)HF_RING_LOAD(&in->reader.moved);
        out->stalls += (double)HF_RING_LOAD(&in->reader.stalls);
        out->stalls += (double)HF_RING_LOAD(&sent->writer.stalls);
        out->high_water = most > out->high_water ? most : out->high_water;
    }
}

const hf_medium_ops hf_medium_rings = {
    .ports = HF_PORTS_MEMORY,
    .stops = true,
    .open = rings_open,
    .connect = rings_connect,
    .clear = rings_clear,
    .ready = rings_ready,
    .attach = rings_attach,
    .stop = rings_stop,
    .check = rings_check,
    .look = hf_rings_look,
    .report = hf_rings_report,
    .traffic = rings_traffic,
    .close = rings_close,
};
