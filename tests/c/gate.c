/* gate.c - the device of gate.h, and a runtime whose calls return early. */
#define CL_TARGET_OPENCL_VERSION 120
#include "gate.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/pages.h"
#include "opencl.h"

const hf_device_ops *ops;
bool looks, early, ordered, fails, unflushed;
size_t flushes, questions, reads;
hf_device *device;
hf_kernel *gate, *set;
volatile uint32_t *words;
hf_buffer *shared;

/* ---- kernels ---- */

static const char source[] =
    "__kernel void gate(volatile __global uint *words, uint value) {"
    "    while (words[0] == 0) {}"
    "    words[1] = value;"
    "}"
    "__kernel void set(__global uint *words, uint value) { words[1] = value; }";

static void gate_call(void *const *args, size_t items) {
    volatile uint32_t *at = *(volatile uint32_t **)args[0];
    (void)items;
    while (__atomic_load_n(&at[OPEN], __ATOMIC_ACQUIRE) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    at[PASSED] = *(const uint32_t *)args[1];
}

static void set_call(void *const *args, size_t items) {
    (void)items;
    (*(uint32_t **)args[0])[PASSED] = *(const uint32_t *)args[1];
}

void device_open(void) {
    static const hf_arg_info args[] = {{"words", HF_ARG_WRITE, sizeof(uint32_t), 0},
                                       {"value", HF_ARG_VALUE, sizeof(uint32_t), 0}};
    static const hf_kernel_info on_host[] = {
        {.name = "gate", .args = args, .n_args = 2, .call = gate_call},
        {.name = "set", .args = args, .n_args = 2, .call = set_call}};
    unsigned char *binary;
    size_t bytes;
    /* PoCL: the host opens the gate while the kernel looks at the same memory. */
    OK(ops->open(&device, ops == &hf_device_host ? "" : "Portable", 0, NULL));
    device->deadline = 20;
    device->info.emulated = !looks;
    if (ops == &hf_device_host) {
        gate = (hf_kernel *)&on_host[0];
        set = (hf_kernel *)&on_host[1];
    } else {
        OK(ops->build(device, source, "", &binary, &bytes));
        OK(ops->load(device, "queues", binary, bytes));
        free(binary);
        OK(ops->kernel(&gate, device, "gate", 0));
        OK(ops->kernel(&set, device, "set", 2));
    }
    uint32_t *memory = hf_pages_new(BYTES);
    memset(memory, 0, BYTES);
    words = memory;
    OK(ops->wrap(&shared, device, memory, BYTES));
    if (looks) {
        device->info.type = HF_GPU;
        OK(hf_opencl_probe_take((hf_opencl_device *)device));
    }
}

/* A device stays where its kernel never ends: what it may still use has to be reachable. */
static hf_device *stays[2];
static size_t n_stay;

void device_close(void) {
    bool stuck = device->broken && !words[OPEN];
    if (stuck && n_stay < sizeof stays / sizeof *stays)
        stays[n_stay++] = device;
    ops->free(shared);
    ops->kernel_free(gate);
    ops->kernel_free(set);
    ops->close(device);
    if (!stuck)
        free((void *)words);
}

hf_status launch(hf_kernel *kernel, uint32_t value, const hf_order *order,
                 hf_event **done) {
    const hf_arg args[] = {{.buffer = shared},
                           {.value = &value, .bytes = sizeof value}};
    return device->ops->launch(
        device, &(hf_launch){.kernel = kernel, .args = args, .n_args = 2}, order, done);
}

void gate_open(void) {
    __atomic_store_n(&words[OPEN], 1, __ATOMIC_RELEASE);
}

/* ---- a runtime whose calls return early ---- */

static void *event_open_later(void *event) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    clSetUserEventStatus(event, CL_COMPLETE);
    clReleaseEvent(event);
    return NULL;
}

#define WRITE_PARAMETERS                                                       \
    (cl_command_queue queue, cl_mem to, cl_bool wait, size_t at, size_t bytes, \
     const void *from, cl_uint n, const cl_event *after, cl_event *event)
cl_int __real_clEnqueueWriteBuffer WRITE_PARAMETERS;
cl_int __wrap_clEnqueueWriteBuffer WRITE_PARAMETERS;
cl_int __wrap_clEnqueueWriteBuffer WRITE_PARAMETERS {
    static char copied[BYTES];
    cl_context context;
    pthread_t opener;
    if (!early || !wait)
        return __real_clEnqueueWriteBuffer(queue, to, wait, at, bytes, from, n, after,
                                           event);
    CHECK(bytes <= BYTES && n == 0);
    memcpy(copied, from, bytes);
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    cl_event later = clCreateUserEvent(context, NULL);
    cl_int code = __real_clEnqueueWriteBuffer(queue, to, CL_FALSE, at, bytes, copied, 1,
                                              &later, event);
    CHECK(pthread_create(&opener, NULL, event_open_later, later) == 0);
    pthread_detach(opener);
    return code;
}

#define INFO_PARAMETERS \
    (cl_event event, cl_event_info what, size_t bytes, void *value, size_t *size)
cl_int __real_clGetEventInfo INFO_PARAMETERS;
cl_int __wrap_clGetEventInfo INFO_PARAMETERS;
cl_int __wrap_clGetEventInfo INFO_PARAMETERS {
    cl_command_type type;
    cl_int code = __real_clGetEventInfo(event, what, bytes, value, size);
    __real_clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    if (ordered && type == CL_COMMAND_NDRANGE_KERNEL &&
        what == CL_EVENT_COMMAND_EXECUTION_STATUS && !words[OPEN])
        *(cl_int *)value = CL_RUNNING;
    if (fails && what == CL_EVENT_COMMAND_EXECUTION_STATUS) {
        *(cl_int *)value = CL_OUT_OF_RESOURCES;
        fails = false;
    }
    questions++;
    return code;
}

#define READ_PARAMETERS                                                          \
    (cl_command_queue queue, cl_mem from, cl_bool wait, size_t at, size_t bytes, \
     void *to, cl_uint n, const cl_event *after, cl_event *event)
cl_int __real_clEnqueueReadBuffer READ_PARAMETERS;
cl_int __wrap_clEnqueueReadBuffer READ_PARAMETERS;
cl_int __wrap_clEnqueueReadBuffer READ_PARAMETERS {
    reads++;
    return __real_clEnqueueReadBuffer(queue, from, wait, at, bytes, to, n, after,
                                      event);
}

cl_int __real_clFlush(cl_command_queue queue);
cl_int __wrap_clFlush(cl_command_queue queue);
cl_int __wrap_clFlush(cl_command_queue queue) {
    cl_int code = __real_clFlush(queue);
    flushes++;
    return unflushed ? CL_INVALID_COMMAND_QUEUE : code;
}

void *gate_open_later(void *unused) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    gate_open();
    return unused;
}

bool has_ended(hf_event *event, double seconds) {
    bool ended = false;
    OK(ops->test(device, event, seconds, &ended));
    return ended;
}

void words_clear(void) {
    for (size_t i = 0; i < WORDS; i++)
        words[i] = 0;
}
