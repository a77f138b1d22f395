/* channel.c - scheme `channel`: kernels send packets to kernels of other ranks.
 *
 * On a board the ports are wires and the host only launches; in Intel's FPGA emulator they
 * are named pipes (pipes.h). On a CPU they are rings (hf_ring.h) in memory that a node's ranks
 * share: a rank's part holds the rings to its ports, then those of its inner channels.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "exchange.h"
#include "hf_ring.h"
#include "links.h"
#include "pipes.h"
#include "report.h"
#include "turns.h"

extern const hf_exchange_ops hf_exchange_channel;

enum { MOST_ARGS = 16, PAGE = sizeof(hf_ring), INNER_DEPTH = 16 };

/* Once stopped, a kernel leaves at its next wait. */
static const double stop_seconds = 5;

/* The ends of a ring that this rank's kernels use. */
typedef struct tap {
    hf_ring *ring;
    hf_buffer *buffer;
} tap;

typedef struct channel {
    hf_exchange base;
    bool wires;       /* kernels have ports of their own: a board, or its emulator */
    hf_pipes *pipes;  /* the emulator's, else NULL */
    bool stuck;       /* kernels run on: what they use stays */
    hf_wiring wiring; /* without its links */
    hf_shared *shared;
    tap out[HF_MOST_PORTS], in[HF_MOST_PORTS], inner[HF_MOST_PORTS];
    size_t n;
    const hf_stream *streams;
    hf_turns *turns;
    hf_event *events[HF_LANES_MOST];
} channel;

static hf_status channel_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    if (device->info.type == HF_GPU)
        return hf_fail(
            HF_ENOTSUP,
            "exchange \"channel\" needs boards with external channels or a CPU "
            "that emulates them: device \"%s\" is a GPU",
            device->info.name);
    channel *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    exchange->base =
        (hf_exchange){.ops = &hf_exchange_channel, .device = device, .net = net};
    exchange->wires = device->info.type == HF_ACCELERATOR;
    if (exchange->wires && device->info.emulated) {
        hf_status status = hf_pipes_open(&exchange->pipes);
        if (status != HF_OK) {
            free(exchange);
            return status;
        }
        hf_pipes_prelude(exchange->pipes, exchange->base.prelude,
                         sizeof exchange->base.prelude);
    }
    *out = &exchange->base;
    return HF_OK;
}

/* ---- rings ---- */

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
    return (size_t)w->ports * ring_bytes(w->width, w->depth) +
           (size_t)w->inner * ring_bytes(w->width, INNER_DEPTH);
}

static hf_ring *port_ring(const channel *c, int rank, int port) {
    size_t at = (size_t)port * ring_bytes(c->wiring.width, c->wiring.depth);
    return (hf_ring *)((char *)c->shared->parts[rank] + at);
}

static hf_ring *inner_ring(const channel *c, int rank, int index) {
    size_t at = (size_t)index * ring_bytes(c->wiring.width, INNER_DEPTH);
    return (hf_ring *)((char *)port_ring(c, rank, c->wiring.ports) + at);
}

static void ring_clear(hf_ring *ring, size_t width, size_t depth) {
    memset(ring, 0, sizeof *ring);
    ring->depth = depth;
    ring->mask = slots_for(depth) - 1;
    ring->width = width;
}

/* Every ring of every rank, by number; NULL past the last. */
static hf_ring *ring_at(const channel *c, size_t i) {
    size_t ports = (size_t)c->wiring.ports, each = ports + (size_t)c->wiring.inner;
    size_t rank = i / each, index = i % each;
    if (rank >= (size_t)c->base.net->size)
        return NULL;
    return index < ports ? port_ring(c, (int)rank, (int)index)
                         : inner_ring(c, (int)rank, (int)(index - ports));
}

static void rings_abort(const channel *c) {
    hf_ring *ring;
    for (size_t i = 0; !c->wires && (ring = ring_at(c, i)); i++)
        HF_RING_STORE(&ring->abort, HF_RING_HALT);
}

/* ---- connect ---- */

static void rings_free(channel *c) {
    const hf_device_ops *ops = c->base.device->ops;
    for (size_t i = 0; !c->stuck && i < HF_MOST_PORTS; i++) {
        ops->free(c->out[i].buffer);
        ops->free(c->in[i].buffer);
        ops->free(c->inner[i].buffer);
        c->out[i] = c->in[i] = c->inner[i] = (tap){0};
    }
    if (!c->stuck) { /* else kernels use both */
        hf_shared_free(c->shared);
        hf_turns_free(c->turns);
    }
    c->shared = NULL;
    c->turns = NULL;
}

