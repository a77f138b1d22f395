/* opencl_launch.c - kernels of the runtime `opencl`: one by one, and side by side. */
#include "opencl.h"

#include <assert.h>

#include "core/clock.h"
#include "core/error.h"

enum { CLOSE_SECONDS = 2 };

hf_status hf_opencl_kernel(hf_kernel **out, hf_device *base, const char *name) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    assert(device->program);
    cl_int code;
    cl_kernel kernel = clCreateKernel(device->program, name, &code);
    if (code == CL_INVALID_KERNEL_NAME)
        return hf_fail(HF_EDEVICE, "the loaded program has no kernel \"%s\"", name);
    HF_TRY(hf_opencl_check(code, "clCreateKernel"));
    *out = (hf_kernel *)kernel;
    return HF_OK;
}

void hf_opencl_kernel_free(hf_kernel *kernel) {
    if (kernel)
        clReleaseKernel((cl_kernel)kernel);
}

/* ---- lanes ---- */

void hf_opencl_lanes_open(hf_opencl_device *device) {
    pthread_mutex_init(&device->lock, NULL);
    hf_clock_condition(&device->ended);
}

hf_status hf_opencl_lane(hf_opencl_device *device, size_t lane) {
    assert(lane < HF_LANES_MOST);
    if (device->lanes[lane])
        return HF_OK;
    cl_int code;
    device->lanes[lane] = clCreateCommandQueue(device->context, device->id, 0, &code);
    return hf_opencl_check(code, "clCreateCommandQueue");
}

/** Wait on `ended` until no kernel runs, or until `until`. */
static bool lanes_idle(hf_opencl_device *device, struct timespec until) {
    int late = 0;
    pthread_mutex_lock(&device->lock);
    while (device->running > 0 && !late)
        late = pthread_cond_timedwait(&device->ended, &device->lock, &until);
    bool idle = device->running == 0;
    pthread_mutex_unlock(&device->lock);
    return idle;
}

bool hf_opencl_lanes_close(hf_opencl_device *device) {
    if (!lanes_idle(device, hf_clock_after(CLOSE_SECONDS)))
        return false;
    for (size_t lane = 0; lane < HF_LANES_MOST; lane++)
        if (device->lanes[lane])
            clReleaseCommandQueue(device->lanes[lane]);
    pthread_mutex_destroy(&device->lock);
    pthread_cond_destroy(&device->ended);
    return true;
}

static void CL_CALLBACK kernel_ended(cl_event event, cl_int state, void *context) {
    hf_opencl_device *device = context;
    (void)event, (void)state;
    pthread_mutex_lock(&device->lock);
    device->running--;
    device->endings++;
    pthread_cond_broadcast(&device->ended);
    pthread_mutex_unlock(&device->lock);
}

/* ---- launches ---- */

/* A kernel that a user gave may want other arguments than we set. */
static hf_status args_check(cl_kernel kernel, const hf_launch *launch, cl_int code,
                            const char *call) {
    char name[128] = "";
    cl_uint n = (cl_uint)launch->n_args;
    if (code == CL_SUCCESS)
        return HF_OK;
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
    if (n == launch->n_args)
        return hf_opencl_check(code, call);
    return hf_fail(HF_EARG, "kernel \"%s\" takes %u arguments, not %zu", name, n,
                   launch->n_args);
}

static hf_status args_set(cl_kernel kernel, const hf_launch *launch) {
    for (size_t i = 0; i < launch->n_args; i++) {
        const hf_arg *arg = &launch->args[i];
        cl_int code = arg->buffer
                          ? clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem),
                                           &((hf_opencl_buffer *)arg->buffer)->mem)
                          : clSetKernelArg(kernel, (cl_uint)i, arg->bytes, arg->value);
        HF_TRY(args_check(kernel, launch, code, "clSetKernelArg"));
    }
    return HF_OK;
}

/** Have `ended` signalled when the event's kernel ends. */
static hf_status event_watch(hf_opencl_device *device, cl_event event) {
    pthread_mutex_lock(&device->lock);
    device->running++;
    pthread_mutex_unlock(&device->lock);
    cl_int code = clSetEventCallback(event, CL_COMPLETE, kernel_ended, device);
    if (code != CL_SUCCESS)
        kernel_ended(event, code, device);
    return hf_opencl_check(code, "clSetEventCallback");
}

hf_status hf_opencl_launch(hf_device *base, const hf_launch *launch, hf_event **done) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    cl_kernel kernel = (cl_kernel)launch->kernel;
    HF_TRY(hf_opencl_lane(device, launch->lane));
    cl_command_queue queue = device->lanes[launch->lane];
    HF_TRY(args_set(kernel, launch));
    cl_event event;
    if (launch->items <= 1)
        HF_TRY(args_check(kernel, launch, clEnqueueTask(queue, kernel, 0, NULL, &event),
                          "clEnqueueTask"));
    else
        HF_TRY(args_check(kernel, launch,
                          clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &launch->items,
                                                 launch->group ? &launch->group : NULL,
                                                 0, NULL, &event),
                          "clEnqueueNDRangeKernel"));
    if (!done)
        return hf_opencl_wait(base, (hf_event *)event);
    hf_status status = launch->lane > 0 ? event_watch(device, event) : HF_OK;
    if (status == HF_OK)
        status = hf_opencl_check(clFlush(queue), "clFlush");
    if (status == HF_OK)
        *done = (hf_event *)event;
    else
        clReleaseEvent(event);
    return status;
}

static cl_int event_state(cl_event event) {
    cl_int state = CL_COMPLETE;
    cl_int code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                 &state, NULL);
    return code == CL_SUCCESS ? state : code;
}

hf_status hf_opencl_poll(hf_device *base, hf_event *event, double seconds, bool *done) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    struct timespec until = hf_clock_after(seconds);
    int late = 0;
    for (;;) {
        pthread_mutex_lock(&device->lock);
        size_t endings = device->endings;
        pthread_mutex_unlock(&device->lock);
        /* Without the lock: the runtime may hold its own while it calls kernel_ended. */
        *done = event_state((cl_event)event) <= CL_COMPLETE;
        if (*done || late)
            return HF_OK;
        pthread_mutex_lock(&device->lock);
        while (device->endings == endings && !late)
            late = pthread_cond_timedwait(&device->ended, &device->lock, &until);
        pthread_mutex_unlock(&device->lock);
    }
}

hf_status hf_opencl_wait(hf_device *base, hf_event *done) {
    (void)base;
    cl_event event = (cl_event)done;
    cl_int code = clWaitForEvents(1, &event), state = event_state(event);
    if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && state < 0)
        code = state;
    clReleaseEvent(event);
    return hf_opencl_check(code, "clWaitForEvents");
}
