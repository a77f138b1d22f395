/* device.c - what all runtimes share: devices that a command has broken. */
#include "device.h"

#include "core/error.h"
#include "late.h"

hf_status hf_device_check(const hf_device *device) {
    if (!device->broken)
        return HF_OK;
    return hf_fail(
        HF_EDEVICE,
        "device \"%s\": a command that passed its deadline may still run: open "
        "a new session",
        device->info.name);
}

hf_status hf_device_meanwhile(hf_device *device, const char *what) {
    hf_status status =
        device->meanwhile ? device->meanwhile(device->context, what) : HF_OK;
    device->broken = device->broken || status != HF_OK;
    return status;
}

hf_status hf_device_break(hf_device *device, const char *what) {
    device->broken = true;
    return hf_fail(HF_EDEVICE,
                   "%s has not ended within %g s: open a new session, with a longer "
                   "deadline if it takes longer",
                   what, device->deadline);
}

hf_status hf_device_wait(hf_device *device, hf_event *const *events, size_t n) {
    hf_status status = HF_OK;
    for (size_t i = n; i-- > 0 && (status == HF_OK || !device->broken);) {
        hf_status ended = device->ops->wait(device, events[i]);
        status = ended == HF_OK ? status : ended;
    }
    return status;
}
