/* host_queue.c - queues of a device whose commands threads of the host carry out.
 *
 * A thread takes the commands of its queue one by one and waits for the events of others that
 * a command comes after. A command belongs to its queue until it has ended, to the caller
 * until `wait`, and to the commands after it: the last holder gives it back.
 */
#include "host_queue.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "late.h"

enum { CLOSE_SECONDS = 2, NAME_ROOM = 240 };

/** What an hf_event is here. */
typedef struct host_command {
    struct host_command *next;  /* in its queue, or of those unused */
    struct host_command *older; /* of all that were made */
    unsigned holders;
    bool ended;
    hf_host_task task;
    hf_host_arg args[HF_HOST_ARGS]; /* of the task */
    hf_status status;               /* of the task */
    char *error; /* malloc'ed message of one that failed; NULL: no memory for it */
    size_t n_after;
    struct host_command *after[HF_MAX_AFTER];
    double start, end; /* of its run, where times are kept [s] */
} host_command;

typedef struct hf_host_queues hf_host_queues;

typedef struct host_queue {
    hf_host_queues *all;
    bool has_thread;
    pthread_t thread;
    pthread_cond_t filled;
    host_command *first, *last; /* not ended; the first may run */
    atomic_size_t length;       /* of these; zero is true without the lock, too */
} host_queue;

struct hf_host_queues {
    hf_device *device;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t ended; /* a command, or a thread */
    host_queue queues[HF_MAX_QUEUES];
    size_t n_threads;
    bool closing;      /* threads end when their queue is empty */
    bool broken;       /* no more commands start */
    bool profile;      /* commands keep their times */
    double start, end; /* of the command that was waited for last [s] */
    host_command *newest, *unused;
};

/* ---- a thread; with the lock, but where a command runs ---- */

static void command_release(hf_host_queues *all, host_command *command) {
    if (--command->holders > 0)
        return;
    free(command->error);
    command->error = NULL;
    command->next = all->unused;
    all->unused = command;
}

static void command_run(host_command *c) {
    c->status = c->task.run ? c->task.run(&c->task) : HF_OK;
    if (c->status != HF_OK)
        c->error = strdup(hf_error());
}

/** Wait until the first command may run; NULL: there will be none. */
static host_command *command_next(host_queue *queue) {
    hf_host_queues *all = queue->all;
    while (!queue->first && !all->closing)
        pthread_cond_wait(&queue->filled, &all->lock);
    host_command *command = queue->first;
    for (size_t i = 0; command && i < command->n_after; i++)
        while (!command->after[i]->ended && !all->broken)
            pthread_cond_wait(&all->ended, &all->lock);
    return all->broken ? NULL : command;
}

static void *queue_serve(void *context) {
    host_queue *queue = context;
    hf_host_queues *all = queue->all;
    host_command *command;
    pthread_mutex_lock(&all->lock);
    while ((command = command_next(queue))) {
        pthread_mutex_unlock(&all->lock);
        if (all->profile)
            command->start = hf_clock_now();
        command_run(command);
        if (all->profile)
            command->end = hf_clock_now();
        pthread_mutex_lock(&all->lock);
        command->ended = true;
        queue->first = command->next;
        atomic_fetch_sub(&queue->length, 1);
        for (size_t i = 0; i < command->n_after; i++)
            command_release(all, command->after[i]);
        command_release(all, command);
        pthread_cond_broadcast(&all->ended);
    }
    all->n_threads--;
    pthread_cond_broadcast(&all->ended);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- commands ---- */

static host_command *command_new(hf_host_queues *all) {
    pthread_mutex_lock(&all->lock);
    host_command *command = all->unused;
    if (command) {
        all->unused = command->next;
    } else if ((command = malloc(sizeof *command))) {
        command->older = all->newest;
        all->newest = command;
    }
    pthread_mutex_unlock(&all->lock);
    if (command) {
        command->status = HF_OK;
        command->error = NULL;
        command->ended = false;
        command->next = NULL;
        command->n_after = 0;
    }
    return command;
}

/** See that a queue has its thread. */
static hf_status queue_open(hf_host_queues *all, host_queue *queue) {
    if (queue->has_thread)
        return HF_OK;
    queue->has_thread = pthread_create(&queue->thread, NULL, queue_serve, queue) == 0;
    all->n_threads += queue->has_thread;
    return queue->has_thread
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no thread for queue %zu of device \"%s\"",
                         (size_t)(queue - all->queues), all->device->info.name);
}

