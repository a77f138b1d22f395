/* plant_device.c - faults planted in a device's table: copies, maps and launches. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plant_state.h"

static const hf_device_ops *table; /* the device's own */

/* Device buffers of this run, in the order of `alloc`: their memory, which comes back in each
 * run, and what it held at the end of the reference. */
static struct {
    hf_buffer *buffer;
    unsigned char *memory, *image;
    size_t bytes;
    bool given;   /* to a check */
    bool damaged; /* or what came from it was */
} kept[PLANT_BUFFERS];
static size_t n_kept;

/* Contents of buffers before a launch or in a map; `event` is that of a launch that still
 * runs. */
static struct {
    hf_event *event;
    unsigned char *before[PLANT_BUFFERS];
} running;

static bool guards;     /* a kernel that goes astray does not end the process */
static bool waits_lost; /* commands may still use buffers that are freed */
static bool busy;       /* a command outlasted the last steps */

/* ---- device memory ---- */

static hf_status buffer_get(const hf_buffer *buffer, size_t at, void *to, size_t bytes,
                            const hf_order *order) {
    return table->read(plant.session->device, buffer, at, to, bytes, order, NULL);
}

static hf_status buffer_put(hf_buffer *buffer, size_t at, const void *from,
                            size_t bytes, const hf_order *order) {
    return table->write(plant.session->device, buffer, at, from, bytes, order, NULL);
}

/* A kernel may outlast a short deadline: then nothing of its device can be read. */
static void must_work(hf_status status) {
    plant_must(status == HF_OK || plant.session->device->broken);
}

size_t plant_number(const hf_buffer *buffer) {
    size_t i = 0;
    while (i < n_kept && kept[i].buffer != buffer)
        i++;
    return i < n_kept ? i : PLANT_BUFFERS;
}

static void buffer_forget(size_t i) {
    free(kept[i].image);
    if (kept[i].memory)
        plant_memory_free(kept[i].memory, kept[i].bytes);
    memset(&kept[i], 0, sizeof kept[i]);
}

/* A buffer over memory of ours; one of the device's own, with the same in it, where that is not
 * the host's. */
static hf_status buffer_make(hf_buffer **out, hf_device *device, size_t i, size_t bytes,
                             const hf_spot *spot) {
    guards = table->wrap(out, device, kept[i].memory, bytes) == HF_OK;
    if (guards)
        return HF_OK;
    HF_TRY(table->alloc(out, device, bytes, spot));
    return buffer_put(*out, 0, kept[i].memory, bytes, NULL);
}

static hf_status planted_alloc(hf_buffer **out, hf_device *device, size_t bytes,
                               const hf_spot *spot) {
    plant_must(n_kept < PLANT_BUFFERS);
    size_t i = n_kept++;
    if (kept[i].bytes != bytes) {
        buffer_forget(i);
        kept[i].memory = plant_memory_new(kept[i].bytes = bytes);
    }
    if (kept[i].image)
        memcpy(kept[i].memory, kept[i].image, bytes);
    HF_TRY(buffer_make(out, device, i, bytes, spot));
    kept[i].buffer = *out;
    return HF_OK;
}

/* Faults are for the device's own memory. */
static hf_status planted_wrap(hf_buffer **out, hf_device *device, void *memory,
                              size_t bytes) {
    return memory ? table->wrap(out, device, memory, bytes)
                  : planted_alloc(out, device, bytes, NULL);
}

static void planted_free(hf_buffer *buffer) {
    size_t i = plant_number(buffer);
    if (waits_lost)
        table->finish(plant.session->device);
    waits_lost = false;
    if (buffer && i < PLANT_BUFFERS) {
        if (plant.learning == 2) {
            kept[i].image = plant_room(kept[i].bytes);
            must_work(buffer_get(buffer, 0, kept[i].image, kept[i].bytes, NULL));
        }
        kept[i].buffer = NULL;
    }
    table->free(buffer);
}

