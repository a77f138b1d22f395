/* opencl_queue.c - commands of the runtime `opencl`: their queues, events and waits.
 *
 * OpenCL's own waits have no deadline. So a command is waited for by its state. Where CPUs run
 * it, a callback tells its end, which leaves the processor to the command. Elsewhere its state
 * is looked at again and again: NVIDIA's callbacks come up to 20 ms late.
 */
#include "opencl.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "late.h"

enum { CLOSE_SECONDS = 2, NAME_ROOM = 160 };

/* Time without a nap between two looks [s]; then a nap takes this part of the time waited, so
 * that a wait is at most so much too long. */
static const double NO_NAP = 5e-3, NAP = 0.005;

/* ---- events ---- */

/* Queues are in order: what is before a command that has ended well has ended. Nobody asks for it
 * again: an H200 takes 1.5 us for the first answer that a copy has ended. */
static void olders_end(hf_opencl_event *event) {
    for (hf_opencl_event *e = event->older; e; e = e->older) {
        if (e->queue == event->queue && e->state <= CL_COMPLETE)
            return;
        if (e->queue == event->queue)
            e->state = CL_COMPLETE;
    }
}

static cl_int event_state(hf_opencl_event *event) {
    if (event->state > CL_COMPLETE) {
        cl_int code = clGetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                     sizeof event->state, &event->state, NULL);
        event->state = code == CL_SUCCESS ? event->state : code;
        if (event->state == CL_COMPLETE)
            olders_end(event);
    }
    return event->state;
}

static bool event_ended(hf_opencl_event *event) {
    return event_state(event) <= CL_COMPLETE; /* an error is below */
}

static hf_status event_new(hf_opencl_event **out, hf_opencl_device *device) {
    hf_opencl_event *event = device->unused;
    if (event)
        device->unused = event->newer;
    else if (!(event = malloc(sizeof *event)))
        return hf_fail(HF_ENOMEM, "no memory for a command");
    *event = (hf_opencl_event){.state = CL_QUEUED};
    *out = event;
    return HF_OK;
}

static void event_drop(hf_opencl_device *device, hf_opencl_event *event) {
    event->newer = device->unused;
    device->unused = event;
}

/** Add the newest command in flight. */
static void event_enter(hf_opencl_device *device, hf_opencl_event *event) {
    event->older = device->newest;
    *(device->newest ? &device->newest->newer : &device->oldest) = event;
    device->newest = event;
    device->lasts[event->queue] = event;
}

/** Take a command out that has ended. */
static void event_leave(hf_opencl_device *device, hf_opencl_event *event) {
    *(event->older ? &event->older->newer : &device->oldest) = event->newer;
    *(event->newer ? &event->newer->older : &device->newest) = event->older;
    if (device->lasts[event->queue] == event)
        device->lasts[event->queue] = NULL;
    clReleaseEvent(event->event);
    event_drop(device, event);
}

/* ---- waits ---- */

static void CL_CALLBACK watched_ended(cl_event event, cl_int state, void *context) {
    hf_opencl_device *device = context;
    (void)event, (void)state;
    pthread_mutex_lock(&device->lock);
    device->watched--;
    device->endings++;
    pthread_cond_broadcast(&device->ended);
    pthread_mutex_unlock(&device->lock);
}

/** Have `ended` signalled when the command ends. */
static hf_status event_watch(hf_opencl_device *device, hf_opencl_event *event) {
    if (event->watched)
        return HF_OK;
    pthread_mutex_lock(&device->lock);
    device->watched++;
    pthread_mutex_unlock(&device->lock);
    cl_int code = clSetEventCallback(event->event, CL_COMPLETE, watched_ended, device);
    event->watched = code == CL_SUCCESS;
    if (!event->watched)
        watched_ended(event->event, code, device);
    return hf_opencl_check(code, "clSetEventCallback");
}

