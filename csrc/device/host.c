/* host.c - the runtime `host`: plain memory; kernels are C functions of this library.
 *
 * Calls are complete when they return and their hf_event is NULL, but for launches in a lane
 * above 0: those are threads.
 */
#include "host.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/pages.h"
#include "device.h"

extern const hf_device_ops hf_device_host;

enum { MAX_ARGS = 16 };

#define HF_KERNEL(stem) extern const hf_host_kernel hf_kernels_##stem[];
#include "hf_kernels.inc"
#undef HF_KERNEL

/** Kernel files by stem. */
static const struct host_file {
    const char *stem;
    const hf_host_kernel *kernels;
} files[] = {
#define HF_KERNEL(stem) {#stem, hf_kernels_##stem},
#include "hf_kernels.inc"
#undef HF_KERNEL
    {NULL, NULL},
};

typedef struct host_device {
    hf_device base;
    const struct host_file *file; /**< the loaded one, or NULL */
} host_device;

typedef struct host_buffer {
    hf_buffer base;
    bool borrowed; /**< over the caller's memory */
} host_buffer;

/** A kernel in its own thread: what an hf_event is here. */
typedef struct host_task {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    const hf_host_kernel *kernel;
    size_t items;
    void *args[MAX_ARGS];      /**< where the values are: buffers, or `values` */
    void *buffers[MAX_ARGS];   /**< their addresses */
    uint64_t values[MAX_ARGS]; /**< copies of the others */
    bool done;
} host_task;

static hf_device_info host_info(void) {
    hf_device_info info = {.runtime = "host",
                           .platform = "host",
                           .type = HF_CPU,
                           .emulated = true,
                           .fp64 = true,
                           .items = 1,
                           .workers = HF_LANES_MOST - 1,
                           .ports = HF_PORTS_MEMORY,
                           .kernels = HF_LANES_MOST - 1,
                           .more_kernels = ""};
    struct utsname system;
    if (uname(&system) == 0) {
        snprintf(info.name, sizeof info.name, "%.64s", system.machine);
        snprintf(info.version, sizeof info.version, "%.40s %.80s", system.sysname,
                 system.release);
    }
    for (const struct host_file *file = files; file->stem; file++)
        info.half = info.half || strstr(file->stem, "_half");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    info.memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX / 2;
    info.max_alloc = info.memory;
    return info;
}

static hf_status host_list(hf_device_info *out, size_t index, bool *found,
                           const hf_vendors *vendors) {
    (void)vendors;
    *found = index == 0;
    if (*found)
        *out = host_info();
    return HF_OK;
}

static hf_status host_open(hf_device **out, const char *selector, int local_rank,
                           const hf_vendors *vendors) {
    (void)local_rank;
    (void)vendors;
    hf_device_info info = host_info();
    if (!strstr(info.platform, selector) && !strstr(info.name, selector) &&
        strcmp(selector, "0") != 0)
        return hf_fail(HF_ENOENT, "no host device \"%s\"; known: 0: %s", selector,
                       info.name);
    host_device *device = calloc(1, sizeof *device);
    if (!device)
        return hf_fail(HF_ENOMEM, "no memory for a device");
    device->base = (hf_device){&hf_device_host, info};
    *out = &device->base;
    return HF_OK;
}

static void host_close(hf_device *base) {
    free(base);
}

static hf_status host_build(hf_device *base, const char *source, const char *options,
                            /* NOLINTNEXTLINE(readability-non-const-parameter) */
                            unsigned char **binary, size_t *bytes) {
    (void)base, (void)source, (void)options, (void)binary, (void)bytes;
    return hf_fail(HF_ENOTSUP, "device \"host\" compiles nothing: its kernels are C "
                               "functions of this library");
}

static hf_status host_load(hf_device *base, const char *name,
                           const unsigned char *binary, size_t bytes) {
    (void)binary, (void)bytes;
    for (const struct host_file *file = files; file->stem; file++)
        if (strcmp(file->stem, name) == 0) {
            ((host_device *)base)->file = file;
            return HF_OK;
        }
    return hf_fail(HF_ENOTSUP, "device \"host\" has no kernels \"%s\"", name);
}

static hf_status host_kernel(hf_kernel **out, hf_device *base, const char *name) {
    const struct host_file *file = ((host_device *)base)->file;
    assert(file);
    for (const hf_host_kernel *kernel = file->kernels; kernel->name; kernel++)
        if (strcmp(kernel->name, name) == 0) {
            *out = (hf_kernel *)kernel;
            return HF_OK;
        }
    return hf_fail(HF_EDEVICE, "the kernels \"%s\" have no \"%s\"", file->stem, name);
}

static void host_kernel_free(hf_kernel *kernel) {
    (void)kernel;
}

static hf_status host_wrap(hf_buffer **out, hf_device *base, void *memory,
                           size_t bytes) {
    (void)base;
    host_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return hf_fail(HF_ENOMEM, "no memory for a buffer");
    *buffer = (host_buffer){{.bytes = bytes, .host = memory}, true};
    *out = &buffer->base;
    return HF_OK;
}

static hf_status host_alloc(hf_buffer **out, hf_device *base, size_t bytes, int bank) {
    (void)bank;
    assert(bytes > 0);
    if (bytes > base->info.max_alloc)
        return hf_fail(HF_ENOMEM, "a buffer of %zu B does not fit host memory of %zu B",
                       bytes, base->info.memory);
    void *memory = hf_pages_new(bytes);
    hf_status status =
        memory ? host_wrap(out, base, memory, bytes)
               : hf_fail(HF_ENOMEM, "no host memory for a buffer of %zu B", bytes);
    if (status == HF_OK)
        ((host_buffer *)*out)->borrowed = false;
    else
        free(memory);
    return status;
}