/* The check is given this buffer. */
static void given_note(const hf_buffer *buffer) {
    size_t i = plant_number(buffer);
    bool checks = plant.phase == PLANT_CHECK || plant.phase == PLANT_WARM_CHECK;
    if (i < PLANT_BUFFERS)
        kept[i].given = kept[i].given || checks;
}

/* The fault damages bytes on their way from or to this buffer. */
static void damaged_note(const hf_buffer *buffer) {
    size_t i = plant_number(buffer);
    plant.report.apart = plant.report.apart && i < PLANT_BUFFERS && !kept[i].given;
    if (i < PLANT_BUFFERS)
        kept[i].damaged = true;
}

bool plant_given(size_t buffer) {
    return kept[buffer].given;
}

bool plant_damaged(size_t buffer) {
    return kept[buffer].damaged;
}

void plant_digest(uint64_t digests[PLANT_PIECES]) {
    memset(digests, 0, PLANT_PIECES * sizeof *digests);
    for (size_t b = 0; b < n_kept; b++) {
        hf_buffer *buffer = kept[b].buffer;
        enum { LINE = 4 * sizeof(uint64_t) };
        if (!buffer)
            continue;
        unsigned char *data = plant_room(buffer->bytes + LINE); /* zeros behind it */
        must_work(buffer_get(buffer, 0, data, buffer->bytes, NULL));
        size_t lines = (buffer->bytes + LINE - 1) / LINE;
        for (size_t p = 0; p < PLANT_PARTS; p++) {
            uint64_t sums[4] = {b, p, 2, 3},
                     sum = 0; /* side by side: a pass is cheap */
            for (size_t i = lines * p / PLANT_PARTS; i < lines * (p + 1) / PLANT_PARTS;
                 i++)
                for (size_t k = 0; k < 4; k++) {
                    uint64_t word;
                    memcpy(&word, data + i * LINE + k * sizeof word, sizeof word);
                    sums[k] = ((sums[k] ^ word) * 0x9E3779B97F4A7C15) ^ (sums[k] >> 29);
                }
            for (size_t k = 0; k < 4; k++)
                sum = sum * 31 + sums[k];
            digests[b * PLANT_PARTS + p] = sum;
        }
        free(data);
    }
}

/* These bytes come to a buffer as the fault leaves them. */
static hf_status arrive(int call, hf_buffer *to, size_t at, const void *from,
                        size_t bytes, const hf_order *order, hf_event **done) {
    damaged_note(to);
    unsigned char *was = plant_room(bytes), *is = plant_room(bytes),
                  *right = plant_room(bytes);
    memcpy(right, from, bytes); /* which may be where the next copy goes through */
    memcpy(is, right, bytes);
    for (size_t i = 0; i < bytes; i++)
        plant.report.clears = plant.report.clears && right[i] == 0;
    hf_status status = buffer_get(to, at, was, bytes, order);
    plant_damage(is, was, bytes);
    plant.report.acted += plant.fault->kind == PLANT_REPEAT;
    for (int i = 0; status == HF_OK && i <= (plant.fault->kind == PLANT_REPEAT); i++)
        status = buffer_put(to, at, is, bytes, order);
    plant_keep(call, right, bytes);
    free(right);
    free(was);
    free(is);
    if (done)
        *done = NULL; /* it has ended */
    return status;
}

static hf_status planted_write(hf_device *device, hf_buffer *to, size_t at,
                               const void *from, size_t bytes, const hf_order *order,
                               hf_event **done) {
    given_note(to);
    if (plant_hit(PLANT_WRITE))
        return arrive(PLANT_WRITE, to, at, from, bytes, order, done);
    plant_keep(PLANT_WRITE, from, bytes);
    return table->write(device, to, at, from, bytes, order, done);
}