/** Wait by callback until the command has ended or until `until`. */
static hf_status event_hear(hf_opencl_device *device, hf_opencl_event *event,
                            struct timespec until, bool *ended) {
    HF_TRY(event_watch(device, event));
    for (int late = 0;;) {
        pthread_mutex_lock(&device->lock);
        size_t endings = device->endings;
        pthread_mutex_unlock(&device->lock);
        /* Without the lock: the runtime may hold its own in watched_ended. */
        *ended = event_ended(event);
        if (*ended || late)
            return HF_OK;
        pthread_mutex_lock(&device->lock);
        while (device->endings == endings && !late)
            late = pthread_cond_timedwait(&device->ended, &device->lock, &until);
        pthread_mutex_unlock(&device->lock);
    }
}

/** Look at the command, waited for since `start`, until it has ended or until `end`. */
static bool event_look(hf_opencl_event *event, double start, double end) {
    while (!event_ended(event)) {
        double now = hf_clock_now();
        if (now >= end)
            return false;
        struct timespec until = hf_clock_after(fmin(NAP * (now - start), end - now));
        if (now - start < NO_NAP)
            sched_yield();
        else
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return true;
}

/** Hand the queue's commands to the device: another queue may wait only for such. */
static hf_status queue_flush(hf_opencl_device *device, unsigned queue) {
    device->lazy &= ~(UINT32_C(1) << queue);
    cl_int code = clFlush(device->queues[queue]);
    if (code != CL_SUCCESS) /* the command may run at any time */
        device->base.broken = true;
    return hf_opencl_check(code, "clFlush");
}

/** Wait until the command, waited for since `start`, has ended, at most until `end`. */
static hf_status event_await(hf_opencl_device *device, hf_opencl_event *event,
                             double start, double end, bool *ended) {
    if (device->lazy >> event->queue & 1)
        HF_TRY(queue_flush(device, event->queue));
    *ended = event_ended(event);
    double left = *ended ? 0 : end - hf_clock_now();
    if (left <= 0)
        return HF_OK;
    if (device->base.info.emulated)
        return event_hear(device, event, hf_clock_after(left), ended);
    *ended = event_look(event, start, end);
    return HF_OK;
}

/** Name what has not ended: the command that runs, else the oldest. */
static void late_name(const hf_opencl_device *device, char what[NAME_ROOM]) {
    hf_opencl_event *late = NULL;
    char name[128] = "";
    for (hf_opencl_event *e = device->oldest; e; e = e->newer) {
        cl_int state = event_state(e);
        if (state > CL_COMPLETE && !late)
            late = e;
        if (state == CL_RUNNING) {
            late = e;
            break;
        }
    }
    if (late && late->kernel)
        clGetKernelInfo(late->kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    if (*name)
        snprintf(what, NAME_ROOM, "kernel \"%s\"", name);
    else
        snprintf(what, NAME_ROOM, "a copy in queue %u", late ? late->queue : 0);
}

/** Wait for a command by the deadline. */
static hf_status event_wait(hf_opencl_device *device, hf_opencl_event *event) {
    double start = hf_clock_now(), now = start, end = start + device->base.deadline;
    HF_TRY(hf_device_check(&device->base));
    for (;;) {
        bool ended;
        char what[NAME_ROOM];
        HF_TRY(event_await(device, event, start, fmin(now + HF_HEARING, end), &ended));
        if (ended)
            return HF_OK;
        late_name(device, what);
        now = hf_clock_now();
        if (now >= end)
            return hf_device_break(&device->base, what);
        HF_TRY(hf_device_meanwhile(&device->base, what));
    }
}

hf_status hf_opencl_test(hf_device *base, hf_event *event, double seconds,
                         bool *ended) {
    double now = hf_clock_now();
    *ended = true;
    return event ? event_await((hf_opencl_device *)base, (hf_opencl_event *)event, now,
                               now + seconds, ended)
                 : HF_OK;
}

/** Keep the times of a command that has ended. */
static void times_keep(hf_opencl_device *device, const hf_opencl_event *event) {
    static const cl_profiling_info ends[] = {CL_PROFILING_COMMAND_START,
                                             CL_PROFILING_COMMAND_END};
    device->ticks_code = CL_SUCCESS;
    for (int i = 0; i < 2 && device->ticks_code == CL_SUCCESS; i++)
        device->ticks_code = clGetEventProfilingInfo(
            event->event, ends[i], sizeof device->ticks[i], &device->ticks[i], NULL);
}

hf_status hf_opencl_profile(hf_device *base) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    HF_TRY(hf_opencl_finish(base));
    device->properties = CL_QUEUE_PROFILING_ENABLE;
    for (size_t queue = 0; queue < HF_MAX_QUEUES; queue++) {
        if (device->queues[queue])
            clReleaseCommandQueue(device->queues[queue]);
        device->queues[queue] = NULL;
    }
    return HF_OK;
}

hf_status hf_opencl_times(hf_device *base, uint64_t ticks[2]) {
    const hf_opencl_device *device = (const hf_opencl_device *)base;
    ticks[0] = device->ticks[0];
    ticks[1] = device->ticks[1];
    return hf_opencl_check(device->ticks_code, "clGetEventProfilingInfo");
}

hf_status hf_opencl_wait(hf_device *base, hf_event *done) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    hf_opencl_event *event = (hf_opencl_event *)done;
    if (!event)
        return HF_OK;
    HF_TRY(event_wait(device, event));
    cl_int state = event_state(event);
    bool is_kernel = event->kernel != NULL;
    if (device->properties)
        times_keep(device, event);
    event_leave(device, event);
    return hf_opencl_check(state, is_kernel ? "a kernel" : "a copy");
}

