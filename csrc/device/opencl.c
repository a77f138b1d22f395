/* opencl.c - the runtime `opencl`: any device of any OpenCL 1.2 platform.
 *
 * An hf_kernel is a cl_kernel and an hf_event a cl_event, so that a launch or a copy
 * allocates nothing here.
 */
#include "opencl.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64, GPU_ITEMS_PER_UNIT = 256 };

/** One device of the machine. */
typedef struct opencl_entry {
    cl_platform_id platform;
    cl_device_id id;
    hf_device_info info;
} opencl_entry;

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

/** Copy `from` without the spaces around it, cut to `size`. */
static void text_copy(char *to, size_t size, const char *from) {
    from += strspn(from, " ");
    size_t length = strlen(from);
    while (length > 0 && from[length - 1] == ' ')
        length--;
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

static void platform_text(cl_platform_id platform, cl_platform_info what, char *to,
                          size_t size) {
    char text[1024] = "";
    clGetPlatformInfo(platform, what, sizeof text, text, NULL);
    text_copy(to, size, text);
}

static void device_text(cl_device_id id, cl_device_info what, char *to, size_t size) {
    char text[1024] = "";
    clGetDeviceInfo(id, what, sizeof text, text, NULL);
    text_copy(to, size, text);
}

static bool device_has(cl_device_id id, const char *extension) {
    char text[8192] = "";
    clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL);
    return strstr(text, extension) != NULL;
}

static hf_device_info entry_info(const opencl_entry *entry, size_t index) {
    hf_device_info info = {.runtime = "opencl", .index = (int)index, .items = 1};
    platform_text(entry->platform, CL_PLATFORM_NAME, info.platform,
                  sizeof info.platform);
    device_text(entry->id, CL_DEVICE_NAME, info.name, sizeof info.name);
    device_text(entry->id, CL_DEVICE_VERSION, info.version, sizeof info.version);
    device_text(entry->id, CL_DRIVER_VERSION, info.driver, sizeof info.driver);

    info.half = device_has(entry->id, "cl_khr_fp16");
    info.fp64 = device_has(entry->id, "cl_khr_fp64");
    cl_device_type type = 0;
    cl_ulong memory = 0, max_alloc = 0;
    cl_uint units = 1;
    clGetDeviceInfo(entry->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    clGetDeviceInfo(entry->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    clGetDeviceInfo(entry->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof max_alloc,
                    &max_alloc, NULL);
    clGetDeviceInfo(entry->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    info.type = type & CL_DEVICE_TYPE_ACCELERATOR ? HF_ACCELERATOR
                : type & CL_DEVICE_TYPE_GPU       ? HF_GPU
                                                  : HF_CPU;
    info.emulated = info.type == HF_CPU || hf_opencl_contains(info.name, "emulat") ||
                    hf_opencl_contains(info.platform, "emulat");
    info.memory = (size_t)memory;
    info.max_alloc = (size_t)max_alloc;
    info.workers = info.type == HF_CPU ? units : HF_LANES_MOST - 1;
    if (info.type == HF_GPU)
        info.items = (size_t)units * GPU_ITEMS_PER_UNIT;
    return info;
}

/** Fill `all` with the devices of all platforms and return their number. */
static size_t entries_find(opencl_entry all[MAX_DEVICES], cl_uint *n_platforms) {
    cl_platform_id platforms[MAX_PLATFORMS];
    size_t n = 0;
    *n_platforms = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, n_platforms) != CL_SUCCESS)
        *n_platforms = 0;
    for (cl_uint p = 0; p < *n_platforms && p < MAX_PLATFORMS; p++) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint n_ids = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids,
                           &n_ids) != CL_SUCCESS)
            continue;
        for (cl_uint i = 0; i < n_ids && n < MAX_DEVICES; i++, n++) {
            all[n] = (opencl_entry){.platform = platforms[p], .id = ids[i]};
            all[n].info = entry_info(&all[n], n);
        }
    }
    return n;
}

/** Fail with the devices that there are. */
static hf_status entries_fail(const opencl_entry *all, size_t n, const char *selector) {
    char known[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%zu: %s",
                                 i ? ", " : "", i, all[i].info.name);
    return hf_fail(HF_ENOENT, "no OpenCL device \"%s\"; known: %s", selector, known);
}

/** A device of the default platform, its type the default type: hardware, else a CPU that
 *  stands in for it, and an emulator only where there is nothing else. */
static size_t entries_default(const opencl_entry *all, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!all[i].info.emulated)
            return i;
    for (size_t i = 0; i < n; i++)
        if (all[i].info.type == HF_CPU)
            return i;
    return 0;
}

/** The device that `selector` and the node-local rank mean. */
static hf_status entries_pick(const opencl_entry **out, const opencl_entry *all,
                              size_t n, const char *selector, int local_rank) {
    bool number = selector[strspn(selector, "0123456789")] == '\0';
    unsigned long index = strtoul(selector, NULL, 10);
    size_t first = entries_default(all, n);
    bool cpu = all[first].info.type == HF_CPU;
    size_t matches[MAX_DEVICES], n_matches = 0;
    for (size_t i = 0; i < n; i++) {
        bool match;
        if (selector[0] == '\0')
            match = all[i].platform == all[first].platform &&
                    (all[i].info.type == HF_CPU) == cpu;
        else if (number)
            match = i == index;
        else
            match = hf_opencl_contains(all[i].info.platform, selector) ||
                    hf_opencl_contains(all[i].info.name, selector) ||
                    hf_opencl_contains(all[i].info.version, selector);
        if (match)
            matches[n_matches++] = i;
    }
    if (n_matches == 0)
        return entries_fail(all, n, selector);
    *out = &all[matches[(size_t)local_rank % n_matches]];
    return HF_OK;
}

static hf_status opencl_list(hf_device_info *out, size_t index, bool *found) {
    opencl_entry all[MAX_DEVICES];
    cl_uint n_platforms;
    *found = index < entries_find(all, &n_platforms);
    if (*found)
        *out = all[index].info;
    return HF_OK;
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

static hf_status opencl_open(hf_device **out, const char *selector, int local_rank) {
    opencl_entry all[MAX_DEVICES];
    const opencl_entry *entry = all;
    cl_uint n_platforms;
    size_t n = entries_find(all, &n_platforms);
    assert(local_rank >= 0);
    if (n_platforms == 0)
        return hf_fail(HF_EDEVICE, "no OpenCL platform: install an ICD, for example "
                                   "pocl-opencl-icd, and see whether "
                                   "OCL_ICD_VENDORS names a folder without one");
    if (n == 0)
        return hf_fail(HF_EDEVICE, "no OpenCL device: %u platform(s), all without one",
                       n_platforms);
    HF_TRY(entries_pick(&entry, all, n, selector, local_rank));

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
    .list = opencl_list,
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
