/* xrt.c - the runtime `xrt`: Xilinx's cards by XRT's own C functions.
 *
 * XRT's copies block, and its runs are waited for: threads of the host do both, one for each
 * queue, but for short copies, which the caller makes itself.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/pages.h"
#include "xrt_device.h"

enum { EXIT_SECONDS = 2 };

atomic_bool hf_xrt_ending;

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static hf_xrt_device *open_devices;
static pid_t owner; /* the process of these */

/* ---- from open to close ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given;
    bool is_given;
} end = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *buffers_give(void *unused) {
    for (hf_xrt_device *d = open_devices; d; d = d->next)
        for (hf_xrt_buffer *b = d->buffers; b; b = b->next)
            if (b->bo && !b->leaves)
                hf_xrt.BOFree(b->bo);
    pthread_mutex_lock(&end.lock);
    end.is_given = true;
    pthread_cond_signal(&end.given);
    pthread_mutex_unlock(&end.lock);
    return unused;
}

/** XRT crashes if it has buffers when the process ends. It may never return, if it has not
 *  from another call. A child has none of the threads, and the buffers are its parent's: it ends
 *  without XRT's part in that. */
static void at_exit(int code, void *unused) {
    pthread_t thread;
    int late = 0;
    (void)unused;
    if (owner != getpid()) {
        if (!open_devices)
            return;
        fflush(NULL);
        _exit(code);
    }
    atomic_store(&hf_xrt_ending, true);
    for (hf_xrt_device *d = open_devices; d; d = d->next) {
        if (d->base.queues)
            hf_host_queues_stop(&d->base);
        if (d->watch)
            hf_xrt_watch_stop(d->watch);
    }
    hf_clock_condition(&end.given);
    if (!open_devices || pthread_create(&thread, NULL, buffers_give, NULL) != 0)
        return;
    struct timespec until = hf_clock_after(EXIT_SECONDS);
    pthread_mutex_lock(&end.lock);
    while (!end.is_given && !late)
        late = pthread_cond_timedwait(&end.given, &end.lock, &until);
    pthread_mutex_unlock(&end.lock);
}

static void device_enter(hf_xrt_device *device) {
    static bool registered;
    pthread_mutex_lock(&open_lock);
    owner = getpid();
    registered = registered || on_exit(at_exit, NULL) == 0;
    device->next = open_devices;
    open_devices = device;
    pthread_mutex_unlock(&open_lock);
}

static void device_leave(const hf_xrt_device *device) {
    pthread_mutex_lock(&open_lock);
    hf_xrt_device **at = &open_devices;
    while (*at && *at != device)
        at = &(*at)->next;
    if (*at)
        *at = device->next;
    pthread_mutex_unlock(&open_lock);
}

static hf_status driver_ask(hf_xrt_device *device) {
    char path[sizeof device->power];
    HF_TRY(hf_xrt_file_find(path, sizeof path, device, "", "nodma"));
    if (hf_xrt_number(device, path) == 1)
        return hf_fail(HF_ENOTSUP,
                       "card \"%s\" has a shell without DMA: these are not supported",
                       device->base.info.name);
    return hf_xrt_file_find(device->power, sizeof device->power, device, "xmc",
                            "xmc_power");
}

static hf_status xrt_open(hf_device **out, const char *selector, int local_rank,
                          const hf_vendors *vendors) {
    hf_xrt_device *device = calloc(1, sizeof *device);
    if (!device)
        return hf_fail(HF_ENOMEM, "no memory for a device");
    double deadline =
        vendors && vendors->deadline > 0 ? vendors->deadline : HF_DEADLINE;
    device->base = (hf_device){.ops = &hf_device_xrt, .deadline = deadline};
    hf_status status = hf_xrt_pick(&device->handle, &device->base.info, selector,
                                   local_rank, deadline, vendors);
    if (status == HF_OK)
        status = driver_ask(device);
    if (status == HF_OK)
        status = hf_host_queues_new(&device->base);
    if (status != HF_OK) {
        char why[HF_MESSAGE_ROOM]; /* what closes may fail, too */
        snprintf(why, sizeof why, "%s", hf_error());
        if (device->handle)
            hf_xrt_handle_close(device->handle, NULL, deadline);
        free(device);
        return hf_fail(status, "%s", why);
    }
    device->watch = hf_xrt_watch_new(&device->base, vendors ? vendors->stuck : NULL);
    device_enter(device);
    *out = &device->base;
    return HF_OK;
}

