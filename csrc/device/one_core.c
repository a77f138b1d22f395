/* one_core.c - devices whose threads take turns with the caller. */
#include "one_core.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/parallel.h"

bool hf_device_on_one_core(const hf_device *device) {
    return device->info.copied_by_threads && hf_cores() == 1;
}

/* After kernels, a copy takes up to twice as long for about a millisecond: docs/adr/0047. */
hf_status hf_device_settle(hf_device *device, const hf_buffer *buffer) {
    static const double LASTS = 3e-3; /* [s] */
    unsigned char read;
    for (double begin = hf_clock_now(); hf_clock_now() - begin < LASTS;)
        HF_TRY(device->ops->read(device, buffer, 0, &read, sizeof read, NULL, NULL));
    return HF_OK;
}
