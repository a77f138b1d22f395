/* channel.c - scheme `channel`: kernels send packets to kernels of other ranks.
 *
 * The host launches the kernels, waits for them and stops them. What their channels are made
 * of is a medium's business (medium.h).
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "core/clock.h"
#include "core/error.h"
#include "medium.h"

extern const hf_exchange_ops hf_exchange_channel;

enum { MAX_ARGS = 24 };

/* Longest wait for kernels that were stopped: the other ranks wait for us meanwhile. */
static const double stop_seconds = 1;

typedef struct channel {
    hf_exchange base;
    hf_medium *medium;
    hf_event *events[HF_MAX_QUEUES]; /* of the kernels that were started */
    bool ended[HF_MAX_QUEUES];
} channel;

static const hf_medium_ops *const media[] = {
    &hf_medium_rings,
    &hf_medium_pipes,
    &hf_medium_wires,
};
enum { N_MEDIA = sizeof media / sizeof media[0] };

hf_status hf_medium_one_node(const hf_transport *net) {
    if (net->local_size == net->size)
        return HF_OK;
    return hf_fail(HF_ENOTSUP,
                   "only %d of %d ranks are on this node: emulated channels need all "
                   "ranks on one",
                   net->local_size, net->size);
}

static hf_status medium_open(hf_medium **out, hf_device *device, hf_transport *net) {
    size_t i = 0;
    while (i < N_MEDIA && media[i]->ports != device->info.ports)
        i++;
    if (i < N_MEDIA)
        return media[i]->open(out, device, net);
    return hf_fail(HF_ENOTSUP,
                   "exchange \"channel\" needs boards with external channels or a CPU "
                   "that emulates them: device \"%s\" is neither; --device "
                   "opencl:cpu takes a CPU",
                   device->info.name);
}

static hf_status channel_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    channel *c = calloc(1, sizeof *c);
    if (!c)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    hf_status status = medium_open(&c->medium, device, net);
    if (status != HF_OK) {
        free(c);
        return status;
    }
    c->base = (hf_exchange){.ops = &hf_exchange_channel, .device = device, .net = net};
    snprintf(c->base.prelude, sizeof c->base.prelude, "%s", c->medium->prelude);
    *out = &c->base;
    return HF_OK;
}

static void channel_close(hf_exchange *base) {
    if (base) {
        hf_medium *medium = ((channel *)base)->medium;
        medium->ops->close(medium);
    }
    free(base);
}

static hf_status stuck_check(const hf_medium *medium) {
    if (!medium->stuck)
        return HF_OK;
    return hf_fail(HF_EDEVICE,
                   "kernels of an earlier run cannot be stopped: open a new session");
}

static hf_status channel_connect(hf_exchange *base, const hf_wiring *wiring) {
    hf_medium *medium = ((channel *)base)->medium;
    assert(wiring->ports <= HF_MAX_PORTS && wiring->inner <= HF_MAX_PORTS);
    HF_TRY(hf_agree(base->net, stuck_check(medium)));
    medium->wiring = *wiring;
    medium->wiring.links = NULL;
    hf_status status = medium->ops->connect(medium, wiring);
    if (status == HF_OK)
        status = medium->ops->clear(medium);
    return hf_agree(base->net, status);
}

static hf_status channel_prepare(hf_exchange *base) {
    hf_medium *medium = ((channel *)base)->medium;
    return medium->ops->clear(medium);
}

/* ---- launch ---- */

static hf_status kernel_start(channel *c, size_t i) {
    hf_medium *medium = c->medium;
    hf_device *device = c->base.device;
    hf_launch launch = medium->streams[i].launch;
    hf_arg args[MAX_ARGS];
    assert(launch.n_args + medium->streams[i].n_ends < MAX_ARGS);
    memcpy(args, launch.args, launch.n_args * sizeof *args);
    if (medium->ops->attach)
        medium->ops->attach(medium, i, args, &launch.n_args);
    launch.args = args;
    const hf_order order = {.queue = 1 + (unsigned)i};
    return device->ops->launch(device, &launch, &order, &c->events[i]);
}

/* ---- wait ---- */

/* Wait for `n` kernels until `end`; how many of them have ended. */
static hf_status kernels_poll(channel *c, size_t n, double end, size_t *n_ended) {
    hf_device *device = c->base.device;
    *n_ended = 0;
    for (size_t i = 0; i < n; i++) {
        double left = end - hf_clock_now();
        HF_TRY(
            device->ops->test(device, c->events[i], left > 0 ? left : 0, &c->ended[i]));
        *n_ended += c->ended[i];
    }
    return HF_OK;
}