/* What a command of a broken device may still use stays, as does what XRT does not take back:
 * XRT knows it until the end. */
static void xrt_close(hf_device *base) {
    hf_xrt_device *device = (hf_xrt_device *)base;
    if (!device || base->broken || atomic_load(&hf_xrt_ending) ||
        !hf_host_queues_free(base))
        return;
    if (device->watch)
        hf_xrt_watch_free(device->watch);
    for (hf_xrt_buffer *b = device->buffers, *next; b && !base->broken; b = next) {
        next = b->next;
        hf_xrt_release(b);
    }
    if (!base->broken)
        hf_xrt_handle_close(device->handle, base, base->deadline);
    if (base->broken || device->buffers)
        return;
    device_leave(device);
    free(device->xclbin);
    free(device->binary);
    free(device);
}

static hf_status xrt_build(hf_device *base, const char *source, const char *options,
                           /* NOLINTNEXTLINE(readability-non-const-parameter) */
                           unsigned char **binary, size_t *bytes) {
    (void)source, (void)options, (void)binary, (void)bytes;
    return hf_fail(
        HF_ENOTSUP,
        "device \"%s\" compiles nothing: give an xclbin (--kernel), which v++ "
        "makes of what \"hpccfpga kernels build --target xilinx\" writes",
        base->info.name);
}

/* ---- buffers ---- */

static hf_status xrt_wrap(hf_buffer **out, hf_device *base, void *memory,
                          size_t bytes) {
    (void)out, (void)memory, (void)bytes;
    return hf_fail(HF_ENOTSUP, "device \"%s\" does not work in host memory",
                   base->info.name);
}

static hf_status xrt_pin(hf_buffer **out, hf_device *base, void *memory, size_t bytes) {
    HF_TRY(hf_device_check(base));
    hf_xrt_buffer *buffer = calloc(1, sizeof *buffer);
    void *own = memory ? memory : hf_pages_new(bytes);
    if (!buffer || !own) {
        free(buffer);
        if (!memory)
            free(own);
        return hf_fail(HF_ENOMEM, "no host memory for a buffer of %zu B", bytes);
    }
    *buffer = (hf_xrt_buffer){.base = {.bytes = bytes, .host = own},
                              .device = (hf_xrt_device *)base,
                              .borrowed = memory != NULL};
    *out = &buffer->base;
    return HF_OK;
}

static void xrt_free(hf_buffer *base) {
    hf_xrt_buffer *buffer = (hf_xrt_buffer *)base;
    if (!buffer || atomic_load(&hf_xrt_ending))
        return;
    bool broken = buffer->device->base.broken;
    if (buffer->bo && !broken) {
        hf_xrt_release(buffer);
    } else if (!buffer->bo && broken) {
        buffer->next = buffer->device->buffers;
        buffer->device->buffers = buffer;
    } else if (!buffer->bo) {
        if (!buffer->borrowed)
            free(buffer->base.host);
        free(buffer);
    }
}

/** A card that is on draws some: 0 means that nothing measures it. */
static double xrt_power(hf_device *base) {
    hf_xrt_device *device = (hf_xrt_device *)base;
    unsigned long long microwatts = hf_xrt_number(device, device->power);
    return microwatts ? 1e-6 * (double)microwatts : NAN;
}

const hf_device_ops hf_device_xrt = {
    .name = "xrt",
    .summary = "Xilinx cards by XRT",
    .programs = "xclbin",
    .list = hf_xrt_list,
    .open = xrt_open,
    .close = xrt_close,
    .build = xrt_build,
    .load = hf_xrt_load_xclbin,
    .kernel = hf_xrt_kernel_open,
    .kernel_free = hf_xrt_kernel_free,
    .alloc = hf_xrt_alloc,
    .wrap = xrt_wrap,
    .pin = xrt_pin,
    .free = xrt_free,
    .write = hf_xrt_write,
    .read = hf_xrt_read,
    .copy = hf_xrt_copy,
    .launch = hf_xrt_launch,
    .mark = hf_host_mark,
    .map = hf_xrt_map,
    .unmap = hf_xrt_unmap,
    .test = hf_host_test,
    .wait = hf_host_wait,
    .finish = hf_host_finish,
    .idle = hf_host_idle,
    .profile = hf_host_profile,
    .times = hf_host_times,
    .power = xrt_power,
    .host_clock = true,
};