static hf_status queue_drain(hf_opencl_device *device, unsigned queue) {
    hf_opencl_event *last = device->lasts[queue];
    if (!last)
        return HF_OK;
    HF_TRY(event_wait(device, last));
    device->lasts[queue] = NULL;
    return hf_opencl_check(event_state(last), "a command");
}

hf_status hf_opencl_finish(hf_device *base) {
    HF_TRY(hf_device_check(base));
    for (unsigned queue = 0; queue < HF_MAX_QUEUES; queue++)
        HF_TRY(queue_drain((hf_opencl_device *)base, queue));
    return HF_OK;
}

bool hf_opencl_idle(const hf_device *base) {
    const hf_opencl_device *device = (const hf_opencl_device *)base;
    size_t running = 0;
    for (unsigned queue = 0; queue < HF_MAX_QUEUES; queue++)
        running += device->lasts[queue] && !event_ended(device->lasts[queue]);
    return running == 0;
}

/* ---- commands ---- */

static hf_status queue_open(hf_opencl_command *command, hf_opencl_device *device,
                            unsigned queue) {
    assert(queue < HF_MAX_QUEUES);
    HF_TRY(hf_device_check(&device->base));
    cl_int code = CL_SUCCESS;
    if (!device->queues[queue])
        device->queues[queue] = clCreateCommandQueue(device->context, device->id,
                                                     device->properties, &code);
    command->device = device;
    command->queue = device->queues[queue];
    command->n_after = 0;
    command->blocks = command->lazy = command->no_event = false;
    return hf_opencl_check(code, "clCreateCommandQueue");
}

hf_status hf_opencl_begin(hf_opencl_command *command, hf_device *base,
                          const hf_order *order) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    unsigned queue = order ? order->queue : 0;
    HF_TRY(queue_open(command, device, queue));
    HF_TRY(event_new(&command->event, device));
    assert(command->event);
    command->event->queue = queue;
    command->lazy = order && order->lazy;
    assert(!order || order->n_after <= HF_MAX_AFTER);
    hf_status status = HF_OK;
    for (size_t i = 0; order && i < order->n_after && status == HF_OK; i++) {
        const hf_opencl_event *after = (hf_opencl_event *)order->after[i];
        if (!after)
            continue;
        command->after[command->n_after++] = after->event;
        if (device->lazy >> after->queue & 1)
            status = queue_flush(device, after->queue);
    }
    if (status != HF_OK)
        event_drop(device, command->event);
    return status;
}

/* May a kernel's end be told late? It is the last of a queue, beside others. */
static bool end_hides(const hf_opencl_device *device, unsigned queue) {
    hf_opencl_event *last = device->lasts[queue];
    bool beside = false;
    if (!device->probe || !last || !last->kernel)
        return false;
    for (unsigned other = 0; other < HF_MAX_QUEUES; other++)
        beside = beside || (other != queue && device->lasts[other] &&
                            !event_ended(device->lasts[other]));
    return beside;
}

