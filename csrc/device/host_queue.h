/* host_queue.h - queues of the runtime `host`: a thread for each that is used. */
#ifndef HF_HOST_QUEUE_H
#define HF_HOST_QUEUE_H

#include "device.h"

typedef struct hf_host_queues hf_host_queues;

/** Queues of `device`, which stays until `free`. */
hf_status hf_host_queues_new(hf_host_queues **out, hf_device *device);
/** False if a command still runs: then queues and device stay. */
bool hf_host_queues_free(hf_host_queues *all);

/** Copy `bytes` bytes, or none; *done is the event. */
hf_status hf_host_copy(hf_host_queues *all, void *to, const void *from, size_t bytes,
                       const hf_order *order, hf_event **done);
/** As `launch` of the device table. */
hf_status hf_host_launch(hf_host_queues *all, const hf_launch *launch,
                         const hf_order *order, hf_event **done);

/** Wait for all that a command of this order comes after. */
hf_status hf_host_drain(hf_host_queues *all, const hf_order *order);

/** As those of the device table. */
hf_status hf_host_test(hf_host_queues *all, hf_event *event, double seconds,
                       bool *ended);
hf_status hf_host_wait(hf_host_queues *all, hf_event *event);
hf_status hf_host_finish(hf_host_queues *all);
bool hf_host_idle(hf_host_queues *all);
void hf_host_profile(hf_host_queues *all);
void hf_host_times(const hf_host_queues *all, uint64_t ticks[2]);

/** A copy that the caller makes itself, now that nothing is before it. */
void hf_host_copy_now(hf_host_queues *all, void *to, const void *from, size_t bytes);

#endif
