/* host.c - the runtime `host`: plain memory; kernels are C functions of this library. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/error.h"
#include "core/host_memory.h"
#include "core/kernel_info.h"
#include "core/pages.h"
#include "host_queue.h"

extern const hf_device_ops hf_device_host;

typedef struct host_device {
    hf_device base;
    const hf_kernel_info *kernels; /**< of the loaded file, or NULL */
    struct host_buffer *kept; /**< freed once a command of the broken device ends */
} host_device;

typedef struct host_buffer {
    hf_buffer base;
    host_device *device;
    bool borrowed; /**< over the caller's memory */
    struct host_buffer *next;
} host_buffer;

static hf_device_info host_info(void) {
    hf_device_info info = {.runtime = "host",
                           .platform = "host",
                           .type = HF_CPU,
                           .emulated = true,
                           .fp64 = true,
                           .items = 1,
                           .workers = HF_MAX_QUEUES - 1,
                           .ports = HF_PORTS_MEMORY,
                           .kernels = HF_MAX_QUEUES - 1,
                           .more_kernels = ""};
    struct utsname system;
    if (uname(&system) == 0) {
        snprintf(info.name, sizeof info.name, "%.64s", system.machine);
        snprintf(info.version, sizeof info.version, "%.40s %.80s", system.sysname,
                 system.release);
    }
    info.half = hf_kernels_typed("half");
    info.memory = info.max_alloc = hf_host_memory_of("").all;
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
    hf_device_type type;
    bool cpu = hf_device_type_named(&type, selector) && type == info.type;
    if (!cpu && !strstr(info.platform, selector) && !strstr(info.name, selector) &&
        strcmp(selector, "0") != 0)
        return hf_fail(HF_ENOENT, "no host device \"%s\"; known: 0: %s", selector,
                       info.name);
    host_device *device = calloc(1, sizeof *device);
    if (!device)
        return hf_fail(HF_ENOMEM, "no memory for a device");
    device->base =
        (hf_device){.ops = &hf_device_host, .info = info, .deadline = HF_DEADLINE};
    hf_status status = hf_host_queues_new(&device->base);
    if (status == HF_OK)
        *out = &device->base;
    else
        free(device);
    return status;
}

static void buffer_free(host_buffer *buffer) {
    if (!buffer->borrowed)
        free(buffer->base.host);
    free(buffer);
}

static void host_close(hf_device *base) {
    host_device *device = (host_device *)base;
    if (!device || !hf_host_queues_free(base))
        return;
    for (host_buffer *buffer; (buffer = device->kept);) {
        device->kept = buffer->next;
        buffer_free(buffer);
    }
    free(device);
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
    const hf_kernel_info *kernels = hf_kernels_of(name);
    if (!kernels)
        return hf_fail(HF_ENOTSUP, "device \"host\" has no kernels \"%s\"", name);
    ((host_device *)base)->kernels = kernels;
    return HF_OK;
}

static hf_status host_kernel(hf_kernel **out, hf_device *base, const char *name,
                             unsigned unit) {
    (void)unit;
    const hf_kernel_info *kernel = ((host_device *)base)->kernels;
    assert(kernel);
    for (; kernel->name; kernel++)
        if (strcmp(kernel->name, name) == 0) {
            *out = (hf_kernel *)kernel;
            return HF_OK;
        }
    return hf_fail(HF_EDEVICE, "the loaded kernels have no \"%s\"", name);
}

static void host_kernel_free(hf_kernel *kernel) {
    (void)kernel;
}

static hf_status buffer_new(hf_buffer **out, hf_device *base, void *memory,
                            size_t bytes) {
    HF_TRY(hf_device_check(base));
    host_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return hf_fail(HF_ENOMEM, "no memory for a buffer");
    *buffer = (host_buffer){.base = {.bytes = bytes, .host = memory},
                            .device = (host_device *)base,
                            .borrowed = true};
    *out = &buffer->base;
    return HF_OK;
}

static hf_status host_alloc(hf_buffer **out, hf_device *base, size_t bytes,
                            const hf_spot *spot) {
    (void)spot;
    assert(bytes > 0);
    if (bytes > base->info.max_alloc)
        return hf_fail(HF_ENOMEM, "a buffer of %zu B does not fit host memory of %zu B",
                       bytes, base->info.memory);
    void *memory = hf_pages_new(bytes);
    hf_status status =
        memory ? buffer_new(out, base, memory, bytes)
               : hf_fail(HF_ENOMEM, "no host memory for a buffer of %zu B", bytes);
    if (status == HF_OK)
        ((host_buffer *)*out)->borrowed = false;
    else
        free(memory);
    return status;
}