hf_status hf_opencl_reach(hf_device *base, const hf_order *order) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    const hf_order behind = {.queue = order ? order->queue : 0};
    HF_TRY(hf_device_check(base));
    for (size_t i = 0; order && i < order->n_after; i++)
        if (order->after[i])
            HF_TRY(event_wait(device, (hf_opencl_event *)order->after[i]));
    if (end_hides(device, behind.queue))
        return hf_device_opencl.read(base, device->probe, 0, device->probed->host,
                                     HF_PROBE, &behind, NULL);
    return queue_drain(device, behind.queue);
}

hf_status hf_opencl_begin_without(hf_opencl_command *command, hf_device *base,
                                  const hf_order *order) {
    assert(order->n_after == 0);
    HF_TRY(queue_open(command, (hf_opencl_device *)base, order->queue));
    command->event = NULL;
    command->no_event = true;
    return HF_OK;
}

hf_status hf_opencl_begin_blocking(hf_opencl_command *command, hf_device *base,
                                   const hf_order *order) {
    HF_TRY(hf_opencl_reach(base, order));
    HF_TRY(
        hf_opencl_begin(command, base, &(hf_order){.queue = order ? order->queue : 0}));
    command->blocks = true;
    return HF_OK;
}

hf_status hf_opencl_begin_reading(hf_opencl_command *command, hf_device *base,
                                  const hf_order *order) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    if (device->properties) /* the event tells the times */
        return hf_opencl_begin_blocking(command, base, order);
    HF_TRY(hf_opencl_reach(base, order));
    HF_TRY(queue_open(command, device, order ? order->queue : 0));
    command->event = NULL;
    return HF_OK;
}

hf_status hf_opencl_end(hf_opencl_command *command, cl_int code, const char *call,
                        cl_kernel kernel, hf_event **done) {
    hf_opencl_device *device = command->device;
    hf_opencl_event *event = command->event;
    if (!event && code == CL_SUCCESS && command->no_event)
        code = clFlush(command->queue);
    if (!event)
        return hf_opencl_check(code, call);
    if (code != CL_SUCCESS) {
        event_drop(device, event);
        return hf_opencl_check(code, call);
    }
    event->kernel = kernel;
    event_enter(device, event);
    if (command->lazy)
        device->lazy |= UINT32_C(1) << event->queue;
    else if (!command->blocks)
        HF_TRY(queue_flush(device, event->queue));
    if (!done)
        return hf_opencl_wait(&device->base, (hf_event *)event);
    *done = (hf_event *)event;
    return HF_OK;
}

/* ---- from the first to the last ---- */

void hf_opencl_queues_open(hf_opencl_device *device) {
    pthread_mutex_init(&device->lock, NULL);
    hf_clock_condition(&device->ended);
}

/** Wait on `ended` until no callback is to come, or until `until`. */
static bool watched_none(hf_opencl_device *device, struct timespec until) {
    int late = 0;
    pthread_mutex_lock(&device->lock);
    while (device->watched > 0 && !late)
        late = pthread_cond_timedwait(&device->ended, &device->lock, &until);
    bool none = device->watched == 0;
    pthread_mutex_unlock(&device->lock);
    return none;
}

bool hf_opencl_queues_close(hf_opencl_device *device) {
    struct timespec until = hf_clock_after(CLOSE_SECONDS);
    double start = hf_clock_now(), end = start + CLOSE_SECONDS;
    bool ended = true;
    for (hf_opencl_event *e = device->oldest; ended && e; e = e->newer)
        if (event_await(device, e, start, end, &ended) != HF_OK)
            ended = false;
    if (!ended || !watched_none(device, until))
        return false;
    while (device->oldest)
        event_leave(device, device->oldest);
    for (hf_opencl_event *e; (e = device->unused);) {
        device->unused = e->newer;
        free(e);
    }
    for (size_t queue = 0; queue < HF_MAX_QUEUES; queue++)
        if (device->queues[queue])
            clReleaseCommandQueue(device->queues[queue]);
    pthread_mutex_destroy(&device->lock);
    pthread_cond_destroy(&device->ended);
    return true;
}
