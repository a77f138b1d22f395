/* opencl.c - the runtime `opencl`: any device of any OpenCL 1.2 platform.
 *
 * An hf_kernel is a cl_kernel and an hf_event a cl_event, so that a launch or a copy
 * allocates nothing here.
 */
#include "opencl.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

const char *hf_opencl_code(cl_int code) {
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
#define NAME(code) {code, #code}
        NAME(CL_DEVICE_NOT_FOUND),
        NAME(CL_DEVICE_NOT_AVAILABLE),
        NAME(CL_COMPILER_NOT_AVAILABLE),
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        NAME(CL_OUT_OF_RESOURCES),
        NAME(CL_OUT_OF_HOST_MEMORY),
        NAME(CL_MEM_COPY_OVERLAP),
        NAME(CL_BUILD_PROGRAM_FAILURE),
        NAME(CL_MAP_FAILURE),
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAME(CL_LINKER_NOT_AVAILABLE),
        NAME(CL_LINK_PROGRAM_FAILURE),
        NAME(CL_INVALID_VALUE),
        NAME(CL_INVALID_PLATFORM),
        NAME(CL_INVALID_DEVICE),
        NAME(CL_INVALID_CONTEXT),
        NAME(CL_INVALID_COMMAND_QUEUE),
        NAME(CL_INVALID_HOST_PTR),
        NAME(CL_INVALID_MEM_OBJECT),
        NAME(CL_INVALID_BINARY),
        NAME(CL_INVALID_BUILD_OPTIONS),
        NAME(CL_INVALID_PROGRAM),
        NAME(CL_INVALID_PROGRAM_EXECUTABLE),
        NAME(CL_INVALID_KERNEL_NAME),
        NAME(CL_INVALID_KERNEL),
        NAME(CL_INVALID_ARG_INDEX),
        NAME(CL_INVALID_ARG_VALUE),
        NAME(CL_INVALID_ARG_SIZE),
        NAME(CL_INVALID_KERNEL_ARGS),
        NAME(CL_INVALID_WORK_GROUP_SIZE),
        NAME(CL_INVALID_GLOBAL_WORK_SIZE),
        NAME(CL_INVALID_EVENT),
        NAME(CL_INVALID_OPERATION),
        NAME(CL_INVALID_BUFFER_SIZE),
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return "unknown OpenCL error";
}

hf_status hf_opencl_check(cl_int code, const char *call) {
    switch (code) {
    case CL_SUCCESS:
        return HF_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
        return hf_fail(HF_ENOMEM, "%s: %s", call, hf_opencl_code(code));
    default:
        return hf_fail(HF_EDEVICE, "%s: %s (%d)", call, hf_opencl_code(code), code);
    }
}

bool hf_opencl_contains(const char *text, const char *part) {
    for (;; text++) {
        size_t i = 0;
        while (part[i] &&
               tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (!part[i])
            return true;
        if (!*text)
            return false;
    }
}

static void opencl_close(hf_device *base) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    if (!device || !hf_opencl_lanes_close(device))
        return;
    hf_opencl_unload(device);
    if (device->context)
        clReleaseContext(device->context);
    free(device);
}

static hf_status opencl_make(hf_device **out, const hf_opencl_entry *entry) {
    hf_opencl_device *device = calloc(1, sizeof *device);
    if (!device)
        return hf_fail(HF_ENOMEM, "no memory for a device");
    device->base = (hf_device){&hf_device_opencl, entry->info};
    device->id = entry->id;
    hf_opencl_lanes_open(device);
    hf_status status = hf_opencl_context(device);
    if (status == HF_OK)
        status = hf_opencl_lane(device, 0);
    if (status != HF_OK) {
        opencl_close(&device->base);
        return status;
    }
    *out = &device->base;
    return HF_OK;
}

static hf_status opencl_open(hf_device **out, const char *selector, int local_rank,
                             const hf_vendors *vendors) {
    hf_opencl_entry entry;
    hf_opencl_loading(vendors, true);
    hf_status status = hf_opencl_pick(&entry, selector, local_rank, vendors);
    if (status == HF_OK)
        status = opencl_make(out, &entry);
    hf_opencl_loading(vendors, false);
    return status;
}

enum { INTEL_BANKS = 7 }; /* that flags can name; others are for kernels to name */

/* A buffer in a memory bank, in the ways of the FPGAs' vendors; others have no banks. */
static cl_mem buffer_create(const hf_opencl_device *device, size_t bytes, int bank,
                            cl_int *code) {
    struct { /* cl_mem_ext_ptr_t of Xilinx */
        unsigned flags;
        void *host, *param;
    } xilinx = {.flags = (unsigned)bank | 1U << 31};
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    void *host = NULL;
    const char *platform = device->base.info.platform;
    if (bank >= 0 && hf_opencl_contains(platform, "FPGA SDK")) {
        flags |= (cl_mem_flags)(bank + 1) << 16; /* CL_CHANNEL_<n>_INTELFPGA */
    } else if (bank >= 0 && hf_opencl_contains(platform, "Xilinx")) {
        flags |= (cl_mem_flags)1 << 31; /* CL_MEM_EXT_PTR_XILINX */
        host = &xilinx;
    }
    return clCreateBuffer(device->context, flags, bytes, host, code);
}

