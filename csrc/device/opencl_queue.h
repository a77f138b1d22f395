/* opencl_queue.h - commands of the runtime `opencl`: `begin`, a call of clEnqueue..., `end`. */
#ifndef HF_OPENCL_QUEUE_H
#define HF_OPENCL_QUEUE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "device.h"

typedef struct hf_opencl_device hf_opencl_device;

/** A command in flight: what an hf_event is here. */
typedef struct hf_opencl_event {
    cl_event event;
    cl_kernel kernel; /**< NULL: a copy */
    unsigned queue;
    cl_int state; /**< as last seen: CL_COMPLETE or an error stays */
    bool watched; /**< its end will be signalled */
    struct hf_opencl_event *older, *newer; /**< in flight; `newer` also of spare ones */
} hf_opencl_event;

/** A command on its way into a queue. */
typedef struct hf_opencl_command {
    hf_opencl_device *device;
    cl_command_queue queue;
    cl_event after[HF_MAX_AFTER];
    cl_uint n_after;
    bool blocks;            /**< the call blocks, which flushes the queue */
    bool lazy;              /**< the queue is flushed later */
    bool no_event;          /**< nobody hears of its end */
    hf_opencl_event *event; /**< NULL: it has ended when its call returns */
} hf_opencl_command;

/** Wait for all that a command of `order` comes after. */
hf_status hf_opencl_reach(hf_device *base, const hf_order *order);
/** What a command needs. */
hf_status hf_opencl_begin(hf_opencl_command *command, hf_device *base,
                          const hf_order *order);
/** The same for one of whose end nobody hears, after what is in its queue. */
hf_status hf_opencl_begin_without(hf_opencl_command *command, hf_device *base,
                                  const hf_order *order);
/** The same for a call that blocks: it waits first for all that could keep the call from
 *  returning. Then the caller's memory is free again; the data may still be on its way. */
hf_status hf_opencl_begin_blocking(hf_opencl_command *command, hf_device *base,
                                   const hf_order *order);
/** The same for a call that reads: it returns when its command has ended. */
hf_status hf_opencl_begin_reading(hf_opencl_command *command, hf_device *base,
                                  const hf_order *order);
/** Have the queue take the command, to which the call said `code`; it is `kernel`'s, or a
 *  copy. Where `done` is NULL, wait for it. */
hf_status hf_opencl_end(hf_opencl_command *command, cl_int code, const char *call,
                        cl_kernel kernel, hf_event **done);
/** Arguments of clEnqueue...: the events to wait for, and where its own goes. */
static inline const cl_event *hf_opencl_after(const hf_opencl_command *command) {
    return command->n_after ? command->after : NULL;
}
static inline cl_event *hf_opencl_own(const hf_opencl_command *command) {
    return command->event ? &command->event->event : NULL;
}

hf_status hf_opencl_test(hf_device *base, hf_event *event, double seconds, bool *ended);
hf_status hf_opencl_wait(hf_device *base, hf_event *done);
hf_status hf_opencl_finish(hf_device *base);
bool hf_opencl_idle(const hf_device *base);
hf_status hf_opencl_profile(hf_device *base);
hf_status hf_opencl_times(hf_device *base, uint64_t ticks[2]);

void hf_opencl_queues_open(hf_opencl_device *device);
/** Release the queues; false if a command still runs, and with it the device. */
bool hf_opencl_queues_close(hf_opencl_device *device);

#endif
