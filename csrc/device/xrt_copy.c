/* xrt_copy.c - copies of the runtime `xrt`.
 *
 * A copy goes through a mirror of the buffer in host memory. Since XRT 2.16 it says of no copy
 * that it failed: so what a read finds in the mirror is spoiled before, and is right only if it
 * came from the card.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/error.h"
#include "core/pages.h"
#include "xrt_device.h"

/* Of a copy that the caller makes itself: longer ones take long enough to hand them over, and
 * for other ranks to ask meanwhile [B]. */
static const size_t OWN = (size_t)16 << 20;

static hf_status mirror_sync(const hf_xrt_buffer *buffer, int direction, size_t at,
                             size_t bytes) {
    errno = 0;
    if (hf_xrt.BOSync(buffer->bo, direction, bytes, at) == 0)
        return HF_OK;
    return hf_xrt_fail(HF_EDEVICE,
                       direction == HF_XRT_TO_DEVICE ? "xrtBOSync to the card"
                                                     : "xrtBOSync from the card",
                       errno, hf_xrt_heard());
}

/** Spoil a word every 4032 B and the last 8 B, so a lost read leaves wrong data. Not every 4096 B:
 *  these words would share one cache set. None overlap. Both steps are those of a generator of
 *  full period: what is spoiled, sent on and spoiled again is not right again. */
static void mirror_spoil(char *mirror, size_t bytes) {
    enum { STEP = HF_PAGE - 64 };
    uint64_t word;
    for (size_t i = 0; i + 2 * sizeof word <= bytes; i += STEP) {
        memcpy(&word, mirror + i, sizeof word);
        word = word * 6364136223846793005U + 1442695040888963407U;
        memcpy(mirror + i, &word, sizeof word);
    }
    for (size_t i = bytes > sizeof word ? bytes - sizeof word : 0; i < bytes; i++)
        mirror[i] = (char)((unsigned char)mirror[i] * 5 + 163);
}

static hf_status mirror_fetch(const hf_xrt_buffer *buffer, size_t at, size_t bytes) {
    mirror_spoil((char *)buffer->base.mirror + at, bytes);
    return mirror_sync(buffer, HF_XRT_FROM_DEVICE, at, bytes);
}

/* The mirror itself may be what is copied from, or to. */
static void bytes_move(char *to, const char *from, size_t bytes) {
    if (to != from)
        memcpy(to, from, bytes);
}

static hf_status write_run(const hf_host_task *task) {
    const hf_xrt_buffer *buffer = task->context;
    bytes_move((char *)buffer->base.mirror + task->to_at, task->from, task->bytes);
    return mirror_sync(buffer, HF_XRT_TO_DEVICE, task->to_at, task->bytes);
}

static hf_status read_run(const hf_host_task *task) {
    const hf_xrt_buffer *buffer = task->context;
    HF_TRY(mirror_fetch(buffer, task->from_at, task->bytes));
    bytes_move(task->to, (const char *)buffer->base.mirror + task->from_at,
               task->bytes);
    return HF_OK;
}

static hf_status copy_run(const hf_host_task *task) {
    const hf_xrt_buffer *from = task->from, *to = task->context;
    HF_TRY(mirror_fetch(from, task->from_at, task->bytes));
    memcpy((char *)to->base.mirror + task->to_at,
           (const char *)from->base.mirror + task->from_at, task->bytes);
    return mirror_sync(to, HF_XRT_TO_DEVICE, task->to_at, task->bytes);
}

static hf_status fetch_run(const hf_host_task *task) {
    return mirror_fetch(task->context, 0, task->bytes);
}

static hf_status store_run(const hf_host_task *task) {
    return mirror_sync(task->context, HF_XRT_TO_DEVICE, 0, task->bytes);
}

static hf_status watched_run(const hf_host_task *task) {
    const hf_xrt_buffer *buffer = task->context;
    return hf_xrt_watched(buffer->device->watch, task);
}

static hf_status start(hf_device *base, const hf_host_task *task, const hf_order *order,
                       hf_event **done) {
    hf_xrt_device *device = (hf_xrt_device *)base;
    return done || task->bytes > OWN || !device->watch
               ? hf_host_start(base, task, order, done)
               : hf_host_now(base, task, order, watched_run);
}

hf_status hf_xrt_write(hf_device *base, hf_buffer *to, size_t at, const void *from,
                       size_t bytes, const hf_order *order, hf_event **done) {
    assert(bytes > 0 && at <= to->bytes && bytes <= to->bytes - at);
    const hf_host_task task = {
        .run = write_run, .context = to, .to_at = at, .from = from, .bytes = bytes};
    return start(base, &task, order, done);
}

hf_status hf_xrt_read(hf_device *base, const hf_buffer *from, size_t at, void *to,
                      size_t bytes, const hf_order *order, hf_event **done) {
    assert(bytes > 0 && at <= from->bytes && bytes <= from->bytes - at);
    const hf_host_task task = {.run = read_run,
                               .context = (void *)from,
                               .from_at = at,
                               .to = to,
                               .bytes = bytes};
    return start(base, &task, order, done);
}

hf_status hf_xrt_copy(hf_device *base, hf_buffer *to, size_t to_at,
                      const hf_buffer *from, size_t from_at, size_t bytes,
                      const hf_order *order, hf_event **done) {
    assert(bytes > 0 && to_at <= to->bytes && bytes <= to->bytes - to_at);
    assert(from_at <= from->bytes && bytes <= from->bytes - from_at);
    const hf_host_task task = {.run = copy_run,
                               .context = to,
                               .to_at = to_at,
                               .from = from,
                               .from_at = from_at,
                               .bytes = bytes};
    return start(base, &task, order, done);
}

hf_status hf_xrt_map(hf_device *base, hf_buffer *buffer, void **address) {
    const hf_host_task task = {
        .run = fetch_run, .context = buffer, .bytes = buffer->bytes};
    HF_TRY(start(base, &task, NULL, NULL));
    *address = buffer->mirror;
    return HF_OK;
}

hf_status hf_xrt_unmap(hf_device *base, hf_buffer *buffer, void *address) {
    (void)address;
    const hf_host_task task = {
        .run = store_run, .context = buffer, .bytes = buffer->bytes};
    return start(base, &task, NULL, NULL);
}
