/* opencl_launch.c - kernels of the runtime `opencl`. */
#include "opencl.h"

#include <assert.h>
#include <stdio.h>

#include "core/error.h"
#include "core/text.h"

hf_status hf_opencl_kernel(hf_kernel **out, hf_device *base, const char *name,
                           unsigned unit) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    assert(device->program);
    cl_int code;
    char unit_name[160];
    if (unit > 0 && hf_text_contains(base->info.platform, "Xilinx")) {
        snprintf(unit_name, sizeof unit_name, "%s:{%s_%u}", name, name, unit);
        name = unit_name;
    }
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

/* A kernel that a user gave may want other arguments than we set. `i` is the argument that
 * was refused, or n_args. */
static hf_status args_check(hf_device *base, const hf_launch *launch, size_t i,
                            cl_int code, const char *call) {
    const hf_opencl_device *device = (const hf_opencl_device *)base;
    cl_kernel kernel = (cl_kernel)launch->kernel;
    char name[128] = "";
    cl_uint n = (cl_uint)launch->n_args;
    if (code == CL_SUCCESS)
        return HF_OK;
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
    if (n != launch->n_args)
        return hf_fail(HF_EARG, "kernel \"%s\" takes %u arguments, not %zu", name, n,
                       launch->n_args);
    if (i == launch->n_args)
        return hf_opencl_check(code, call);
    return hf_fail(HF_EARG, "kernel \"%s\", argument %zu, \"%s\": %s: %s", name, i,
                   hf_arg_name(device->kernels, name, i), call, hf_opencl_code(code));
}

static hf_status args_set(hf_device *base, const hf_launch *launch) {
    cl_kernel kernel = (cl_kernel)launch->kernel;
    for (size_t i = 0; i < launch->n_args; i++) {
        const hf_arg *arg = &launch->args[i];
        cl_int code = arg->buffer
                          ? clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem),
                                           &((hf_opencl_buffer *)arg->buffer)->mem)
                          : clSetKernelArg(kernel, (cl_uint)i, arg->bytes, arg->value);
        HF_TRY(args_check(base, launch, i, code, "clSetKernelArg"));
    }
    return HF_OK;
}

hf_status hf_opencl_launch(hf_device *base, const hf_launch *launch,
                           const hf_order *order, hf_event **done) {
    const hf_opencl_device *device = (const hf_opencl_device *)base;
    cl_kernel kernel = (cl_kernel)launch->kernel;
    hf_opencl_command command;
    HF_TRY(args_set(base, launch));
    /* commands that keep times have events */
    HF_TRY(!done && order && order->no_event && !device->properties
               ? hf_opencl_begin_without(&command, base, order)
               : hf_opencl_begin(&command, base, order));
    const cl_event *after = hf_opencl_after(&command);
    cl_event *own = hf_opencl_own(&command);
    bool once = launch->items <= 1;
    cl_int code =
        once ? clEnqueueTask(command.queue, kernel, command.n_after, after, own)
             : clEnqueueNDRangeKernel(command.queue, kernel, 1, NULL, &launch->items,
                                      launch->group ? &launch->group : NULL,
                                      command.n_after, after, own);
    const char *call = once ? "clEnqueueTask" : "clEnqueueNDRangeKernel";
    hf_status status = hf_opencl_end(&command, code, call, kernel, done);
    return code == CL_SUCCESS ? status
                              : args_check(base, launch, launch->n_args, code, call);
}