static hf_status host_memory(hf_buffer **out, hf_device *base, void *memory,
                             size_t bytes) {
    return memory ? buffer_new(out, base, memory, bytes)
                  : host_alloc(out, base, bytes, NULL);
}

static void host_free(hf_buffer *base) {
    host_buffer *buffer = (host_buffer *)base;
    if (!buffer)
        return;
    if (buffer->device->base.broken) {
        buffer->next = buffer->device->kept;
        buffer->device->kept = buffer;
    } else {
        buffer_free(buffer);
    }
}

static hf_status copy_run(const hf_host_task *task) {
    memcpy(task->to, task->from, task->bytes);
    return HF_OK;
}

/* A copy whose caller waits for it anyway needs no thread. */
static hf_status bytes_copy(hf_device *base, void *to, const void *from, size_t bytes,
                            const hf_order *order, hf_event **done) {
    const hf_host_task task = {.run = copy_run, .to = to, .from = from, .bytes = bytes};
    return done ? hf_host_start(base, &task, order, done)
                : hf_host_now(base, &task, order, copy_run);
}

static hf_status host_write(hf_device *base, hf_buffer *to, size_t at, const void *from,
                            size_t bytes, const hf_order *order, hf_event **done) {
    assert(bytes > 0 && at <= to->bytes && bytes <= to->bytes - at);
    return bytes_copy(base, (char *)to->host + at, from, bytes, order, done);
}

static hf_status host_read(hf_device *base, const hf_buffer *from, size_t at, void *to,
                           size_t bytes, const hf_order *order, hf_event **done) {
    assert(bytes > 0 && at <= from->bytes && bytes <= from->bytes - at);
    return bytes_copy(base, to, (const char *)from->host + at, bytes, order, done);
}

static hf_status host_copy(hf_device *base, hf_buffer *to, size_t to_at,
                           const hf_buffer *from, size_t from_at, size_t bytes,
                           const hf_order *order, hf_event **done) {
    assert(to_at <= to->bytes && bytes <= to->bytes - to_at);
    return host_read(base, from, from_at, (char *)to->host + to_at, bytes, order, done);
}

static hf_status kernel_run(const hf_host_task *task) {
    const hf_kernel_info *kernel = task->context;
    void *values[HF_HOST_ARGS];
    for (size_t i = 0; i < task->n_args; i++)
        values[i] = (void *)&task->args[i];
    kernel->call(values, task->items);
    return HF_OK;
}

static hf_status host_launch(hf_device *base, const hf_launch *launch,
                             const hf_order *order, hf_event **done) {
    const hf_kernel_info *kernel = (const hf_kernel_info *)launch->kernel;
    HF_TRY(hf_launch_check(kernel, launch));
    hf_host_arg args[HF_HOST_ARGS] = {{0}};
    const hf_host_task task = {.run = kernel_run,
                               .kernel = kernel->name,
                               .context = launch->kernel,
                               .items = launch->items ? launch->items : 1,
                               .n_args = launch->n_args,
                               .args = args};
    assert(launch->n_args <= HF_HOST_ARGS);
    for (size_t i = 0; i < launch->n_args; i++) {
        const hf_arg *arg = &launch->args[i];
        assert(arg->buffer || arg->bytes <= sizeof args[i]);
        if (arg->buffer)
            args[i].address = arg->buffer->host;
        else
            memcpy(&args[i], arg->value, arg->bytes);
    }
    return hf_host_start(base, &task, order, done);
}

static hf_status host_map(hf_device *base, hf_buffer *buffer, void **address) {
    HF_TRY(hf_host_drain(base, NULL));
    *address = buffer->host;
    return HF_OK;
}

static hf_status host_unmap(hf_device *base, hf_buffer *buffer, void *address) {
    (void)base, (void)buffer, (void)address;
    return HF_OK;
}

const hf_device_ops hf_device_host = {
    .name = "host",
    .summary = "host memory; kernels as C functions",
    .programs = "none",
    .list = host_list,
    .open = host_open,
    .close = host_close,
    .build = host_build,
    .load = host_load,
    .kernel = host_kernel,
    .kernel_free = host_kernel_free,
    .alloc = host_alloc,
    .wrap = host_memory,
    .pin = host_memory,
    .free = host_free,
    .write = host_write,
    .read = host_read,
    .copy = host_copy,
    .launch = host_launch,
    .mark = hf_host_mark,
    .map = host_map,
    .unmap = host_unmap,
    .test = hf_host_test,
    .wait = hf_host_wait,
    .finish = hf_host_finish,
    .idle = hf_host_idle,
    .profile = hf_host_profile,
    .times = hf_host_times,
    .host_clock = true,
};