static hf_status tap_make(const channel *c, tap *tap, hf_ring *ring, size_t depth) {
    hf_device *device = c->base.device;
    HF_TRY(device->ops->wrap(&tap->buffer, device, ring,
                             ring_bytes(c->wiring.width, depth)));
    tap->ring = ring;
    return HF_OK;
}

static hf_status taps_make(channel *c, const hf_wiring *w) {
    int rank = c->base.net->rank;
    for (int port = 0; port < w->ports; port++) {
        const hf_link *link = hf_links_from(w->n_links, w->links, rank, port);
        HF_TRY(tap_make(c, &c->out[port], port_ring(c, link->to, link->in), w->depth));
        HF_TRY(tap_make(c, &c->in[port], port_ring(c, rank, port), w->depth));
    }
    for (int i = 0; i < w->inner; i++)
        HF_TRY(tap_make(c, &c->inner[i], inner_ring(c, rank, i), INNER_DEPTH));
    return HF_OK;
}

static hf_status memory_check(const channel *c, const hf_wiring *w) {
    size_t memory = c->base.device->info.memory, bytes = part_bytes(w);
    if (bytes <= memory)
        return HF_OK;
    return hf_fail(HF_ENOMEM,
                   "channel_depth: links of %zu packets take %zu B on each rank; its "
                   "share of the memory is %zu B",
                   w->depth, bytes, memory);
}

/* What may refuse channels on this rank alone. */
static hf_status connect_check(const channel *c, const hf_wiring *w) {
    const hf_transport *net = c->base.net;
    if (c->stuck)
        return hf_fail(HF_EDEVICE, "kernels of an earlier run cannot be stopped: "
                                   "open a new session");
    if ((c->pipes || !c->wires) && net->local_size != net->size)
        return hf_fail(
            HF_ENOTSUP,
            "only %d of %d ranks are on this node: emulated channels need all "
            "ranks on one",
            net->local_size, net->size);
    return c->wires ? HF_OK : memory_check(c, w);
}

static hf_status channel_connect(hf_exchange *base, const hf_wiring *wiring) {
    channel *c = (channel *)base;
    assert(wiring->ports <= HF_MOST_PORTS && wiring->inner <= HF_MOST_PORTS);
    HF_TRY(hf_agree(base->net, connect_check(c, wiring)));
    c->wiring = *wiring;
    c->wiring.links = NULL;
    if (c->pipes)
        return hf_pipes_connect(c->pipes, base->net, wiring->n_links, wiring->links,
                                wiring->ports, wiring->depth * wiring->width);
    if (c->wires)
        return HF_OK;
    rings_free(c);
    HF_TRY(hf_turns_new(&c->turns, base->net));
    HF_TRY(hf_shared_new(&c->shared, base->net, part_bytes(wiring)));
    return taps_make(c, wiring);
}

/* ---- prepare ---- */

static tap *end_tap(channel *c, const hf_end *end) {
    tap *taps = end->inner ? c->inner : end->sends ? c->out : c->in;
    return &taps[end->index];
}

static void end_take(channel *c, size_t kernel, const hf_end *end) {
    const char *way = end->inner ? "held" : end->sends ? "out" : "in";
    hf_ring *ring = end_tap(c, end)->ring;
    char *name = ring->names[end->sends ? 0 : 1];
    hf_ring_side *side = end->sends ? &ring->writer : &ring->reader;
    side->host = hf_turns_host(c->turns, kernel);
    snprintf(name, sizeof ring->names[0], "rank %d %.32s %s %d", c->base.net->rank,
             c->streams[kernel].name, way, end->index);
}

/* Emulated, each kernel holds a worker thread while it waits. Of those of Intel's runtime
 * one is kept for a host that waits, and there are no more than CPUs. */
static hf_status workers_check(const channel *c, size_t n) {
    const hf_device_info *info = &c->base.device->info;
    bool intel = strncmp(info->platform, "Intel", 5) == 0;
    size_t runs = info->workers - intel;
    const char *basic = strncmp(info->name, "basic", 5) == 0 ||
                                strncmp(info->name, "cpu-minimal", 11) == 0
                            ? "POCL_DEVICES=pthread, "
                            : "";
    if (n <= runs)
        return HF_OK;
    if (intel)
        return hf_fail(HF_ENOTSUP,
                       "%zu kernels must run at the same time, device \"%s\" runs %zu, "
                       "one fewer than CPUs: allow the process %zu CPUs, take another "
                       "device, for example PoCL's, or fewer replications",
                       n, info->name, runs, n + 1);
    return hf_fail(
        HF_ENOTSUP,
        "%zu kernels must run at the same time, device \"%s\" runs %zu: set %s"
        "POCL_MAX_PTHREAD_COUNT and POCL_CPU_MAX_CU_COUNT to %zu or more before "
        "OpenCL is first used in the process, be it by another session or a list of "
        "devices, or take fewer replications",
        n, info->name, runs, basic, n);
}

