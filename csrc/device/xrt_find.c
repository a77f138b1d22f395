/* xrt_find.c - which Xilinx cards there are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "core/known.h"
#include "core/text.h"
#include "xrt_device.h"

enum { MAX_DEVICES = 64 };

static void probe_make(hf_xrt_call *call) {
    call->bytes = hf_xrt.probe();
}

static hf_status devices_count(size_t *n, double deadline) {
    hf_xrt_call call = {.make = probe_make, .name = "xclProbe", .deadline = deadline};
    HF_TRY(hf_xrt_make(&call, NULL));
    *n = call.bytes < MAX_DEVICES ? call.bytes : MAX_DEVICES;
    return HF_OK;
}

static void open_make(hf_xrt_call *call) {
    call->result = hf_xrt.DeviceOpen(call->number);
    int code = errno;
    if (call->result &&
        hf_xrt.info(hf_xrt.DeviceToXclDevice(call->result), &call->info) != 0)
        call->info = (hf_xrt_info){0};
    errno = code;
}

static void open_undo(hf_xrt_call *call) {
    hf_xrt.DeviceClose(call->result);
}

static void close_make(hf_xrt_call *call) {
    hf_xrt.DeviceClose(call->handle);
}

hf_status hf_xrt_handle_close(void *handle, hf_device *device, double deadline) {
    hf_xrt_call call = {.make = close_make,
                        .name = "xrtDeviceClose",
                        .handle = handle,
                        .deadline = deadline};
    return hf_xrt_make(&call, device);
}

static hf_device_info info_of(const hf_xrt_call *call) {
    hf_device_info info = {.runtime = "xrt",
                           .platform = "XRT",
                           .index = (int)call->number,
                           .type = HF_ACCELERATOR,
                           .half = true,
                           .fp64 = true,
                           .items = 1,
                           .workers = HF_MAX_QUEUES - 1,
                           .ports = HF_PORTS_NONE,
                           .kernels = HF_MAX_QUEUES - 1,
                           .more_kernels = ""};
    const hf_xrt_info *card = &call->info;
    snprintf(info.driver, sizeof info.driver, "%s", hf_xrt_version());
    if (!call->result)
        snprintf(info.name, sizeof info.name, "card %u, %s", call->number,
                 call->code == EBUSY ? "busy" : "not ready");
    else if (!*card->name)
        snprintf(info.name, sizeof info.name, "card %u", call->number);
    else
        hf_text_copy(info.name, sizeof info.name, card->name, sizeof card->name);
    if (*hf_xrt_mode())
        snprintf(info.version, sizeof info.version, "%s", hf_xrt_mode());
    else if (call->result)
        snprintf(info.version, sizeof info.version, "%04x:%02x:%02x.%x",
                 card->slot >> 16, card->slot >> 8 & 255, card->slot >> 3 & 31,
                 card->slot & 7);
    info.emulated = *hf_xrt_mode() || hf_text_contains(info.name, "emulat");
    info.memory = card->memory;
    info.max_alloc = info.memory < hf_xrt_max_alloc ? info.memory : hf_xrt_max_alloc;
    return info;
}

/** Open card number `index` and describe it, also if it does not open. */
static hf_status card_open(void **handle, hf_device_info *info, size_t index,
                           double deadline, hf_xrt_call *call) {
    *call = (hf_xrt_call){.make = open_make,
                          .undo = open_undo,
                          .name = "xrtDeviceOpen",
                          .number = (uint32_t)index,
                          .deadline = deadline};
    HF_TRY(hf_xrt_make(call, NULL));
    *handle = call->result;
    *info = info_of(call);
    return HF_OK;
}

static hf_status card_list(hf_device_info *out, size_t index, bool *found) {
    size_t n;
    void *handle;
    hf_xrt_call call;
    *found = false;
    hf_status status = hf_xrt_load();
    if (status == HF_ENOTSUP) /* no XRT means no card; `open` says it */
        return HF_OK;
    HF_TRY(status);
    HF_TRY(devices_count(&n, HF_DEADLINE));
    if (index >= n)
        return HF_OK;
    HF_TRY(card_open(&handle, out, index, HF_DEADLINE, &call));
    if (handle)
        HF_TRY(hf_xrt_handle_close(handle, NULL, HF_DEADLINE));
    *found = true;
    return HF_OK;
}

