/* xrt_memory.c - in which of a card's memories a buffer lies.
 *
 * An argument of a compute unit reaches some of them. XRT gives a kernel a copy of a buffer that
 * lies elsewhere, and what it writes there never comes back: so buffers are placed where they
 * are used, and a launch checks that they are.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/pages.h"
#include "xrt_device.h"

enum { UNKNOWN_MEMORIES = 64 };

/** Several memories, e.g. "DDR[0:1]", which no number of a bank means. */
static bool is_group(const hf_xclbin_memory *memory) {
    return strchr(memory->tag, ':') != NULL;
}

void hf_xrt_memories_text(char *text, size_t room, const hf_xclbin *xclbin,
                          const hf_xclbin_reach *reach) {
    size_t used = 0;
    snprintf(text, room, "none");
    for (size_t m = 0; m < xclbin->n_memories; m++) {
        if (!hf_xclbin_reaches(reach, m) || !xclbin->memories[m].used ||
            is_group(&xclbin->memories[m]))
            continue;
        if (used + sizeof xclbin->memories[m].tag + strlen(", ...") >= room) {
            snprintf(text + used, room - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "",
                                 xclbin->memories[m].tag);
    }
}

/* ---- which memories a buffer may lie in ---- */

/** Those that most of the pointers of all units reach. */
static hf_xclbin_reach common_reach(const hf_xclbin *x) {
    size_t counts[HF_XCLBIN_MEMORIES] = {0}, most = 0;
    hf_xclbin_reach reach = {{0}};
    for (size_t m = 0; m < x->n_memories; m++) {
        for (size_t u = 0; x->memories[m].used && u < x->n_units; u++)
            for (size_t i = 0; i < HF_XCLBIN_ARGS; i++)
                counts[m] += hf_xclbin_reaches(&x->units[u].reach[i], m);
        most = counts[m] > most ? counts[m] : most;
    }
    for (size_t m = 0; m < x->n_memories; m++)
        if (x->memories[m].used && counts[m] == most)
            hf_xclbin_reach_add(&reach, m);
    return reach;
}

/** Those that an argument reaches on all units of a kernel. */
static hf_status kernel_reach(hf_xclbin_reach *out, const hf_xrt_kernel *kernel,
                              unsigned arg) {
    const hf_xclbin *x = kernel->device->xclbin;
    hf_xclbin_reach reach = {{0}};
    bool any = false;
    if (arg >= kernel->info.n_args || !kernel->info.args[arg].pointer)
        return hf_fail(HF_EARG, "kernel \"%s\" has no buffer as argument %u",
                       kernel->info.name, arg);
    for (size_t m = 0; m < x->n_memories; m++) {
        bool all = x->memories[m].used;
        for (size_t u = 0; u < kernel->n_units; u++)
            all = all && hf_xclbin_reaches(&kernel->units[u].info->reach[arg], m);
        if (all)
            hf_xclbin_reach_add(&reach, m);
        any = any || all;
    }
    if (!any)
        return hf_fail(
            HF_EARG,
            "kernel \"%s\", argument %u, \"%s\": its %zu units reach no memory "
            "in common",
            kernel->info.name, arg, kernel->info.args[arg].name, kernel->n_units);
    *out = reach;
    return HF_OK;
}

/** The memory of number `bank` alone, if it is among `wanted`: what `who` reaches. */
static hf_status bank_reach(hf_xclbin_reach *out, const hf_xclbin *x, size_t bank,
                            const hf_xclbin_reach *wanted, const char *who) {
    char text[120];
    bool known = bank < x->n_memories && !is_group(&x->memories[bank]);
    if (!known || !x->memories[bank].used || !hf_xclbin_reaches(wanted, bank)) {
        hf_xrt_memories_text(text, sizeof text, x, wanted);
        return hf_fail(HF_EARG, "bank %zu, %s: %s reaches %s", bank,
                       known ? x->memories[bank].tag : "which is none", who, text);
    }
    *out = (hf_xclbin_reach){{0}};
    hf_xclbin_reach_add(out, bank);
    return HF_OK;
}

static hf_status spot_reach(hf_xclbin_reach *out, const hf_xclbin *x,
                            const hf_spot *spot) {
    char who[256] = "the xclbin";
    const hf_xrt_kernel *kernel = spot ? (const hf_xrt_kernel *)spot->kernel : NULL;
    hf_xclbin_reach all;
    memset(&all, 0xff, sizeof all);
    if (kernel) {
        HF_TRY(kernel_reach(out, kernel, spot->arg));
        snprintf(who, sizeof who, "kernel \"%s\", unit \"%s\", argument %u, \"%s\",",
                 kernel->info.name, kernel->units[0].info->name, spot->arg,
                 kernel->info.args[spot->arg].name);
    } else {
        *out = common_reach(x);
    }
    return spot && spot->bank
               ? bank_reach(out, x, spot->bank - 1, kernel ? out : &all, who)
               : HF_OK;
}

/** The memory of the least use among those with room, of these the first: groups of memories come
 *  last. False: none. */
static bool memory_best(size_t *out, const hf_xrt_device *device,
                        const hf_xclbin_reach *reach, size_t bytes) {
    const hf_xclbin *x = device->xclbin;
    bool found = false;
    for (size_t m = 0; m < x->n_memories; m++) {
        if (!hf_xclbin_reaches(reach, m) || x->memories[m].bytes < bytes)
            continue;
        if (!found || device->used[m] < device->used[*out])
            *out = m;
        found = true;
    }
    return found;
}

/* ---- buffers ---- */

static void alloc_make(hf_xrt_call *call) {
    call->result = hf_xrt.BOAlloc(call->handle, call->bytes, 0, call->number);
}

static void alloc_undo(hf_xrt_call *call) {
    hf_xrt.BOFree(call->result);
}

static void map_make(hf_xrt_call *call) {
    call->result = hf_xrt.BOMap(call->handle);
}

static void free_make(hf_xrt_call *call) {
    call->bytes = (size_t)hf_xrt.BOFree(call->handle);
}

/** Give the card's memory back. False: it stays, known to the device until the process ends. */
static bool memory_give(hf_xrt_buffer *buffer) {
    hf_xrt_device *device = buffer->device;
    hf_xrt_call call = {.make = free_make, .name = "xrtBOFree", .handle = buffer->bo};
    hf_status status = hf_xrt_make(&call, &device->base);
    buffer->leaves = status != HF_OK && call.entered;
    if (status != HF_OK || call.bytes != 0)
        return false;
    hf_xrt_buffer **at = &device->buffers;
    while (*at && *at != buffer)
        at = &(*at)->next;
    if (*at)
        *at = buffer->next;
    device->used[buffer->memory] -= buffer->base.bytes;
    buffer->bo = NULL;
    return true;
}

/** Take `bytes` bytes of a memory; *code is the errno of a failure. */
static hf_status memory_take(hf_xrt_buffer *buffer, size_t memory, size_t bytes,
                             int *code) {
    hf_xrt_device *device = buffer->device;
    hf_xrt_call call = {.make = alloc_make,
                        .undo = alloc_undo,
                        .name = "xrtBOAlloc",
                        .handle = device->handle,
                        .bytes = hf_pages_bytes(bytes),
                        .number = (uint32_t)memory};
    *code = 0;
    HF_TRY(hf_xrt_make(&call, &device->base));
    *code = call.code;
    bool full = call.code == ENOMEM || call.code == ENOSPC;
    if (!call.result)
        return hf_xrt_failed(full ? HF_ENOMEM : HF_EDEVICE, &call);
    buffer->bo = call.result;
    buffer->memory = memory;
    buffer->next = device->buffers;
    device->buffers = buffer;
    device->used[memory] += bytes;
    call = (hf_xrt_call){.make = map_make, .name = "xrtBOMap", .handle = buffer->bo};
    HF_TRY(hf_xrt_make(&call, &device->base));
    *code = call.code;
    if (!call.result) {
        memory_give(buffer);
        return hf_xrt_failed(HF_EDEVICE, &call);
    }
    buffer->base.mirror = call.result;
    return HF_OK;
}

static hf_status place(hf_xrt_buffer *buffer, size_t bytes, const hf_spot *spot) {
    const hf_xclbin *x = buffer->device->xclbin;
    hf_status status = HF_EDEVICE;
    hf_xclbin_reach reach = {{0}};
    size_t memory = 0;
    int code;
    if (!x) { /* the card may hold what another run has loaded */
        for (memory = 0; memory < UNKNOWN_MEMORIES; memory++) {
            status = memory_take(buffer, memory, bytes, &code);
            if (status == HF_OK || code != EINVAL)
                return status;
        }
        return hf_fail(
            HF_EDEVICE,
            "card \"%s\" has no memory, as it holds no xclbin yet: "
            "\"hpccfpga run transfer --device xrt --kernel FILE.xclbin\" loads "
            "one, as any benchmark with kernels does",
            buffer->device->base.info.name);
    }
    HF_TRY(spot_reach(&reach, x, spot));
    bool tried = false;
    while (memory_best(&memory, buffer->device, &reach, bytes)) {
        status = memory_take(buffer, memory, bytes, &code);
        if (status != HF_ENOMEM)
            return status;
        tried = true;
        reach.words[memory / 64] &= ~((uint64_t)1 << memory % 64); /* it is full */
    }
    char text[120];
    hf_xrt_memories_text(text, sizeof text, x, &reach);
    return tried ? status
                 : hf_fail(HF_ENOMEM,
                           "a buffer of %zu B fits none of the memories of "
                           "its kernel, %s",
                           bytes, text);
}

hf_status hf_xrt_alloc(hf_buffer **out, hf_device *base, size_t bytes,
                       const hf_spot *spot) {
    hf_xrt_device *device = (hf_xrt_device *)base;
    assert(bytes > 0);
    HF_TRY(hf_device_check(base));
    if (bytes > base->info.max_alloc)
        return hf_fail(
            HF_ENOMEM,
            "a buffer of %zu B does not fit device \"%s\": at most %zu B per "
            "buffer",
            bytes, base->info.name, base->info.max_alloc);
    hf_xrt_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return hf_fail(HF_ENOMEM, "no memory for a buffer");
    buffer->base.bytes = bytes;
    buffer->device = device;
    hf_status status = place(buffer, bytes, spot);
    if (status != HF_OK) {
        if (!buffer->bo)
            free(buffer);
        return status;
    }
    *out = &buffer->base;
    return HF_OK;
}

void hf_xrt_release(hf_xrt_buffer *buffer) {
    if (memory_give(buffer))
        free(buffer);
}