static hf_status channel_prepare(hf_exchange *base, size_t n,
                                 const hf_stream *streams) {
    channel *c = (channel *)base;
    assert(n < HF_LANES_MOST);
    c->n = n;
    c->streams = streams;
    if (c->pipes)
        hf_pipes_drain(c->pipes);
    if (c->wires)
        return HF_OK;
    HF_TRY(workers_check(c, n));
    hf_turns_prepare(c->turns, n);
    for (int port = 0; port < c->wiring.ports; port++)
        ring_clear(c->in[port].ring, c->wiring.width, c->wiring.depth);
    for (int i = 0; i < c->wiring.inner; i++)
        ring_clear(c->inner[i].ring, c->wiring.width, INNER_DEPTH);
    return HF_OK;
}

/* ---- stream ---- */

static hf_status kernel_start(channel *c, size_t i) {
    const hf_stream *stream = &c->streams[i];
    hf_device *device = c->base.device;
    hf_launch launch = stream->launch;
    hf_arg args[MOST_ARGS];
    assert(launch.n_args + stream->n_ends < MOST_ARGS);
    memcpy(args, launch.args, launch.n_args * sizeof *args);
    for (size_t e = 0; !c->wires && e < stream->n_ends; e++) {
        end_take(c, i, &stream->ends[e]);
        args[launch.n_args++] =
            (hf_arg){.buffer = end_tap(c, &stream->ends[e])->buffer};
    }
    const uint64_t host = c->wires ? 0 : hf_turns_host(c->turns, i);
    if (!c->wires)
        args[launch.n_args++] = (hf_arg){.value = &host, .bytes = sizeof host};
    launch.args = args;
    launch.lane = 1 + i;
    return device->ops->launch(device, &launch, &c->events[i]);
}

/* Wait for `n` kernels until `end`; how many of them have ended. */
static hf_status kernels_poll(const channel *c, size_t n, double end, size_t *ended) {
    hf_device *device = c->base.device;
    *ended = 0;
    for (size_t i = 0; i < n; i++) {
        bool done;
        double left = end - hf_clock_now();
        HF_TRY(device->ops->poll(device, c->events[i], left > 0 ? left : 0, &done));
        *ended += done;
    }
    return HF_OK;
}

/* Wait for `n` kernels by the deadline. Rings can be stopped: there Ctrl-C is heard. */
static hf_status kernels_end(const channel *c, size_t n, size_t *ended) {
    const hf_run *run = c->base.run;
    bool hears = !c->wires && run && run->tick;
    double end = hf_clock_now() + c->base.net->deadline;
    for (;;) {
        double until = hears ? fmin(hf_clock_now() + HF_HEARING, end) : end;
        HF_TRY(kernels_poll(c, n, until, ended));
        if (*ended == n || !hears || until == end)
            return HF_OK;
        HF_TRY(run->tick(run->context, NULL));
    }
}

static hf_status kernels_wait(channel *c, size_t n) {
    hf_device *device = c->base.device;
    hf_status status = HF_OK;
    for (size_t i = 0; i < n; i++) {
        hf_status one = device->ops->wait(device, c->events[i]);
        status = status == HF_OK ? one : status;
    }
    return status;
}

/* A kernel that has not ended: wires do not tell what it waits for, pipes may. */
static void report_kernel(hf_report *report, const channel *c, size_t i) {
    const hf_stream *stream = &c->streams[i];
    hf_device *device = c->base.device;
    hf_report ports = {.used = 0};
    bool done = false;
    if (device->ops->poll(device, c->events[i], 0, &done) != HF_OK || done)
        return;
    for (size_t e = 0; c->pipes && e < stream->n_ends; e++)
        if (!stream->ends[e].inner)
            hf_pipes_report(&ports, c->pipes, stream->ends[e].index,
                            stream->ends[e].sends, c->wiring.width);
    hf_report_add(report, "; rank %d %s%s", c->base.net->rank, stream->name,
                  ports.text);
}