static void host_free(hf_buffer *base) {
    host_buffer *buffer = (host_buffer *)base;
    if (buffer && !buffer->borrowed)
        free(base->host);
    free(buffer);
}

static hf_status host_write(hf_device *base, hf_buffer *to, size_t at, const void *from,
                            size_t bytes, hf_event **done) {
    (void)base;
    assert(bytes > 0 && at <= to->bytes && bytes <= to->bytes - at);
    memcpy((char *)to->host + at, from, bytes);
    if (done)
        *done = NULL;
    return HF_OK;
}

static hf_status host_read(hf_device *base, const hf_buffer *from, size_t at, void *to,
                           size_t bytes, hf_event **done) {
    (void)base;
    assert(bytes > 0 && at <= from->bytes && bytes <= from->bytes - at);
    memcpy(to, (const char *)from->host + at, bytes);
    if (done)
        *done = NULL;
    return HF_OK;
}

static hf_status host_map(hf_device *base, hf_buffer *buffer, void **address) {
    (void)base;
    *address = buffer->host;
    return HF_OK;
}

static hf_status host_unmap(hf_device *base, hf_buffer *buffer, void *address) {
    (void)base, (void)buffer, (void)address;
    return HF_OK;
}

/** What a C kernel takes: args[i] points at the value of argument i. */
static void args_point(void **args, const hf_launch *launch) {
    assert(launch->n_args <= MAX_ARGS);
    for (size_t i = 0; i < launch->n_args; i++) {
        const hf_arg *arg = &launch->args[i];
        args[i] = arg->buffer ? &arg->buffer->host : (void *)arg->value;
    }
}

static void task_free(host_task *task) {
    pthread_mutex_destroy(&task->lock);
    pthread_cond_destroy(&task->ended);
    free(task);
}

static void *task_run(void *context) {
    host_task *task = context;
    task->kernel->call(task->args, task->items);
    pthread_mutex_lock(&task->lock);
    task->done = true;
    pthread_cond_broadcast(&task->ended);
    pthread_mutex_unlock(&task->lock);
    return NULL;
}

/** A task with its own copy of the arguments; the caller's end with the launch. */
static host_task *task_new(const hf_launch *launch) {
    host_task *task = calloc(1, sizeof *task);
    if (!task)
        return NULL;
    pthread_mutex_init(&task->lock, NULL);
    hf_clock_condition(&task->ended);
    task->kernel = (const hf_host_kernel *)launch->kernel;
    task->items = launch->items ? launch->items : 1;
    assert(launch->n_args <= MAX_ARGS);
    for (size_t i = 0; i < launch->n_args; i++) {
        const hf_arg *arg = &launch->args[i];
        assert(arg->buffer || arg->bytes <= sizeof task->values[i]);
        if (arg->buffer)
            task->buffers[i] = arg->buffer->host;
        else
            memcpy(&task->values[i], arg->value, arg->bytes);
        task->args[i] = arg->buffer ? (void *)&task->buffers[i] : &task->values[i];
    }
    return task;
}

static hf_status host_launch(hf_device *base, const hf_launch *launch,
                             hf_event **done) {
    (void)base;
    const hf_host_kernel *kernel = (const hf_host_kernel *)launch->kernel;
    if (launch->lane > 0) {
        host_task *task = task_new(launch);
        if (!task || pthread_create(&task->thread, NULL, task_run, task) != 0) {
            if (task)
                task_free(task);
            return hf_fail(HF_ENOMEM, "no thread for kernel \"%s\"", kernel->name);
        }
        *done = (hf_event *)task;
        return HF_OK;
    }
    void *args[MAX_ARGS];
    args_point(args, launch);
    kernel->call(args, launch->items ? launch->items : 1);
    if (done)
        *done = NULL;
    return HF_OK;
}

static hf_status host_poll(hf_device *base, hf_event *event, double seconds,
                           bool *done) {
    (void)base;
    host_task *task = (host_task *)event;
    struct timespec until = hf_clock_after(seconds);
    int late = 0;
    pthread_mutex_lock(&task->lock);
    while (!task->done && !late)
        late = pthread_cond_timedwait(&task->ended, &task->lock, &until);
    *done = task->done;
    pthread_mutex_unlock(&task->lock);
    return HF_OK;
}

static hf_status host_wait(hf_device *base, hf_event *done) {
    (void)base;
    if (done) {
        pthread_join(((host_task *)done)->thread, NULL);
        task_free((host_task *)done);
    }
    return HF_OK;
}

static hf_status host_finish(hf_device *base) {
    (void)base;
    return HF_OK;
}

const hf_device_ops hf_device_host = {
    .name = "host",
    .summary = "host memory; kernels as C functions",
    .list = host_list,
    .open = host_open,
    .close = host_close,
    .build = host_build,
    .load = host_load,
    .kernel = host_kernel,
    .kernel_free = host_kernel_free,
    .alloc = host_alloc,
    .wrap = host_wrap,
    .free = host_free,
    .write = host_write,
    .read = host_read,
    .map = host_map,
    .unmap = host_unmap,
    .launch = host_launch,
    .poll = host_poll,
    .wait = host_wait,
    .finish = host_finish,
};
