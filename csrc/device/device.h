/* device.h - where kernels and buffers live.
 *
 * A runtime is one table of functions. One rank drives one device with one program.
 */
#ifndef HF_DEVICE_H
#define HF_DEVICE_H

#include "command.h"
#include "hf.h"

typedef struct hf_device_ops hf_device_ops;

/** What every device shows; implementations put their own fields behind it. */
typedef struct hf_device {
    const hf_device_ops *ops;
    hf_device_info info;
    double deadline; /**< longest wait for a command; the session sets it [s] */
    /** A command has passed the deadline and may still run. Every later call fails, and
     *  what the device may still use stays: buffers until the command ends, and whatever
     *  the caller has wrapped or pinned. */
    bool broken;
    /** NULL, or called many times in a second, with the name of what runs, while a command
     *  is waited for by the deadline; a failure ends the wait. The session sets both. */
    hf_status (*meanwhile)(void *context, const char *what);
    void *context;
    const char *folder; /**< for files, while a scheme is opened; the session sets it */
    struct hf_host_queues *queues; /**< host_queue.h; NULL: the runtime has its own */
    bool may_relay;   /**< its kernels may see pinned memory: `relay` tries */
    hf_kernel *relay; /**< that `relay` took; NULL: there is none */
} hf_device;

/** HF_EDEVICE for a broken device. */
hf_status hf_device_check(const hf_device *device);
/** Wait for all these commands, up to the one that breaks the device; the first failure. The last
 *  comes first: those before it have mostly ended with it, and each wait costs a wake-up. */
hf_status hf_device_wait(hf_device *device, hf_event *const *events, size_t n);

struct hf_device_ops {
    const char *name, *summary;
    /** What `load` takes: "binary", which `build` makes; "xclbin", which only a file brings;
     *  "none": kernels are C functions. */
    const char *programs;

    /** Device number `index` of this runtime: HF_OK with *found false past the end. */
    hf_status (*list)(hf_device_info *out, size_t index, bool *found,
                      const hf_vendors *vendors);

    /** Open a device by an index, the word for a type, or a part of a platform's name or a
     *  device's name or version; "": the runtime's choice. Of several that match, the
     *  node-local rank modulo their number picks one. */
    hf_status (*open)(hf_device **out, const char *selector, int local_rank,
                      const hf_vendors *vendors);
    void (*close)(hf_device *device);

    /** Compile OpenCL C to a program binary; *binary is malloc'ed, the caller's. The
     *  build log is in the message. */
    hf_status (*build)(hf_device *device, const char *source, const char *options,
                       unsigned char **binary, size_t *bytes);
    /** Program the device. `name` is the kernel file's stem, e.g. "b_eff_memory"; a
     *  device without binaries ignores `binary`. Loading the same again is free. */
    hf_status (*load)(hf_device *device, const char *name, const unsigned char *binary,
                      size_t bytes);
    /** A kernel of the program, open until commands that use it have ended. `unit` is one
     *  of its compute units, from 1; 0: the runtime's choice. */
    hf_status (*kernel)(hf_kernel **out, hf_device *device, const char *name,
                        unsigned unit);
    void (*kernel_free)(hf_kernel *kernel);
    /** Take `relay`, of relay_ndrange.cl, beside the loaded program. It works in pinned memory:
     *  HF_ENOTSUP where kernels do not see that, as it changes, at the host's address. */
    hf_status (*relay)(hf_device *device, const unsigned char *binary, size_t bytes);

    /** A buffer of device memory; `spot` NULL: the runtime chooses which. */
    hf_status (*alloc)(hf_buffer **out, hf_device *device, size_t bytes,
                       const hf_spot *spot);
    /** Host memory, as for `pin`, as a buffer: kernels work on it in place, and a `read` that
     *  is waited for is no command. HF_ENOTSUP where device memory is not the host's. */
    hf_status (*wrap)(hf_buffer **out, hf_device *device, void *memory, size_t bytes);
    /** Host memory that the device reads and writes by DMA: the caller's, page aligned and
     *  kept until `free`, or memory of its own where `memory` is NULL. It is the host side
     *  of `read` and `write`, at the address `host`, and no kernel's argument. */
    hf_status (*pin)(hf_buffer **out, hf_device *device, void *memory, size_t bytes);
    /** Accepts NULL. Not before the commands that use the buffer have ended. */
    void (*free)(hf_buffer *buffer);

    /** Host memory of a copy with an event comes from `pin`, or outlives the device. */
    hf_status (*write)(hf_device *device, hf_buffer *to, size_t at, const void *from,
                       size_t bytes, const hf_order *order, hf_event **done);
    hf_status (*read)(hf_device *device, const hf_buffer *from, size_t at, void *to,
                      size_t bytes, const hf_order *order, hf_event **done);
    /** From buffer to buffer of the device; the two parts do not overlap. */
    hf_status (*copy)(hf_device *device, hf_buffer *to, size_t to_at,
                      const hf_buffer *from, size_t from_at, size_t bytes,
                      const hf_order *order, hf_event **done);
    hf_status (*launch)(hf_device *device, const hf_launch *launch,
                        const hf_order *order, hf_event **done);

    /** A command that does nothing: it ends with all that it comes after. */
    hf_status (*mark)(hf_device *device, const hf_order *order, hf_event **done);

    /** Host address of the whole buffer until `unmap`, after what is in queue 0. */
    hf_status (*map)(hf_device *device, hf_buffer *buffer, void **address);
    hf_status (*unmap)(hf_device *device, hf_buffer *buffer, void *address);

    /** Has the command ended? Waits at most `seconds` for it. The event stays. */
    hf_status (*test)(hf_device *device, hf_event *event, double seconds, bool *ended);
    /** Wait for the command and release its event: each ends here; HF_OK for NULL. */
    hf_status (*wait)(hf_device *device, hf_event *event);
    /** Wait for all commands; their events stay. Have all ended? */
    hf_status (*finish)(hf_device *device);
    bool (*idle)(const hf_device *device);

    /** From now on commands keep their times. Called before the first one. */
    hf_status (*profile)(hf_device *device);
    /** Start and end of the command last waited for, on the device's own clock [ns]. */
    hf_status (*times)(hf_device *device, uint64_t ticks[2]);
    double (*power)(hf_device *device); /**< drawn [W]; NAN: not told; or NULL */
    bool host_clock;                    /**< `times` are those of CLOCK_MONOTONIC */
};

#endif
