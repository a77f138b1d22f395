/* one_core.c - devices whose threads take turns with the caller. */
#include "one_core.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/parallel.h"

bool hf_device_on_one_core(const hf_device *device) {
    return device->info.type == HF_CPU && hf_cores() == 1;
}

/* The operating system's scheduler keeps who of the caller and the thread has worked more: after
 * kernels, a copy took up to twice as long for about a millisecond. See docs/adr/0047. */
hf_status hf_device_settle(hf_device *device, const hf_buffer *buffer) {
    static const double LASTS = 3e-3; /* [s] */
    unsigned char read;
    if (!hf_device_on_one_core(device))
        return HF_OK;
    for (double begin = hf_clock_now(); hf_clock_now() - begin < LASTS;)
        HF_TRY(device->ops->read(device, buffer, 0, &read, sizeof read, NULL, NULL));
    return HF_OK;
}
