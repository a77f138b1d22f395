/* device.h - where kernels and buffers live.
 *
 * A runtime is one table of functions. One rank drives one device with one program.
 * Calls with an `hf_event **done` return at once when it is not NULL; the caller waits.
 */
#ifndef HF_DEVICE_H
#define HF_DEVICE_H

#include "hf.h"

typedef struct hf_device_ops hf_device_ops;
typedef struct hf_event hf_event;
typedef struct hf_kernel hf_kernel;

/** What every device shows; implementations put their own fields behind it. */
typedef struct hf_device {
    const hf_device_ops *ops;
    hf_device_info info;
} hf_device;

/** The most that each of `n` equal buffers may have [B]. */
static inline size_t hf_device_room(const hf_device_info *info, size_t n) {
    size_t share = info->memory / n;
    return share < info->max_alloc ? share : info->max_alloc;
}

typedef struct hf_buffer {
    size_t bytes;
    void *host; /**< its address where the device's memory is the host's, else NULL */
} hf_buffer;

/** One kernel argument: a buffer, or `bytes` bytes at `value`. */
typedef struct hf_arg {
    hf_buffer *buffer;
    const void *value;
    size_t bytes;
} hf_arg;

enum { HF_LANES_MOST = 32, HF_ANY_BANK = -1 };

/** A kernel with its arguments, `items` times (0 means once). Lane 0 runs commands one
 *  after the other; each further lane, below HF_LANES_MOST, runs beside the others, and a
 *  device may run what is in one of them at the same time. */
typedef struct hf_launch {
    hf_kernel *kernel;
    const hf_arg *args;
    size_t n_args, items, lane;
    size_t group; /**< work-items of a work-group; 0: the runtime's choice */
} hf_launch;

struct hf_device_ops {
    const char *name, *summary;

    /** Device number `index` of this runtime: HF_OK with *found false past the end. */
    hf_status (*list)(hf_device_info *out, size_t index, bool *found,
                      const hf_vendors *vendors);

    /** Open a device. `selector` is an index, a part of a platform's or a device's
     *  name or of a device's version, or "" for the runtime's choice; where several
     *  match, the node-local rank modulo their number picks one. */
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
    /** A kernel of the program. Xilinx's runtime keeps it to the compute units that reach
     *  the banks of its first arguments: each replication takes one of its own. */
    hf_status (*kernel)(hf_kernel **out, hf_device *device, const char *name);
    void (*kernel_free)(hf_kernel *kernel);

    /** A buffer in memory bank `bank`, where the device has them; HF_ANY_BANK leaves it
     *  to the runtime. */
    hf_status (*alloc)(hf_buffer **out, hf_device *device, size_t bytes, int bank);
    /** A buffer over the caller's memory, page aligned and kept until `free`; kernels
     *  work on it in place. HF_ENOTSUP where device memory is not the host's. */
    hf_status (*wrap)(hf_buffer **out, hf_device *device, void *memory, size_t bytes);
    void (*free)(hf_buffer *buffer);
    hf_status (*write)(hf_device *device, hf_buffer *to, size_t at, const void *from,
                       size_t bytes, hf_event **done);
    hf_status (*read)(hf_device *device, const hf_buffer *from, size_t at, void *to,
                      size_t bytes, hf_event **done);
    /** Host address of the whole buffer until `unmap`. */
    hf_status (*map)(hf_device *device, hf_buffer *buffer, void **address);
    hf_status (*unmap)(hf_device *device, hf_buffer *buffer, void *address);

    hf_status (*launch)(hf_device *device, const hf_launch *launch, hf_event **done);
    /** Wait at most `seconds` for an event of a lane above 0, which stays. */
    hf_status (*poll)(hf_device *device, hf_event *event, double seconds, bool *done);
    /** Wait for one event and release it. */
    hf_status (*wait)(hf_device *device, hf_event *done);
    /** Wait for everything. */
    hf_status (*finish)(hf_device *device);
};

#endif
