/* host_queue.h - queues of a device whose commands threads of the host carry out: a thread for
 * each queue that is used. */
#ifndef HF_HOST_QUEUE_H
#define HF_HOST_QUEUE_H

#include <stdint.h>

#include "device.h"

enum { HF_HOST_ARGS = 20 };

/** An argument of a launch. */
typedef union hf_host_arg {
    void *address; /**< of a buffer */
    uint64_t bits; /**< of another one */
} hf_host_arg;

/** What a command does: `run` in the thread of its queue, with whatever of the rest it uses. */
typedef struct hf_host_task {
    hf_status (*run)(const struct hf_host_task *task); /**< NULL: nothing */
    const char *kernel,
        *unit; /**< names of a launch, for messages; NULL: a copy, none */
    void *context;
    void *to;
    const void *from;
    size_t bytes;
    size_t to_at, from_at;
    unsigned queue;
    size_t items, n_args;
    const hf_host_arg *args; /**< [n_args] */
} hf_host_task;

/** Give a device its `queues`. */
hf_status hf_host_queues_new(hf_device *device);
/** False if a command still runs: then queues and device stay. */
bool hf_host_queues_free(hf_device *device);
/** As the process ends, beside threads that use them: no more commands start, and one that
 *  runs has some time. Nothing is released. */
void hf_host_queues_stop(hf_device *device);

/** Put a command into its queue, where it gets the task's copy; *done is the event. NULL: wait
 *  for it. A task that fails fails the wait for it, with its message. */
hf_status hf_host_start(hf_device *device, const hf_host_task *task,
                        const hf_order *order, hf_event **done);

/** Wait for all that a command of this order comes after. */
hf_status hf_host_drain(const hf_device *device, const hf_order *order);

/** Call `run` with the task in the caller's own thread, once all that `order` comes after has
 *  ended: a command that is waited for anyway need not be handed to another thread. */
hf_status hf_host_now(hf_device *device, const hf_host_task *task,
                      const hf_order *order,
                      hf_status (*run)(const hf_host_task *task));

/** Functions of the device table. */
hf_status hf_host_mark(hf_device *device, const hf_order *order, hf_event **done);
hf_status hf_host_test(hf_device *device, hf_event *event, double seconds, bool *ended);
hf_status hf_host_wait(hf_device *device, hf_event *event);
hf_status hf_host_finish(hf_device *device);
bool hf_host_idle(const hf_device *device);
hf_status hf_host_profile(hf_device *device);
hf_status hf_host_times(hf_device *device, uint64_t ticks[2]);

#endif