/** Whether `selector` is a card's address without the domain, as lspci prints it. */
static bool address_is_short(const hf_device_info *info, const char *selector) {
    const char *rest = strchr(info->version, ':');
    return rest && strcasecmp(rest + 1, selector) == 0;
}

/** Whether `selector` means a card: by number, kind, part of its shell, or PCI address. */
static bool card_is(const hf_device_info *info, const char *selector) {
    hf_device_type type;
    if (*selector && selector[strspn(selector, "0123456789")] == '\0')
        return strtoul(selector, NULL, 10) == (unsigned long)info->index;
    if (hf_device_type_named(&type, selector))
        return type == info->type;
    return hf_text_contains(info->name, selector) ||
           strcasecmp(info->version, selector) == 0 || address_is_short(info, selector);
}

static hf_status card_pick(void **handle, hf_device_info *info, const char *selector,
                           int local_rank, double deadline) {
    size_t n, matches[MAX_DEVICES], n_matches = 0, n_ready = 0;
    size_t n_short = 0;
    hf_known known = {.wanted = selector};
    hf_xrt_call call;
    HF_TRY(hf_xrt_load());
    HF_TRY(devices_count(&n, deadline));
    if (n == 0)
        return hf_fail(HF_EDEVICE, "no Xilinx card: XRT%s%s finds none",
                       *hf_xrt_version() ? " " : "", hf_xrt_version());
    for (size_t i = 0; i < n; i++) {
        char line[320];
        void *probed;
        HF_TRY(card_open(&probed, info, i, deadline, &call));
        bool ready = probed != NULL;
        if (ready)
            HF_TRY(hf_xrt_handle_close(probed, NULL, deadline));
        const char *address = strchr(info->version, ':') ? info->version : "";
        snprintf(line, sizeof line, "%zu: %s%s%s", i, info->name,
                 *address ? " at " : "", address);
        hf_known_add(&known, line);
        if (!card_is(info, selector))
            continue;
        n_short += address_is_short(info, selector);
        if (ready && n_ready++ == 0)
            n_matches = 0;
        /* Busy cards count only if none that fits is free and one was asked for: opening it
         * says why. */
        if (ready || (n_ready == 0 && *selector))
            matches[n_matches++] = i;
    }
    if (n_matches == 0 && !*selector)
        return hf_fail(HF_EDEVICE, "no Xilinx card is ready: %s", known.names);
    if (n_matches == 0)
        return hf_fail(HF_ENOENT, "no Xilinx card \"%s\"; %s", selector,
                       hf_known_text(&known));
    if (n_short > 1)
        return hf_fail(HF_ENOENT, "%zu Xilinx cards \"%s\": give the domain; %s",
                       n_short, selector, hf_known_text(&known));
    size_t match = matches[(size_t)local_rank % n_matches];
    HF_TRY(card_open(handle, info, match, deadline, &call));
    if (*handle) {
        if (info->memory == 0) /* it does not tell: a bound for sizes */
            info->memory = info->max_alloc = hf_xrt_max_alloc;
        return HF_OK;
    }
    hf_status status = hf_xrt_failed(HF_EDEVICE, &call);
    return call.code != EBUSY
               ? status
               : hf_fail(status,
                         "card %zu: %s: wait for the process that has it, or take "
                         "another card; known: %s",
                         match, hf_error(), known.names);
}

static void loading(const hf_vendors *vendors, bool begins) {
    if (vendors && vendors->loading)
        vendors->loading(vendors->context, begins);
}

hf_status hf_xrt_list(hf_device_info *out, size_t index, bool *found,
                      const hf_vendors *vendors) {
    loading(vendors, true);
    hf_status status = card_list(out, index, found);
    loading(vendors, false);
    return status;
}

hf_status hf_xrt_pick(void **handle, hf_device_info *info, const char *selector,
                      int local_rank, double deadline, const hf_vendors *vendors) {
    loading(vendors, true);
    hf_status status = card_pick(handle, info, selector, local_rank, deadline);
    loading(vendors, false);
    return status;
}