static hf_status opencl_alloc(hf_buffer **out, hf_device *base, size_t bytes,
                              int bank) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    const hf_device_info *info = &base->info;
    assert(bytes > 0);
    if (bytes > info->max_alloc || bytes > info->memory)
        return hf_fail(
            HF_ENOMEM,
            "a buffer of %zu B does not fit device \"%s\": at most %zu B per "
            "buffer, %zu B in all",
            bytes, info->name, info->max_alloc, info->memory);
    if (bank >= INTEL_BANKS && hf_opencl_contains(info->platform, "FPGA SDK"))
        return hf_fail(HF_EARG,
                       "bank %d: this runtime places buffers in banks 0 to %d; build "
                       "kernels with buffer_location for others",
                       bank, INTEL_BANKS - 1);
    hf_opencl_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return hf_fail(HF_ENOMEM, "no memory for a buffer");
    cl_int code;
    buffer->base.bytes = bytes;
    buffer->mem = buffer_create(device, bytes, bank, &code);
    if (code != CL_SUCCESS) {
        free(buffer);
        return hf_opencl_check(code, "clCreateBuffer");
    }
    *out = &buffer->base;
    return HF_OK;
}

static hf_status opencl_wrap(hf_buffer **out, hf_device *base, void *memory,
                             size_t bytes) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    if (base->info.type != HF_CPU)
        return hf_fail(HF_ENOTSUP, "device \"%s\" does not work in host memory",
                       base->info.name);
    hf_opencl_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return hf_fail(HF_ENOMEM, "no memory for a buffer");
    cl_int code;
    buffer->base = (hf_buffer){.bytes = bytes, .host = memory};
    buffer->mem = clCreateBuffer(
        device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, memory, &code);
    if (code != CL_SUCCESS) {
        free(buffer);
        return hf_opencl_check(code, "clCreateBuffer");
    }
    *out = &buffer->base;
    return HF_OK;
}

static void opencl_free(hf_buffer *base) {
    hf_opencl_buffer *buffer = (hf_opencl_buffer *)base;
    if (buffer)
        clReleaseMemObject(buffer->mem);
    free(buffer);
}

/** Hand a command's event to the caller and see that the command starts. */
static hf_status event_pass(hf_opencl_device *device, cl_event event, hf_event **done) {
    cl_int code = clFlush(device->lanes[0]);
    if (code != CL_SUCCESS) {
        clReleaseEvent(event);
        return hf_opencl_check(code, "clFlush");
    }
    *done = (hf_event *)event;
    return HF_OK;
}

static hf_status opencl_write(hf_device *base, hf_buffer *to, size_t at,
                              const void *from, size_t bytes, hf_event **done) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    cl_mem mem = ((hf_opencl_buffer *)to)->mem;
    cl_event event = NULL;
    assert(bytes > 0 && at <= to->bytes && bytes <= to->bytes - at);
    HF_TRY(hf_opencl_check(clEnqueueWriteBuffer(device->lanes[0], mem, done == NULL, at,
                                                bytes, from, 0, NULL,
                                                done ? &event : NULL),
                           "clEnqueueWriteBuffer"));
    return done ? event_pass(device, event, done) : HF_OK;
}

static hf_status opencl_read(hf_device *base, const hf_buffer *from, size_t at,
                             void *to, size_t bytes, hf_event **done) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    cl_mem mem = ((const hf_opencl_buffer *)from)->mem;
    cl_event event = NULL;
    assert(bytes > 0 && at <= from->bytes && bytes <= from->bytes - at);
    HF_TRY(
        hf_opencl_check(clEnqueueReadBuffer(device->lanes[0], mem, done == NULL, at,
                                            bytes, to, 0, NULL, done ? &event : NULL),
                        "clEnqueueReadBuffer"));
    return done ? event_pass(device, event, done) : HF_OK;
}

static hf_status opencl_map(hf_device *base, hf_buffer *buffer, void **address) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    cl_int code;
    void *mapped = clEnqueueMapBuffer(
        device->lanes[0], ((hf_opencl_buffer *)buffer)->mem, CL_TRUE,
        CL_MAP_READ | CL_MAP_WRITE, 0, buffer->bytes, 0, NULL, NULL, &code);
    HF_TRY(hf_opencl_check(code, "clEnqueueMapBuffer"));
    *address = mapped;
    return HF_OK;
}

static hf_status opencl_unmap(hf_device *base, hf_buffer *buffer, void *address) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    return hf_opencl_check(clEnqueueUnmapMemObject(device->lanes[0],
                                                   ((hf_opencl_buffer *)buffer)->mem,
                                                   address, 0, NULL, NULL),
                           "clEnqueueUnmapMemObject");
}

static hf_status opencl_finish(hf_device *base) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    return hf_opencl_check(clFinish(device->lanes[0]), "clFinish");
}

const hf_device_ops hf_device_opencl = {
    .name = "opencl",
    .summary = "any OpenCL device: FPGA boards, GPUs, CPUs",
    .list = hf_opencl_list,
    .open = opencl_open,
    .close = opencl_close,
    .build = hf_opencl_build,
    .load = hf_opencl_load,
    .kernel = hf_opencl_kernel,
    .kernel_free = hf_opencl_kernel_free,
    .alloc = opencl_alloc,
    .wrap = opencl_wrap,
    .free = opencl_free,
    .write = opencl_write,
    .read = opencl_read,
    .map = opencl_map,
    .unmap = opencl_unmap,
    .launch = hf_opencl_launch,
    .poll = hf_opencl_poll,
    .wait = hf_opencl_wait,
    .finish = opencl_finish,
};