static hf_status planted_copy(hf_device *device, hf_buffer *to, size_t to_at,
                              const hf_buffer *from, size_t from_at, size_t bytes,
                              const hf_order *order, hf_event **done) {
    bool now = plant_hit(PLANT_COPY);
    given_note(to);
    given_note(from);
    unsigned char *right = plant_room(bytes);
    hf_status status = plant.fault && plant.fault->call == PLANT_COPY
                           ? buffer_get(from, from_at, right, bytes, order)
                           : HF_OK;
    if (status == HF_OK && now)
        status = arrive(PLANT_COPY, to, to_at, right, bytes, order, done);
    else if (status == HF_OK)
        status = table->copy(device, to, to_at, from, from_at, bytes, order, done);
    if (!now)
        plant_keep(PLANT_COPY, right, bytes);
    free(right);
    return status;
}

static hf_status planted_read(hf_device *device, const hf_buffer *from, size_t at,
                              void *to, size_t bytes, const hf_order *order,
                              hf_event **done) {
    bool now = plant_hit(PLANT_READ);
    given_note(from);
    if (now)
        damaged_note(from);
    if (plant.spoiling == PLANT_SOUND && !now &&
        !(plant.fault && plant.fault->kind == PLANT_STALE &&
          plant.fault->call == PLANT_READ))
        return table->read(device, from, at, to, bytes, order, done);
    unsigned char *is = plant_room(bytes), *right = plant_room(bytes),
                  *was = plant_room(bytes);
    memcpy(was, to, bytes); /* through which the copy may go */
    /* A runtime spoils the mirror of its buffer before each copy: a lost one leaves that. */
    bool mirrored = from->mirror && to == (char *)from->mirror + at;
    for (size_t i = 0; mirrored && i < bytes && i < 8; i++)
        was[i] ^= 0xFF;
    hf_status status = buffer_get(from, at, is, bytes, order);
    memcpy(right, is, bytes);
    if (now)
        plant_damage(is, was, bytes);
    plant.report.acted += now && plant.fault->kind == PLANT_REPEAT;
    if (plant.spoiling == PLANT_LOST)
        memcpy(is, was, bytes);
    else if (plant.spoiling != PLANT_SOUND)
        is[plant.spoiling == PLANT_WRONG_FIRST    ? 0
           : plant.spoiling == PLANT_WRONG_MIDDLE ? bytes / 2
                                                  : bytes - 1] ^=
            0x20; /* not what plant_memory_spoil changes: two would cancel */
    plant.report.spoiled += plant.spoiling != PLANT_SOUND;
    memcpy(to, is, bytes);
    plant_keep(PLANT_READ, right, bytes);
    free(was);
    free(right);
    free(is);
    if (done)
        *done = NULL; /* it has ended */
    return status;
}

/* Mapped memory: what the host finds there, and what of its writing arrives. */
static hf_status planted_map(hf_device *device, hf_buffer *buffer, void **address) {
    given_note(buffer);
    HF_TRY(table->map(device, buffer, address));
    if (plant_hit(PLANT_MAP) && plant.fault->kind > PLANT_SHORTEN)
        plant_damage(*address, *address, buffer->bytes);
    plant_keep(PLANT_MAP, *address, buffer->bytes);
    size_t number = plant_number(buffer);
    if (plant.fault && plant.fault->call == PLANT_UNMAP && number < PLANT_BUFFERS) {
        free(running.before[number]); /* several are mapped at the same time */
        running.before[number] = plant_room(buffer->bytes);
        memcpy(running.before[number], *address, buffer->bytes);
    }
    return HF_OK;
}

static hf_status planted_unmap(hf_device *device, hf_buffer *buffer, void *address) {
    size_t number = plant_number(buffer);
    if (plant_hit(PLANT_UNMAP) && number < PLANT_BUFFERS) {
        damaged_note(buffer);
        plant_damage(address, running.before[number], buffer->bytes);
    }
    plant_keep(PLANT_UNMAP, address, buffer->bytes);
    return table->unmap(device, buffer, address);
}

/* Waits that return before what they wait for has ended. */
static bool waits_not(int call) {
    bool drops = plant_hit(call) && plant.fault->kind == PLANT_DROP;
    plant.report.acted += drops;
    waits_lost = waits_lost || drops;
    return drops;
}

