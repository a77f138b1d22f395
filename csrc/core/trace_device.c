/* trace_device.c - a device's table whose commands leave spans in a trace. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/trace_state.h"

enum { PROBES = 12 };

/* The trace that has taken the place of the device's own table. */
static hf_trace *trace_of(const hf_device *device) {
    return (hf_trace *)((char *)(uintptr_t)device->ops -
                        offsetof(hf_trace, device_ops));
}

/* ---- names ---- */

static hf_status traced_kernel(hf_kernel **out, hf_device *device, const char *name,
                               unsigned unit) {
    hf_trace *t = trace_of(device);
    hf_named *named = calloc(1, sizeof *named);
    if (!named)
        return hf_fail(HF_ENOMEM, "no memory for a kernel's name");
    hf_status status = t->device_own->kernel(out, device, name, unit);
    if (status != HF_OK) {
        free(named);
        return status;
    }
    snprintf(named->name, sizeof named->name, "%s", name);
    named->kernel = *out;
    named->next = t->kernels; /* before one of that address that was freed */
    t->kernels = named;
    return HF_OK;
}

static const char *kernel_name(const hf_trace *t, const hf_kernel *kernel) {
    const hf_named *named = t->kernels;
    while (named && named->kernel != kernel)
        named = named->next;
    return named ? named->name : "";
}

/* ---- commands ---- */

/* The command that was waited for last is that of the span. */
static void span_time(hf_trace *t, hf_span *span) {
    hf_status status = t->device_own->times(t->device, span->ticks);
    span->clock = status == HF_OK ? HF_BY_DEVICE : HF_BY_NOBODY;
}

static hf_span *command_begin(hf_trace *t, int kind, const hf_order *order,
                              const char *label, size_t bytes) {
    if (!t->armed)
        return NULL;
    hf_span *span = hf_trace_span(t, kind, order ? (int)order->queue : 0);
    if (!span)
        return NULL;
    span->label = order && order->label ? order->label : label;
    span->bytes = bytes;
    span->start = span->end = hf_clock_now();
    return span;
}

/* The command was given: it has ended, or has an event that the caller waits for. */
static hf_status command_end(hf_trace *t, hf_span *span, hf_event **done,
                             hf_status status) {
    if (!span || status != HF_OK)
        return status;
    span->end = hf_clock_now();
    if (!done || !*done) {
        span_time(t, span);
        return HF_OK;
    }
    hf_trace_pend(t, span, *done);
    return HF_OK;
}

static hf_status traced_write(hf_device *device, hf_buffer *to, size_t at,
                              const void *from, size_t bytes, const hf_order *order,
                              hf_event **done) {
    hf_trace *t = trace_of(device);
    hf_span *span = command_begin(t, HF_SPAN_WRITE, order, "", bytes);
    return command_end(t, span, done,
                       t->device_own->write(device, to, at, from, bytes, order, done));
}

static hf_status traced_read(hf_device *device, const hf_buffer *from, size_t at,
                             void *to, size_t bytes, const hf_order *order,
                             hf_event **done) {
    hf_trace *t = trace_of(device);
    hf_span *span = command_begin(t, HF_SPAN_READ, order, "", bytes);
    return command_end(t, span, done,
                       t->device_own->read(device, from, at, to, bytes, order, done));
}

static hf_status traced_copy(hf_device *device, hf_buffer *to, size_t to_at,
                             const hf_buffer *from, size_t from_at, size_t bytes,
                             const hf_order *order, hf_event **done) {
    hf_trace *t = trace_of(device);
    hf_span *span = command_begin(t, HF_SPAN_COPY, order, "", bytes);
    return command_end(
        t, span, done,
        t->device_own->copy(device, to, to_at, from, from_at, bytes, order, done));
}

static hf_status traced_launch(hf_device *device, const hf_launch *launch,
                               const hf_order *order, hf_event **done) {
    hf_trace *t = trace_of(device);
    const char *name = kernel_name(t, launch->kernel);
    hf_span *span = command_begin(t, HF_SPAN_KERNEL, order, name, 0);
    return command_end(t, span, done,
                       t->device_own->launch(device, launch, order, done));
}

/* ---- waits, and what the host does itself ---- */

static hf_status traced_mark(hf_device *device, const hf_order *order,
                             hf_event **done) {
    hf_trace *t = trace_of(device);
    double start = hf_clock_now();
    hf_status status = t->device_own->mark(device, order, done);
    if (!done)
        hf_trace_host(t, HF_SPAN_WAIT, start, "mark");
    return status;
}