/* Who waits for what, in rings on all ranks: read before they are aborted. */
static hf_status deadlock_fail(const channel *c, size_t ended) {
    hf_report report = {.used = 0};
    hf_ring *ring;
    for (size_t i = 0; !c->wires && (ring = ring_at(c, i)); i++)
        hf_report_ring(&report, ring);
    for (size_t i = 0; c->wires && i < c->n; i++)
        report_kernel(&report, c, i);
    /* A rank whose deadline passed earlier has stopped all: what was read is no report. */
    if (!c->wires && HF_RING_LOAD(&ring_at(c, 0)->abort) == HF_RING_HALT)
        return hf_fail(HF_ECOMM, "another rank stopped the channels");
    char more[32] = "";
    if (report.more)
        snprintf(more, sizeof more, "; and %zu more", report.more);
    return hf_fail(HF_EDEVICE, "deadlock: %zu of %zu kernels ended within %g s%s%s",
                   ended, c->n, c->base.net->deadline, report.text, more);
}

/* Have the kernels leave; how many of `n` have. */
static size_t kernels_stop(channel *c, size_t n) {
    double end = hf_clock_now() + stop_seconds;
    size_t ended = 0;
    rings_abort(c);
    do {
        if (c->pipes)
            hf_pipes_pump(c->pipes);
        double slice = c->pipes ? hf_clock_now() + 5e-4 : end;
        if (kernels_poll(c, n, slice, &ended) != HF_OK)
            return ended;
    } while (ended < n && hf_clock_now() < end);
    return ended;
}

/* Were the kernels told to leave, and by whom? */
static hf_status abort_check(const channel *c) {
    hf_word word = 0;
    for (int port = 0; !c->wires && port < c->wiring.ports; port++) {
        word |= HF_RING_LOAD(&c->in[port].ring->abort);
        word |= HF_RING_LOAD(&c->out[port].ring->abort);
    }
    for (int i = 0; !c->wires && i < c->wiring.inner; i++)
        word |= HF_RING_LOAD(&c->inner[i].ring->abort);
    if (word & HF_RING_MISFIT)
        return hf_fail(HF_EARG,
                       "channel_width: the kernels were not built for packets of "
                       "%zu B",
                       c->wiring.width);
    return word ? hf_fail(HF_ECOMM, "another rank stopped the channels") : HF_OK;
}

static hf_status stream_end(channel *c, size_t n, hf_status status) {
    size_t ended = 0;
    if (status == HF_OK)
        status = kernels_end(c, n, &ended);
    if (status == HF_OK && ended < n)
        status = deadlock_fail(c, ended);
    if (status != HF_OK) {
        char line[512];
        snprintf(line, sizeof line, "%s", hf_error());
        ended = kernels_stop(c, n);
        c->stuck = ended < n;
        if (c->stuck)
            return hf_fail(status, "%.400s; %zu cannot be stopped: open a new session",
                           line, n - ended);
        kernels_wait(c, n);
        return hf_fail(status, "%s", line);
    }
    HF_TRY(kernels_wait(c, n));
    return abort_check(c);
}

static hf_status channel_stream(hf_exchange *base) {
    channel *c = (channel *)base;
    hf_status status = HF_OK;
    size_t n = 0;
    while (n < c->n && status == HF_OK) {
        status = kernel_start(c, n);
        n += status == HF_OK;
    }
    return stream_end(c, n, status);
}

/* Nobody counts on wires and in pipes. */
static void channel_traffic(const hf_exchange *base, hf_traffic *out) {
    const channel *c = (const channel *)base;
    *out = c->wires ? (hf_traffic){NAN, NAN, NAN} : (hf_traffic){0};
    for (int port = 0; !c->wires && port < c->wiring.ports; port++) {
        const hf_ring *in = c->in[port].ring, *sent = c->out[port].ring;
        double most = (double)HF_RING_LOAD(&in->reader.most);
        out->packets += (double)HF_RING_LOAD(&in->reader.moved);
        out->stalls += (double)HF_RING_LOAD(&in->reader.stalls);
        out->stalls += (double)HF_RING_LOAD(&sent->writer.stalls);
        out->high_water = most > out->high_water ? most : out->high_water;
    }
}

static void channel_close(hf_exchange *base) {
    if (base) {
        rings_free((channel *)base);
        hf_pipes_close(((channel *)base)->pipes);
    }
    free(base);
}

const hf_exchange_ops hf_exchange_channel = {
    .name = "channel",
    .summary = "packets from kernel to kernel: wires, or live rings on a CPU",
    .device = "opencl",
    .kernel_routed = true,
    .open = channel_open,
    .connect = channel_connect,
    .prepare = channel_prepare,
    .stream = channel_stream,
    .traffic = channel_traffic,
    .close = channel_close,
};