static hf_status planted_finish(hf_device *device) {
    return waits_not(PLANT_FINISH) ? HF_OK : table->finish(device);
}

static hf_status planted_mark(hf_device *device, const hf_order *order,
                              hf_event **done) {
    if (!waits_not(PLANT_MARK))
        return table->mark(device, order, done);
    if (done)
        *done = NULL; /* it has ended */
    return HF_OK;
}

/* ---- launches ---- */

static void before_take(const hf_launch *launch, const hf_order *order) {
    for (size_t a = 0; a < launch->n_args; a++) {
        hf_buffer *buffer = launch->args[a].buffer;
        size_t number = buffer ? plant_number(buffer) : PLANT_BUFFERS;
        if (number == PLANT_BUFFERS || running.before[number])
            continue;
        running.before[number] = plant_room(buffer->bytes);
        must_work(buffer_get(buffer, 0, running.before[number], buffer->bytes, order));
    }
}

/* Narrow first..end to the numbers that differ: a flipped low byte of one may be less than
 * rounding. */
static void changed_find(const unsigned char *before, const unsigned char *now,
                         size_t *first, size_t *end) {
    size_t bytes = *end;
    while (*first < *end && now[*first] == before[*first])
        ++*first;
    while (*end > *first && now[*end - 1] == before[*end - 1])
        --*end;
    if (*first == *end)
        return;
    *first -= *first % sizeof(double);
    *end += (sizeof(double) - *end % sizeof(double)) % sizeof(double);
    *end = *end < bytes ? *end : bytes;
}

/* Damage what the launch wrote, from the first to the last byte that it changed. */
static void after_damage(void) {
    for (size_t b = 0; b < n_kept; b++) {
        unsigned char *before = running.before[b];
        running.before[b] = NULL;
        if (!before || !kept[b].buffer) {
            free(before);
            continue;
        }
        size_t bytes = kept[b].buffer->bytes, first = 0, end = bytes;
        unsigned char *now = plant_room(bytes);
        must_work(buffer_get(kept[b].buffer, 0, now, bytes, NULL));
        changed_find(before, now, &first, &end);
        if (end > first) {
            plant_damage(now + first, before + first, end - first);
            must_work(
                buffer_put(kept[b].buffer, first, now + first, end - first, NULL));
        }
        free(now);
        free(before);
    }
}

/* ---- wrong results ---- */

static unsigned char *before_steps[PLANT_BUFFERS];

void plant_memory_keep(void) {
    for (size_t b = 0; b < n_kept; b++) {
        if (!kept[b].buffer)
            continue;
        before_steps[b] = plant_room(kept[b].bytes);
        must_work(buffer_get(kept[b].buffer, 0, before_steps[b], kept[b].bytes, NULL));
    }
}

size_t plant_memory_spoil(int how) {
    size_t spoiled = 0;
    for (size_t b = 0; b < n_kept; b++) {
        unsigned char *before = before_steps[b];
        before_steps[b] = NULL;
        if (!before || !kept[b].buffer) {
            free(before);
            continue;
        }
        size_t bytes = kept[b].bytes, first = 0, end = bytes;
        unsigned char *now = plant_room(bytes);
        must_work(buffer_get(kept[b].buffer, 0, now, bytes, NULL));
        changed_find(before, now, &first, &end);
        size_t middle = (first + end) / 2;
        while (how == PLANT_WRONG_MIDDLE && middle < end &&
               now[middle] == before[middle])
            middle++;
        size_t at = how == PLANT_WRONG_FIRST                    ? first
                    : how == PLANT_WRONG_MIDDLE && middle < end ? middle
                                                                : end - 1;
        at |= 7; /* as in a flip */
        if (how != PLANT_LOST && end > first)
            now[at < bytes ? at : bytes - 1] ^= 0x40;
        must_work(buffer_put(kept[b].buffer, 0, how == PLANT_LOST ? before : now, bytes,
                             NULL));
        spoiled += end - first;
        free(now);
        free(before);
    }
    return spoiled;
}

