/* opencl_relay.c - the kernel of relay_ndrange.cl, where kernels may work in pinned memory while
 * the host and other devices do. OpenCL 1.2 does not promise that. So it is tried, in a context of
 * its own: a kernel that must not touch the memory breaks no other.
 */
#include "opencl.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/pages.h"
#include "core/text.h"

/* What a trial holds. */
typedef struct trial {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem pinned;
    cl_event ended;
    _Atomic uint32_t
        *words; /* a page: the kernel's word, the host's, what the kernel saw */
} trial;

static const double TRIAL_SECONDS = 1; /* longest wait for the kernel's word [s] */

static cl_int trial_make(trial *t, const hf_opencl_device *device,
                         const unsigned char *binary, size_t bytes) {
    cl_int code;
    t->words = aligned_alloc(HF_PAGE, HF_PAGE);
    if (!t->words)
        return CL_OUT_OF_HOST_MEMORY;
    for (int i = 0; i < 3; i++)
        atomic_init(&t->words[i], 0);
    t->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    if (code == CL_SUCCESS)
        t->queue = clCreateCommandQueue(t->context, device->id, 0, &code);
    if (code == CL_SUCCESS)
        code = hf_opencl_program(&t->program, t->context, device->id, binary, bytes);
    if (code == CL_SUCCESS)
        t->kernel = clCreateKernel(t->program, "relay_probe", &code);
    if (code == CL_SUCCESS)
        t->pinned = clCreateBuffer(t->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   HF_PAGE, t->words, &code);
    return code;
}

/* Wait until the kernel has told its word, or has ended. */
static bool trial_hears(const trial *t) {
    double start = hf_clock_now();
    cl_int state = CL_QUEUED;
    while (atomic_load(&t->words[0]) != 1 && state > CL_COMPLETE &&
           hf_clock_now() - start < TRIAL_SECONDS)
        clGetEventInfo(t->ended, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                       &state, NULL);
    return atomic_load(&t->words[0]) == 1 && state > CL_COMPLETE;
}

/* The kernel looks for the host's word so many times: for some milliseconds at least. */
static bool trial_run(trial *t, bool host) {
    cl_int code;
    cl_ulong word = (cl_ulong)(uintptr_t)t->words;
    cl_uint looks = host ? 1U << 28 : 1U << 16;
    void *mapped =
        clEnqueueMapBuffer(t->queue, t->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                           HF_PAGE, 0, NULL, NULL, &code);
    if (code != CL_SUCCESS || mapped != (void *)t->words ||
        clSetKernelArg(t->kernel, 0, sizeof word, &word) != CL_SUCCESS ||
        clSetKernelArg(t->kernel, 1, sizeof looks, &looks) != CL_SUCCESS ||
        clEnqueueTask(t->queue, t->kernel, 0, NULL, &t->ended) != CL_SUCCESS ||
        clFlush(t->queue) != CL_SUCCESS)
        return false;
    bool hears = trial_hears(t);
    atomic_store(&t->words[1], 2);
    return clFinish(t->queue) == CL_SUCCESS && hears && atomic_load(&t->words[2]) == 2;
}

static void trial_end(trial *t) {
    if (t->ended)
        clReleaseEvent(t->ended);
    if (t->pinned)
        clReleaseMemObject(t->pinned);
    if (t->kernel)
        clReleaseKernel(t->kernel);
    if (t->program)
        clReleaseProgram(t->program);
    if (t->queue)
        clReleaseCommandQueue(t->queue);
    if (t->context)
        clReleaseContext(t->context);
    free(t->words);
}

static bool is_cpu(const hf_opencl_device *device) {
    cl_device_type type = 0;
    clGetDeviceInfo(device->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return (type & CL_DEVICE_TYPE_CPU) != 0;
}

/* Kernels of a CPU are code of this process. NVIDIA's have one address space with the host; of
 * others a kernel that goes astray may end the process, so they are not tried. */
bool hf_opencl_may_relay(const hf_opencl_device *device) {
    return is_cpu(device) || hf_text_contains(device->base.info.platform, "NVIDIA");
}

static hf_status refused(const hf_device *base, cl_int code) {
    return code == CL_SUCCESS
               ? HF_OK
               : hf_fail(HF_EDEVICE,
                         "device \"%s\" does not take the kernels of \"relay\": %s",
                         base->info.name, hf_opencl_code(code));
}

hf_status hf_opencl_relay(hf_device *base, const unsigned char *binary, size_t bytes) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    trial t = {0};
    hf_opencl_relay_free(device); /* one that was taken before */
    cl_int code = trial_make(&t, device, binary, bytes);
    bool sees = code == CL_SUCCESS && trial_run(&t, is_cpu(device));
    trial_end(&t);
    HF_TRY(refused(base, code));
    if (!sees)
        return hf_fail(HF_ENOTSUP,
                       "kernels of device \"%s\" do not see memory of the host as it "
                       "changes",
                       base->info.name);
    code =
        hf_opencl_program(&device->relay, device->context, device->id, binary, bytes);
    if (code == CL_SUCCESS)
        base->relay = (hf_kernel *)clCreateKernel(device->relay, "relay", &code);
    return refused(base, code);
}

void hf_opencl_relay_free(hf_opencl_device *device) {
    if (device->base.relay)
        clReleaseKernel((cl_kernel)device->base.relay);
    if (device->relay)
        clReleaseProgram(device->relay);
    device->base.relay = NULL;
    device->relay = NULL;
}
