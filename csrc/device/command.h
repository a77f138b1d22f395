/* command.h - what a device works on, and in which order.
 *
 * Commands are `read`, `write`, `copy`, `launch` and `mark` of a device. They take an order and may
 * give an event. With `done` they return at once. With `done` NULL they return when the command
 * has ended, but for one with `no_event`. No wait lasts longer than the device's deadline, but for
 * a copy without an event that hangs in OpenCL's driver (docs/adr/0012).
 */
#ifndef HF_COMMAND_H
#define HF_COMMAND_H

#include <stddef.h>

#include "core/kernel_info.h"
#include "core/status.h"

typedef struct hf_event hf_event;
typedef struct hf_kernel hf_kernel;

typedef struct hf_buffer {
    size_t bytes;
    void *host; /**< its address where the host may use it in place, else NULL */
    /** NULL, or host memory as long as the buffer, through which its copies go. A copy from
     *  or to the same place of the mirror saves one on the host; what a read brings there
     *  stays until the next copy of these bytes, or `map`. */
    void *mirror;
} hf_buffer;

/** Which memory a buffer lies in: that of a kernel's argument, or a bank. All-zero: the
 *  runtime's choice. */
typedef struct hf_spot {
    hf_kernel *kernel; /**< or NULL */
    unsigned arg;      /**< number of the argument, from 0 */
    unsigned bank; /**< 1 + the number of a memory bank, which comes first; 0: none */
} hf_spot;

enum {
    HF_MAX_QUEUES = 32,
    HF_MAX_AFTER = 64,
    HF_WRITES_QUEUE = HF_MAX_QUEUES - 1, /**< of writes beside reads in queue 0 */
};

/** Where a command runs, and after what. NULL or all-zero: queue 0, after what is in it. */
typedef struct hf_order {
    unsigned queue; /**< below HF_MAX_QUEUES; commands of one run one after the other,
                         those of several side by side where the device can */
    size_t n_after; /**< at most HF_MAX_AFTER */
    hf_event *const *after; /**< [n_after] events of any queue; NULL: has ended */
    const char *label;      /**< what a trace calls the command; static; or NULL */
    bool
        lazy; /**< it may begin as late as the next command of its queue, the first one that
                    comes after it, or the first `test`, `wait` or `finish`; `idle` is none */
    /** A launch with `done` NULL returns at once, and makes no event. Later commands of its queue
     *  come after it; `finish` and `idle` know nothing of it. Who gives such launches waits for
     *  the last one by a mark behind it. */
    bool no_event;
} hf_order;

/** One kernel argument: a buffer, or `bytes` bytes at `value`. */
typedef struct hf_arg {
    hf_buffer *buffer;
    const void *value;
    size_t bytes;
} hf_arg;

/** The argument that is the value of `x`, which stays until the launch. */
#define HF_VALUE(x) \
    { .value = &(x), .bytes = sizeof(x) }

/** A kernel with its arguments, `items` times (0 means once). */
typedef struct hf_launch {
    hf_kernel *kernel;
    const hf_arg *args;
    size_t n_args, items;
    size_t group; /**< work-items of a work-group; 0: the runtime's choice */
} hf_launch;

/** HF_EARG with the names of kernel and argument `i`, if it is `given` something else than it
 *  takes: a buffer, or a value of another length. */
hf_status hf_arg_check(const char *kernel, size_t i, const hf_arg_info *taken,
                       const hf_arg *given);
/** The same for all arguments of a launch, and for their number. */
hf_status hf_launch_check(const hf_kernel_info *kernel, const hf_launch *launch);

#endif
