/* opencl.c - the runtime `opencl`: any device of any OpenCL 1.2 platform.
 *
 * An hf_kernel is a cl_kernel, an hf_event an hf_opencl_event.
 */
#include "opencl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/pages.h"
#include "core/text.h"

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

static void opencl_free(hf_buffer *base);

static void buffer_free(hf_opencl_buffer *buffer) {
    clReleaseMemObject(buffer->mem);
    free(buffer);
}

static void opencl_close(hf_device *base) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    if (!device)
        return;
    opencl_free(device->probe);
    opencl_free(device->probed);
    if (!hf_opencl_queues_close(device))
        return;
    for (hf_opencl_buffer *buffer; (buffer = device->kept);) {
        device->kept = buffer->next;
        buffer_free(buffer);
    }
    hf_opencl_unload(device);
    hf_opencl_relay_free(device);
    if (device->context)
        clReleaseContext(device->context);
    free(device);
}

static hf_status opencl_make(hf_device **out, const hf_opencl_entry *entry) {
    hf_opencl_device *device = calloc(1, sizeof *device);
    if (!device)
        return hf_fail(HF_ENOMEM, "no memory for a device");
    device->base = (hf_device){
        .ops = &hf_device_opencl, .info = entry->info, .deadline = HF_DEADLINE};
    device->id = entry->id;
    device->base.may_relay = hf_opencl_may_relay(device);
    hf_opencl_queues_open(device);
    hf_status status = hf_opencl_context(device);
    if (status == HF_OK && device->base.info.type == HF_GPU)
        status = hf_opencl_probe_take(device);
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
    sigset_t own;
    hf_opencl_enter(&own, vendors);
    hf_status status = hf_opencl_pick(&entry, selector, local_rank, vendors);
    if (status == HF_OK)
        status = opencl_make(out, &entry);
    hf_opencl_leave(&own, vendors);
    return status;
}

enum { INTEL_BANKS = 7 }; /* that flags can name; others are for kernels to name */

/* A buffer in a memory bank or in a kernel argument's memory, in the ways of the FPGAs'
 * vendors; others have one memory. */
static cl_mem mem_create(const hf_opencl_device *device, size_t bytes,
                         const hf_spot *spot, cl_int *code) {
    struct { /* cl_mem_ext_ptr_t of Xilinx: a bank, or a kernel and its argument */
        unsigned flags;
        void *host, *kernel;
    } xilinx = {.flags = spot->bank ? (spot->bank - 1) | 1U << 31 : spot->arg,
                .kernel = spot->bank ? NULL : spot->kernel};
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    void *host = NULL;
    const char *platform = device->base.info.platform;
    if (spot->bank && hf_text_contains(platform, "FPGA SDK")) {
        flags |= (cl_mem_flags)spot->bank << 16; /* CL_CHANNEL_<n>_INTELFPGA */
    } else if ((spot->bank || spot->kernel) && hf_text_contains(platform, "Xilinx")) {
        flags |= (cl_mem_flags)1 << 31; /* CL_MEM_EXT_PTR_XILINX */
        host = &xilinx;
    }
    return clCreateBuffer(device->context, flags, bytes, host, code);
}

static void CL_CALLBACK memory_free(cl_mem mem, void *memory) {
    (void)mem;
    free(memory);
}

/* A large buffer of a CPU, in large pages of the host: kernels that go here and there wait less
 * for addresses. Buffers begin at different lines of these, as the same word of each would be in
 * the same set of a cache. Where the host works in it, too, and wants its address, it begins at a
 * page, as runtimes ask of memory that they use in place. */
static cl_mem mem_in_pages(const hf_opencl_device *device, size_t bytes, void **host,
                           cl_int *code) {
    enum { STEP = 73, LINES = 1024 };
    char *memory = hf_pages_new(bytes + (size_t)HF_LINE * LINES);
    size_t begin = (uintptr_t)memory / HF_LARGE_PAGE * STEP % LINES * HF_LINE;
    *code = CL_OUT_OF_HOST_MEMORY;
    if (!memory)
        return NULL;
    if (host) {
        begin -= begin % HF_PAGE;
        *host = memory + begin;
    }
    cl_mem mem =
        clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                       memory + begin, code);
    if (mem && (*code = clSetMemObjectDestructorCallback(mem, memory_free, memory)) ==
                   CL_SUCCESS)
        return mem;
    if (mem)
        clReleaseMemObject(mem);
    free(memory);
    return NULL;
}

