/* opencl.h - what the files of the runtime `opencl` share. */
#ifndef HF_OPENCL_H
#define HF_OPENCL_H

#include <pthread.h>
#include <signal.h>

#include "device.h"
#include "opencl_queue.h"

enum { HF_PROBE = 4 /* [B] */ };

struct hf_opencl_device {
    hf_device base;
    cl_device_id id;
    cl_context context;
    cl_command_queue queues[HF_MAX_QUEUES]; /**< in order each; NULL until used */
    cl_command_queue_properties properties; /**< of the queues; 0: none */
    cl_ulong
        ticks[2]; /**< of the command that was waited for last, if queues profile */
    cl_int ticks_code;                     /**< whether the runtime told them */
    hf_opencl_event *lasts[HF_MAX_QUEUES]; /**< of each queue; NULL: it is empty */
    uint32_t lazy; /**< queues with commands that are not flushed yet, a bit for each */
    hf_opencl_event *oldest, *newest, *unused; /**< in flight; to be used again */
    pthread_mutex_t lock;
    pthread_cond_t ended;          /**< a watched command ended */
    size_t watched;                /**< such commands now */
    size_t endings;                /**< of such commands so far */
    cl_program program;            /**< NULL until the first `load` */
    unsigned char *binary;         /**< what `program` was made from */
    const hf_kernel_info *kernels; /**< of the kernel file; NULL: not known */
    size_t binary_bytes;
    cl_program relay; /**< that base.relay is of; NULL: none */
    struct hf_opencl_buffer
        *kept; /**< freed once a command of the broken device ends */
    struct hf_opencl_buffer *pinned; /**< memory that copies are polled for */
    hf_buffer *probe,
        *probed; /**< a word, and where its copies go; NULL: none needed */
};

/** One device of the machine. */
typedef struct hf_opencl_entry {
    cl_platform_id platform;
    cl_device_id id;
    hf_device_info info;
} hf_opencl_entry;

typedef struct hf_opencl_buffer {
    hf_buffer base;
    cl_mem mem;
    hf_opencl_device *device;
    void *mapped;                  /**< pinned memory; NULL for device memory */
    struct hf_opencl_buffer *next; /**< in `kept` or `pinned` */
} hf_opencl_buffer;

/** Is it memory of the host in which kernels work, to be read and written without a command? Where
 *  commands keep times, each copy is one. */
static inline bool hf_opencl_in_place(const hf_device *base, const hf_buffer *buffer) {
    return buffer->host && !((const hf_opencl_buffer *)buffer)->mapped &&
           !((const hf_opencl_device *)base)->properties;
}

extern const hf_device_ops hf_device_opencl;

/** HF_OK for CL_SUCCESS, else a failure that names the call and the code. */
hf_status hf_opencl_check(cl_int code, const char *call);

/** Name of an error code, e.g. "CL_OUT_OF_RESOURCES". */
const char *hf_opencl_code(cl_int code);

hf_status hf_opencl_list(hf_device_info *out, size_t index, bool *found,
                         const hf_vendors *vendors);
/** The device that `selector` and the node-local rank mean. */
hf_status hf_opencl_pick(hf_opencl_entry *out, const char *selector, int local_rank,
                         const hf_vendors *vendors);
/** Begin a part in which libraries may be loaded, and threads and programs started, or end it.
 *  What is started never takes a signal that asks this process to end: the terminal and mpirun
 *  send it to the whole process group, and PoCL aborts where its linker ends by one. Nor does
 *  this thread in between; its own signals are kept in `own`. */
void hf_opencl_enter(sigset_t *own, const hf_vendors *vendors);
void hf_opencl_leave(const sigset_t *own, const hf_vendors *vendors);

/** Fill in the context. The first CPU's is kept: in each new one PoCL's compiler reads its
 *  library of functions again, which is most of the work for a small program, and no other
 *  process has to wait for a CPU. */
hf_status hf_opencl_context(hf_opencl_device *device);

hf_status hf_opencl_build(hf_device *base, const char *source, const char *options,
                          unsigned char **binary, size_t *bytes);
hf_status hf_opencl_load(hf_device *base, const char *name, const unsigned char *binary,
                         size_t bytes);

hf_status hf_opencl_kernel(hf_kernel **out, hf_device *base, const char *name,
                           unsigned unit);
void hf_opencl_kernel_free(hf_kernel *kernel);
hf_status hf_opencl_launch(hf_device *base, const hf_launch *launch,
                           const hf_order *order, hf_event **done);

/** A program of a binary, built; *out is NULL, or to be released, whatever it says. */
cl_int hf_opencl_program(cl_program *out, cl_context context, cl_device_id id,
                         const unsigned char *binary, size_t bytes);

/** May its kernels see pinned memory of the host as it changes? */
bool hf_opencl_may_relay(const hf_opencl_device *device);
hf_status hf_opencl_relay(hf_device *base, const unsigned char *binary, size_t bytes);
void hf_opencl_relay_free(hf_opencl_device *device);

/** Take memory for copies that tell of kernels. A GPU's runtime may say that a kernel has ended
 *  only when all commands that were given before it have, in whatever queue; of a copy it says so
 *  at once. */
hf_status hf_opencl_probe_take(hf_opencl_device *device);

/** Forget the loaded program. */
void hf_opencl_unload(hf_opencl_device *device);

#endif