/** Put a command into its queue. */
static hf_status command_enter(hf_host_queues *all, host_command *command,
                               const hf_order *order) {
    host_queue *queue = &all->queues[command->task.queue];
    assert(!order || order->n_after <= HF_MAX_AFTER);
    pthread_mutex_lock(&all->lock);
    hf_status status = queue_open(all, queue);
    command->holders = 1;
    if (status == HF_OK) {
        for (size_t i = 0; order && i < order->n_after; i++)
            if (order->after[i]) {
                host_command *after = (host_command *)order->after[i];
                after->holders++;
                command->after[command->n_after++] = after;
            }
        command->holders++;
        *(queue->first ? &queue->last->next : &queue->first) = command;
        queue->last = command;
        atomic_fetch_add(&queue->length, 1);
        pthread_cond_signal(&queue->filled);
    } else {
        command_release(all, command);
    }
    pthread_mutex_unlock(&all->lock);
    return status;
}

hf_status hf_host_start(hf_device *device, const hf_host_task *task,
                        const hf_order *order, hf_event **done) {
    hf_host_queues *all = device->queues;
    HF_TRY(hf_device_check(device));
    host_command *command = command_new(all);
    if (!command)
        return hf_fail(HF_ENOMEM, "no memory for a command");
    assert(task->n_args <= HF_HOST_ARGS);
    command->task = *task;
    command->task.args = command->args;
    for (size_t i = 0; i < task->n_args; i++)
        command->args[i] = task->args[i];
    command->task.queue = order ? order->queue : 0;
    assert(command->task.queue < HF_MAX_QUEUES);
    HF_TRY(command_enter(all, command, order));
    if (!done)
        return hf_host_wait(device, (hf_event *)command);
    *done = (hf_event *)command;
    return HF_OK;
}

/* ---- waits ---- */

/** Name what has not ended, a kernel that runs; with the lock. */
static void late_name(const hf_host_queues *all, char what[NAME_ROOM]) {
    snprintf(what, NAME_ROOM, "a copy");
    for (size_t i = HF_MAX_QUEUES; i-- > 0;) {
        const host_command *c = all->queues[i].first;
        bool waits = false;
        for (size_t k = 0; c && k < c->n_after; k++)
            waits = waits || !c->after[k]->ended;
        if (!c || !c->task.kernel || waits)
            continue;
        if (c->task.unit)
            snprintf(what, NAME_ROOM, "kernel \"%s\" (unit \"%s\")", c->task.kernel,
                     c->task.unit);
        else
            snprintf(what, NAME_ROOM, "kernel \"%s\"", c->task.kernel);
    }
}

/** The device is broken: no more commands start; with the lock. */
static void queues_break(hf_host_queues *all) {
    all->broken = true;
    for (size_t i = 0; i < HF_MAX_QUEUES; i++)
        pthread_cond_signal(&all->queues[i].filled);
    pthread_cond_broadcast(&all->ended);
}

/** Wait at most `seconds` for a command; with the lock. */
static bool command_await(hf_host_queues *all, const host_command *command,
                          double seconds) {
    struct timespec until = hf_clock_after(command->ended ? 0 : seconds);
    int late = 0;
    while (!command->ended && !late)
        late = pthread_cond_timedwait(&all->ended, &all->lock, &until);
    return command->ended;
}

/** Wait for a command by the deadline; with the lock, but not while others are asked. */
static hf_status command_wait(hf_host_queues *all, const host_command *command) {
    hf_device *device = all->device;
    double last = hf_clock_now(), left = device->deadline;
    hf_status status = HF_OK;
    while (status == HF_OK && !command_await(all, command, fmin(HF_HEARING, left))) {
        char what[NAME_ROOM];
        late_name(all, what);
        pthread_mutex_unlock(&all->lock);
        left -= hf_clock_passed(&last);
        status = left > 0 ? hf_device_meanwhile(device, what)
                          : hf_device_break(device, what);
        pthread_mutex_lock(&all->lock);
    }
    if (status != HF_OK)
        queues_break(all);
    return status;
}

hf_status hf_host_test(hf_device *device, hf_event *event, double seconds,
                       bool *ended) {
    hf_host_queues *all = device->queues;
    *ended = true;
    if (!event)
        return HF_OK;
    pthread_mutex_lock(&all->lock);
    *ended = command_await(all, (host_command *)event, seconds);
    pthread_mutex_unlock(&all->lock);
    return HF_OK;
}

hf_status hf_host_wait(hf_device *device, hf_event *event) {
    hf_host_queues *all = device->queues;
    host_command *command = (host_command *)event;
    if (!event)
        return HF_OK;
    HF_TRY(hf_device_check(device));
    pthread_mutex_lock(&all->lock);
    hf_status status = command_wait(all, command);
    if (status == HF_OK) {
        if (all->profile) {
            all->start = command->start;
            all->end = command->end;
        }
        if (command->status != HF_OK)
            status = hf_fail(command->status, "%s",
                             command->error ? command->error : "no memory");
        command_release(all, command);
    }
    pthread_mutex_unlock(&all->lock);
    return status;
}