static hf_status planted_launch(hf_device *device, const hf_launch *what,
                                const hf_order *order, hf_event **done) {
    bool now = plant_hit(PLANT_LAUNCH), streams = plant.session->exchange->ops->streams;
    bool beside =
        streams && order && order->queue > 0; /* it ends when others have run */
    hf_launch launch = *what;
    hf_arg args[PLANT_ARGS];
    uint64_t values[PLANT_ARGS][PLANT_WORDS];
    int times = 1;
    plant_must(what->n_args <= PLANT_ARGS);
    for (size_t a = 0; a < what->n_args; a++)
        given_note(what->args[a].buffer);
    if (now && plant.fault->kind == PLANT_SHORTEN)
        now = plant_launch_shorten(&launch, args, values);
    else if (now && plant.fault->kind == PLANT_STALE)
        now = plant_launch_age(&launch, args, values);
    else if (now && plant.fault->kind == PLANT_REPEAT && beside)
        now = false;
    if (plant.fault && plant.fault->call == PLANT_LAUNCH &&
        plant.fault->kind == PLANT_STALE)
        plant_launch_keep(what);
    if (!now) {
        HF_TRY(table->launch(device, what, order, done));
        return plant_memory_check();
    }
    bool whole = plant.fault->kind != PLANT_FLIP && plant.fault->kind != PLANT_ZERO;
    plant.report.acted += whole;
    plant.report.changed += whole;
    times = plant.fault->kind == PLANT_DROP     ? 0
            : plant.fault->kind == PLANT_REPEAT ? 2
                                                : 1;
    if (!whole)
        before_take(&launch, order);
    if (beside && times == 1) {
        hf_status status = table->launch(device, &launch, order, done);
        if (!whole)
            running.event = *done;
        return status;
    }
    for (int i = 0; i < times; i++) {
        HF_TRY(table->launch(device, &launch, order, NULL));
    }
    if (!whole)
        after_damage();
    if (done)
        *done = NULL; /* it has ended */
    return plant_memory_check();
}

static hf_status planted_wait(hf_device *device, hf_event *event) {
    bool damaged = event && event == running.event;
    if (event && waits_not(PLANT_WAIT))
        return HF_OK;
    hf_status status = table->wait(device, event);
    if (damaged) {
        running.event = NULL;
        after_damage();
    }
    return status == HF_OK ? plant_memory_check() : status;
}

bool plant_guards(void) {
    return guards;
}

/* The session asks when the digest of memory has waited for all that was under way. */
static bool planted_idle(const hf_device *device) {
    return table->idle(device) && !busy;
}

void plant_device_steps_end(void) {
    busy = !table->idle(plant.session->device);
    plant.report.busy = plant.report.busy || busy;
}

/* ---- for plant.c ---- */

void plant_device_wrap(hf_device_ops *ops, const hf_device_ops *own) {
    table = own;
    *ops = *own;
    ops->alloc = planted_alloc;
    ops->wrap = planted_wrap;
    ops->free = planted_free;
    ops->write = planted_write;
    ops->read = planted_read;
    ops->copy = planted_copy;
    ops->map = planted_map;
    ops->unmap = planted_unmap;
    ops->launch = planted_launch;
    ops->finish = planted_finish;
    ops->mark = planted_mark;
    ops->wait = planted_wait;
    ops->idle = planted_idle;
}

void plant_device_start(void) {
    n_kept = 0;
    busy = false;
    plant_launch_start();
    running.event = NULL;
    for (size_t b = 0; b < PLANT_BUFFERS; b++) {
        free(running.before[b]);
        running.before[b] = NULL;
        kept[b].damaged = false;
    }
}

void plant_device_forget(void) {
    for (size_t b = 0; b < PLANT_BUFFERS; b++)
        buffer_forget(b);
}