/* Wait for `n` kernels by the deadline. Other ranks are heard meanwhile, and Ctrl-C where a
 * medium stops kernels at any time. */
static hf_status kernels_end(channel *c, size_t n, size_t *n_ended) {
    const hf_run *run = c->base.run;
    hf_transport *net = c->base.net;
    bool hears = c->medium->ops->stops && run && run->tick;
    double start = hf_clock_now(), end = start + net->deadline, until = start;
    while (until < end) {
        until = fmin(hf_clock_now() + HF_HEARING, end);
        HF_TRY(kernels_poll(c, n, until, n_ended));
        if (c->medium->ops->look)
            c->medium->ops->look(c->medium, c->ended);
        if (*n_ended == n)
            return HF_OK;
        HF_TRY(net->ops->heed(net));
        if (hears)
            HF_TRY(run->tick(run->context, NULL));
    }
    net->since = start;
    return HF_OK;
}

/* ---- stop ---- */

/* Say why kernels have not ended. Ask before anything is stopped. */
static hf_status late_fail(const channel *c, size_t n_ended) {
    hf_medium *medium = c->medium;
    hf_report report = {.used = 0};
    char more[32] = "";
    HF_TRY(medium->ops->report(medium, &report, c->ended));
    if (report.more)
        snprintf(more, sizeof more, "; and %zu more", report.more);
    return hf_fail(HF_EDEVICE, "%s: %zu of %zu kernels ended within %g s%s%s",
                   report.cause[0] ? report.cause : "deadlock or endless kernel",
                   n_ended, medium->n, c->base.net->deadline, report.text, more);
}

/* Have the kernels leave, for a reason; how many of `n` have. */
static size_t kernels_stop(channel *c, size_t n, const char *why) {
    double end = hf_clock_now() + stop_seconds;
    size_t n_ended = 0;
    do {
        double pause = c->medium->ops->stop(c->medium, why);
        if (kernels_poll(c, n, fmin(hf_clock_now() + pause, end), &n_ended) != HF_OK)
            return n_ended;
    } while (n_ended < n && hf_clock_now() < end);
    return n_ended;
}

/* After the failure `status`: no kernel runs, or the session takes no further ones. */
static hf_status stream_fail(channel *c, size_t n, hf_status status) {
    char line[512];
    snprintf(line, sizeof line, "%s", hf_error());
    size_t left = n - kernels_stop(c, n, line);
    c->medium->stuck = left > 0;
    if (left > 0)
        return hf_fail(status, "%.400s; %zu cannot be stopped: open a new session",
                       line, left);
    hf_device_wait(c->base.device, c->events, n);
    return hf_fail(status, "%s", line);
}

static hf_status channel_stream(hf_exchange *base, size_t n_streams,
                                const hf_stream *streams) {
    channel *c = (channel *)base;
    hf_medium *medium = c->medium;
    size_t n = 0, n_ended = 0;
    assert(n_streams < HF_MAX_QUEUES);
    medium->n = n_streams;
    medium->streams = streams;
    hf_status status = medium->ops->ready ? medium->ops->ready(medium) : HF_OK;
    while (n < medium->n && status == HF_OK) {
        status = kernel_start(c, n);
        n += status == HF_OK;
    }
    if (status == HF_OK)
        status = kernels_end(c, n, &n_ended);
    if (status == HF_OK && n_ended < n)
        status = late_fail(c, n_ended);
    if (status != HF_OK)
        return stream_fail(c, n, status);
    HF_TRY(hf_device_wait(c->base.device, c->events, n));
    return medium->ops->check ? medium->ops->check(medium) : HF_OK;
}

static void channel_traffic(const hf_exchange *base, hf_traffic *out) {
    const hf_medium *medium = ((const channel *)base)->medium;
    *out = (hf_traffic){NAN, NAN, NAN};
    if (medium->ops->traffic)
        medium->ops->traffic(medium, out);
}

static const hf_stream_ops stream_ops = {
    .connect = channel_connect,
    .prepare = channel_prepare,
    .stream = channel_stream,
    .traffic = channel_traffic,
};

const hf_exchange_ops hf_exchange_channel = {
    .name = "channel",
    .summary = "packets from kernel to kernel: wires, or live rings on a CPU",
    .device = "opencl",
    .streams = &stream_ops,
    .open = channel_open,
    .close = channel_close,
};