/** Give the buffer of `mem`, which the runtime made with `code`. */
static hf_status buffer_new(hf_opencl_buffer **out, hf_opencl_device *device,
                            cl_mem mem, cl_int code, size_t bytes, void *host) {
    char what[48];
    snprintf(what, sizeof what, "a buffer of %zu B", bytes);
    HF_TRY(hf_opencl_check(code, what));
    hf_opencl_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer) {
        clReleaseMemObject(mem);
        return hf_fail(HF_ENOMEM, "no memory for a buffer of %zu B", bytes);
    }
    *buffer = (hf_opencl_buffer){
        .base = {.bytes = bytes, .host = host}, .mem = mem, .device = device};
    *out = buffer;
    return HF_OK;
}

static hf_status buffer_fits(const hf_device_info *info, size_t bytes) {
    assert(bytes > 0);
    if (bytes <= info->max_alloc && bytes <= info->memory)
        return HF_OK;
    return hf_fail(HF_ENOMEM,
                   "a buffer of %zu B does not fit device \"%s\": at most %zu B per "
                   "buffer, %zu B in all",
                   bytes, info->name, info->max_alloc, info->memory);
}

static hf_status opencl_alloc(hf_buffer **out, hf_device *base, size_t bytes,
                              const hf_spot *spot) {
    static const hf_spot any;
    hf_opencl_device *device = (hf_opencl_device *)base;
    const hf_device_info *info = &base->info;
    hf_opencl_buffer *buffer = NULL;
    cl_int code;
    HF_TRY(hf_device_check(base));
    HF_TRY(buffer_fits(info, bytes));
    spot = spot ? spot : &any;
    if (spot->bank > INTEL_BANKS && hf_text_contains(info->platform, "FPGA SDK"))
        return hf_fail(HF_EARG,
                       "bank %u: this runtime places buffers in banks 0 to %d; build "
                       "kernels with buffer_location for others",
                       spot->bank - 1, INTEL_BANKS - 1);
    cl_mem mem = info->type == HF_CPU && bytes >= HF_LARGE_PAGE
                     ? mem_in_pages(device, bytes, NULL, &code)
                     : mem_create(device, bytes, spot, &code);
    HF_TRY(buffer_new(&buffer, device, mem, code, bytes, NULL));
    *out = &buffer->base;
    return HF_OK;
}

static hf_status opencl_wrap(hf_buffer **out, hf_device *base, void *memory,
                             size_t bytes) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    hf_opencl_buffer *buffer = NULL;
    cl_int code;
    HF_TRY(hf_device_check(base));
    if (base->info.type != HF_CPU)
        return hf_fail(HF_ENOTSUP, "device \"%s\" does not work in host memory",
                       base->info.name);
    if (!memory)
        HF_TRY(buffer_fits(&base->info, bytes));
    cl_mem mem = memory ? clCreateBuffer(device->context,
                                         CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                         memory, &code)
                        : mem_in_pages(device, bytes, &memory, &code);
    HF_TRY(buffer_new(&buffer, device, mem, code, bytes, memory));
    *out = &buffer->base;
    return HF_OK;
}

/* Host address of a buffer until `mem_unmap`. */
static hf_status mem_map(hf_device *base, const hf_opencl_buffer *buffer,
                         void **address) {
    hf_opencl_command command;
    cl_int code;
    HF_TRY(hf_opencl_begin_blocking(&command, base, NULL));
    void *mapped = clEnqueueMapBuffer(command.queue, buffer->mem, CL_TRUE,
                                      CL_MAP_READ | CL_MAP_WRITE, 0, buffer->base.bytes,
                                      0, NULL, hf_opencl_own(&command), &code);
    HF_TRY(hf_opencl_end(&command, code, "clEnqueueMapBuffer", NULL, NULL));
    *address = mapped;
    return HF_OK;
}