/** Wait for the last command of a queue; with the lock. */
static hf_status queue_drain(hf_host_queues *all, const host_queue *queue) {
    if (!queue->first)
        return HF_OK;
    host_command *last = queue->last;
    last->holders++;
    hf_status status = command_wait(all, last);
    command_release(all, last);
    return status;
}

hf_status hf_host_drain(const hf_device *device, const hf_order *order) {
    hf_host_queues *all = device->queues;
    host_queue *queue = &all->queues[order ? order->queue : 0];
    hf_status status = HF_OK;
    HF_TRY(hf_device_check(device));
    if ((!order || order->n_after == 0) && atomic_load(&queue->length) == 0)
        return HF_OK;
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; status == HF_OK && order && i < order->n_after; i++)
        if (order->after[i])
            status = command_wait(all, (host_command *)order->after[i]);
    if (status == HF_OK)
        status = queue_drain(all, queue);
    pthread_mutex_unlock(&all->lock);
    return status;
}

hf_status hf_host_mark(hf_device *device, const hf_order *order, hf_event **done) {
    return done ? hf_host_start(device, &(hf_host_task){0}, order, done)
                : hf_host_drain(device, order);
}

hf_status hf_host_now(hf_device *device, const hf_host_task *task,
                      const hf_order *order,
                      hf_status (*run)(const hf_host_task *task)) {
    hf_host_queues *all = device->queues;
    HF_TRY(hf_host_drain(device, order));
    if (all->profile)
        all->start = hf_clock_now();
    hf_status status = run(task);
    if (all->profile)
        all->end = hf_clock_now();
    return status;
}

hf_status hf_host_finish(hf_device *device) {
    hf_host_queues *all = device->queues;
    hf_status status = HF_OK;
    HF_TRY(hf_device_check(device));
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; status == HF_OK && i < HF_MAX_QUEUES; i++)
        status = queue_drain(all, &all->queues[i]);
    pthread_mutex_unlock(&all->lock);
    return status;
}

bool hf_host_idle(const hf_device *device) {
    size_t length = 0;
    for (size_t i = 0; i < HF_MAX_QUEUES; i++)
        length += atomic_load(&device->queues->queues[i].length);
    return length == 0;
}

/* ---- times ---- */

hf_status hf_host_profile(hf_device *device) {
    device->queues->profile = true;
    return HF_OK;
}

hf_status hf_host_times(hf_device *device, uint64_t ticks[2]) {
    ticks[0] = (uint64_t)(1e9 * device->queues->start);
    ticks[1] = (uint64_t)(1e9 * device->queues->end);
    return HF_OK;
}

/* ---- from the first to the last ---- */

hf_status hf_host_queues_new(hf_device *device) {
    hf_host_queues *all = calloc(1, sizeof *all);
    if (!all)
        return hf_fail(HF_ENOMEM, "no memory for the queues of a device");
    all->device = device;
    pthread_mutex_init(&all->lock, NULL);
    hf_clock_condition(&all->ended);
    for (size_t i = 0; i < HF_MAX_QUEUES; i++) {
        all->queues[i].all = all;
        pthread_cond_init(&all->queues[i].filled, NULL);
    }
    device->queues = all;
    return HF_OK;
}

/** Have the threads end. */
static bool threads_stop(hf_host_queues *all) {
    struct timespec until = hf_clock_after(CLOSE_SECONDS);
    int late = 0;
    pthread_mutex_lock(&all->lock);
    all->closing = true;
    for (size_t i = 0; i < HF_MAX_QUEUES; i++)
        pthread_cond_signal(&all->queues[i].filled);
    while (all->n_threads > 0 && !late)
        late = pthread_cond_timedwait(&all->ended, &all->lock, &until);
    bool none = all->n_threads == 0;
    pthread_mutex_unlock(&all->lock);
    return none;
}

void hf_host_queues_stop(hf_device *device) {
    hf_host_queues *all = device->queues;
    pthread_mutex_lock(&all->lock);
    queues_break(all);
    pthread_mutex_unlock(&all->lock);
    threads_stop(all);
}

bool hf_host_queues_free(hf_device *device) {
    hf_host_queues *all = device->queues;
    if (!threads_stop(all))
        return false;
    for (size_t i = 0; i < HF_MAX_QUEUES; i++) {
        host_queue *queue = &all->queues[i];
        if (queue->has_thread)
            pthread_join(queue->thread, NULL);
        pthread_cond_destroy(&queue->filled);
    }
    for (host_command *c; (c = all->newest);) {
        all->newest = c->older;
        free(c->error);
        free(c);
    }
    pthread_cond_destroy(&all->ended);
    pthread_mutex_destroy(&all->lock);
    free(all);
    device->queues = NULL;
    return true;
}