/* The event's command has ended, as is seen now; `event` NULL: all have. */
static void events_end(hf_trace *t, const hf_event *event) {
    for (size_t i = 0; i < t->n_pending; i++)
        if ((!event || t->pending[i].what == event) && !t->pending[i].ended) {
            t->pending[i].ended = true;
            t->pending[i].span->end = hf_clock_now();
        }
}

static hf_status traced_test(hf_device *device, hf_event *event, double seconds,
                             bool *ended) {
    hf_trace *t = trace_of(device);
    double start = hf_clock_now();
    HF_TRY(t->device_own->test(device, event, seconds, ended));
    if (*ended && event)
        events_end(t, event);
    if (seconds > 0)
        hf_trace_host(t, HF_SPAN_WAIT, start, "test");
    return HF_OK;
}

static hf_status traced_wait(hf_device *device, hf_event *event) {
    hf_trace *t = trace_of(device);
    double start = hf_clock_now();
    HF_TRY(t->device_own->wait(device, event));
    hf_trace_host(t, HF_SPAN_WAIT, start, "wait");
    if (!event)
        return HF_OK;
    hf_span *span = hf_trace_take(t, event);
    if (span)
        span_time(t, span);
    return HF_OK;
}

static hf_status traced_finish(hf_device *device) {
    hf_trace *t = trace_of(device);
    double start = hf_clock_now();
    HF_TRY(t->device_own->finish(device));
    hf_trace_host(t, HF_SPAN_WAIT, start, "finish");
    events_end(t, NULL);
    return HF_OK;
}

static hf_status traced_map(hf_device *device, hf_buffer *buffer, void **address) {
    hf_trace *t = trace_of(device);
    double start = hf_clock_now();
    HF_TRY(t->device_own->map(device, buffer, address));
    hf_trace_host(t, HF_SPAN_MAP, start, "");
    return HF_OK;
}

static hf_status traced_unmap(hf_device *device, hf_buffer *buffer, void *address) {
    hf_trace *t = trace_of(device);
    double start = hf_clock_now();
    HF_TRY(t->device_own->unmap(device, buffer, address));
    hf_trace_host(t, HF_SPAN_UNMAP, start, "");
    return HF_OK;
}

/* ---- the device's clock ---- */

/* Short writes: the host's clock is read before and after each, the device's in it. */
hf_status hf_trace_probe(hf_trace *t, hf_moment *out) {
    static const uint64_t word;
    const hf_device_ops *ops = t->device_own;
    *out = (hf_moment){0};
    if (ops->host_clock)
        return HF_OK;
    if (!t->probe)
        HF_TRY(ops->alloc(&t->probe, t->device, sizeof word, NULL));
    out->offset = hf_offset_any();
    for (int i = 0; i < PROBES; i++) {
        uint64_t ticks[2];
        double before = hf_clock_now();
        HF_TRY(ops->write(t->device, t->probe, 0, &word, sizeof word, NULL, NULL));
        double after = hf_clock_now();
        HF_TRY(ops->times(t->device, ticks));
        t->base = t->base ? t->base : ticks[0];
        out->at = hf_trace_seconds(t, ticks[0]);
        hf_offset_narrow(&out->offset, before, out->at, hf_trace_seconds(t, ticks[1]),
                         after);
    }
    return HF_OK;
}

void hf_trace_forget(hf_trace *t) {
    while (t->kernels) {
        hf_named *next = t->kernels->next;
        free(t->kernels);
        t->kernels = next;
    }
    t->device_own->free(t->probe);
    t->probe = NULL;
}

void hf_trace_wrap_device(hf_trace *t) {
    t->device_own = t->device->ops;
    t->device_ops = *t->device_own;
    t->device_ops.kernel = traced_kernel;
    t->device_ops.write = traced_write;
    t->device_ops.read = traced_read;
    t->device_ops.copy = traced_copy;
    t->device_ops.launch = traced_launch;
    t->device_ops.mark = traced_mark;
    t->device_ops.test = traced_test;
    t->device_ops.wait = traced_wait;
    t->device_ops.finish = traced_finish;
    t->device_ops.map = traced_map;
    t->device_ops.unmap = traced_unmap;
    t->device->ops = &t->device_ops;
}