static hf_status mem_unmap(hf_device *base, const hf_opencl_buffer *buffer,
                           void *address) {
    hf_opencl_command command;
    HF_TRY(hf_opencl_begin(&command, base, NULL));
    cl_int code = clEnqueueUnmapMemObject(command.queue, buffer->mem, address, 0, NULL,
                                          hf_opencl_own(&command));
    return hf_opencl_end(&command, code, "clEnqueueUnmapMemObject", NULL, NULL);
}

/* Its copies are no longer polled for. */
static void pinned_leave(const hf_opencl_buffer *buffer) {
    for (hf_opencl_buffer **at = &buffer->device->pinned; *at; at = &(*at)->next)
        if (*at == buffer) {
            *at = buffer->next;
            return;
        }
}

static void opencl_free(hf_buffer *base) {
    hf_opencl_buffer *buffer = (hf_opencl_buffer *)base;
    if (!buffer)
        return;
    pinned_leave(buffer);
    if (buffer->device->base.broken) {
        buffer->next = buffer->device->kept;
        buffer->device->kept = buffer;
        return;
    }
    if (buffer->mapped)
        mem_unmap(&buffer->device->base, buffer, buffer->mapped);
    buffer_free(buffer);
}

/* A buffer that stays mapped: runtimes keep such memory in place for DMA. */
static hf_status opencl_pin(hf_buffer **out, hf_device *base, void *memory,
                            size_t bytes) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    cl_mem_flags whose = memory ? CL_MEM_USE_HOST_PTR : CL_MEM_ALLOC_HOST_PTR;
    hf_opencl_buffer *buffer = NULL;
    cl_int code;
    HF_TRY(hf_device_check(base));
    cl_mem mem = clCreateBuffer(device->context, CL_MEM_READ_WRITE | whose, bytes,
                                memory, &code);
    HF_TRY(buffer_new(&buffer, device, mem, code, bytes, NULL));
    assert(buffer);
    hf_status status = mem_map(base, buffer, &buffer->mapped);
    if (status != HF_OK) {
        opencl_free(&buffer->base);
        return status;
    }
    buffer->base.host = buffer->mapped;
    buffer->next = device->pinned;
    device->pinned = buffer;
    *out = &buffer->base;
    return HF_OK;
}

hf_status hf_opencl_probe_take(hf_opencl_device *device) {
    HF_TRY(opencl_alloc(&device->probe, &device->base, HF_PROBE, NULL));
    return opencl_pin(&device->probed, &device->base, NULL, HF_PROBE);
}

static bool is_pinned(const hf_opencl_device *device, const void *memory,
                      size_t bytes) {
    const char *at = memory;
    for (const hf_opencl_buffer *b = device->pinned; b; b = b->next)
        if (at >= (char *)b->mapped && at + bytes <= (char *)b->mapped + b->base.bytes)
            return true;
    return false;
}

/* Does the call of a copy that is waited for wait itself? A GPU's copy of pinned memory is looked
 * at instead: a byte takes 8.8 us from an H200, 10.6 us by a call that waits; to it 7.4 us and
 * 12.2 us. Of other memory, and on CPUs, a call that waits takes less. */
static bool call_blocks(const hf_device *base, const void *memory, size_t bytes) {
    return base->info.type != HF_GPU ||
           !is_pinned((const hf_opencl_device *)base, memory, bytes);
}

static hf_status opencl_write(hf_device *base, hf_buffer *to, size_t at,
                              const void *from, size_t bytes, const hf_order *order,
                              hf_event **done) {
    hf_opencl_command command;
    bool blocks = !done && call_blocks(base, from, bytes);
    assert(bytes > 0 && at <= to->bytes && bytes <= to->bytes - at);
    if (!done && hf_opencl_in_place(base, to)) {
        HF_TRY(hf_opencl_reach(base, order));
        memcpy((char *)to->host + at, from, bytes);
        return HF_OK;
    }
    HF_TRY(blocks ? hf_opencl_begin_blocking(&command, base, order)
                  : hf_opencl_begin(&command, base, order));
    cl_int code = clEnqueueWriteBuffer(
        command.queue, ((hf_opencl_buffer *)to)->mem, blocks, at, bytes, from,
        command.n_after, hf_opencl_after(&command), hf_opencl_own(&command));
    return hf_opencl_end(&command, code, "clEnqueueWriteBuffer", NULL, done);
}

static hf_status opencl_read(hf_device *base, const hf_buffer *from, size_t at,
                             void *to, size_t bytes, const hf_order *order,
                             hf_event **done) {
    hf_opencl_command command;
    bool blocks = !done && call_blocks(base, to, bytes);
    assert(bytes > 0 && at <= from->bytes && bytes <= from->bytes - at);
    if (!done && hf_opencl_in_place(base, from)) {
        HF_TRY(hf_opencl_reach(base, order));
        memcpy(to, (const char *)from->host + at, bytes);
        return HF_OK;
    }
    HF_TRY(blocks ? hf_opencl_begin_reading(&command, base, order)
                  : hf_opencl_begin(&command, base, order));
    cl_int code = clEnqueueReadBuffer(
        command.queue, ((const hf_opencl_buffer *)from)->mem, blocks, at, bytes, to,
        command.n_after, hf_opencl_after(&command), hf_opencl_own(&command));
    return hf_opencl_end(&command, code, "clEnqueueReadBuffer", NULL, done);
}

static hf_status opencl_copy(hf_device *base, hf_buffer *to, size_t to_at,
                             const hf_buffer *from, size_t from_at, size_t bytes,
                             const hf_order *order, hf_event **done) {
    hf_opencl_command command;
    assert(bytes > 0 && from_at <= from->bytes && bytes <= from->bytes - from_at);
    assert(to_at <= to->bytes && bytes <= to->bytes - to_at);
    HF_TRY(hf_opencl_begin(&command, base, order));
    cl_int code = clEnqueueCopyBuffer(
        command.queue, ((const hf_opencl_buffer *)from)->mem,
        ((hf_opencl_buffer *)to)->mem, from_at, to_at, bytes, command.n_after,
        hf_opencl_after(&command), hf_opencl_own(&command));
    return hf_opencl_end(&command, code, "clEnqueueCopyBuffer", NULL, done);
}

static hf_status opencl_mark(hf_device *base, const hf_order *order, hf_event **done) {
    hf_opencl_command command;
    if (!done)
        return hf_opencl_reach(base, order);
    HF_TRY(hf_opencl_begin(&command, base, order));
    cl_int code =
        clEnqueueMarkerWithWaitList(command.queue, command.n_after,
                                    hf_opencl_after(&command), hf_opencl_own(&command));
    return hf_opencl_end(&command, code, "clEnqueueMarkerWithWaitList", NULL, done);
}

static hf_status opencl_map(hf_device *base, hf_buffer *buffer, void **address) {
    return mem_map(base, (hf_opencl_buffer *)buffer, address);
}

static hf_status opencl_unmap(hf_device *base, hf_buffer *buffer, void *address) {
    return mem_unmap(base, (hf_opencl_buffer *)buffer, address);
}

const hf_device_ops hf_device_opencl = {
    .name = "opencl",
    .summary = "any OpenCL device: FPGA boards, GPUs, CPUs",
    .programs = "binary",
    .list = hf_opencl_list,
    .open = opencl_open,
    .close = opencl_close,
    .build = hf_opencl_build,
    .load = hf_opencl_load,
    .kernel = hf_opencl_kernel,
    .kernel_free = hf_opencl_kernel_free,
    .relay = hf_opencl_relay,
    .alloc = opencl_alloc,
    .wrap = opencl_wrap,
    .pin = opencl_pin,
    .free = opencl_free,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .launch = hf_opencl_launch,
    .mark = opencl_mark,
    .map = opencl_map,
    .unmap = opencl_unmap,
    .test = hf_opencl_test,
    .wait = hf_opencl_wait,
    .finish = hf_opencl_finish,
    .idle = hf_opencl_idle,
    .profile = hf_opencl_profile,
    .times = hf_opencl_times,
};
