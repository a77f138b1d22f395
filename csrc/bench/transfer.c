/* transfer.c - what a step of an exchange is made of: device reads and writes alone or beside each
 * other; or whole steps around the ring of ranks, with the time of their parts.
 *
 * Windows slide: window number j is copied from 2 j HF_SLIDE to j HF_SLIDE, the first one first in
 * every other sample, the last one first in those between. So the next step overwrites all that a
 * step writes but its first or its last HF_SLIDE bytes. These stay, and no other step writes the
 * same there: a lost, repeated or late copy is seen, and one that lacks its front or its end in
 * half of the samples. One step of each sample, drawn for it, is copied behind all windows, where
 * no other step writes: of that, as of the last, all bytes are seen.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/error.h"
#include "core/random.h"
#include "transfer.h"

static const hf_param params[] = {
    {"part",
     "what is timed: read, device to host; write, host to device; both at once; or "
     "step, a read, the exchange and a write",
     "write", "write|read|both|step", NULL, 0, 0, HF_TEXT},
    {"memory",
     "of the host, for a read or a write alone: pinned, or pageable, as malloc gives "
     "it",
     "pinned", "pinned|pageable", NULL, 0, 0, HF_TEXT},
    HF_SWEEP_PARAMS,
    HF_CHUNK_PARAMS,
    {0},
};

static const hf_quantity labels[] = {{"message_size", "B", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"bandwidth", "B/s", HF_F64, NULL}, {0}};
static const hf_quantity parts[] = {
    {"transfer_time", "s", HF_F64, NULL}, {"exchange_time", "s", HF_F64, NULL}, {0}};
static const hf_figure figures[] = {{"latency", "s", "time", HF_FIGURE_SMALLEST}, {0}};

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t steps_of(const transfer *s, size_t point) {
    return hf_sweep_steps(&s->sweep, (size_t)s->sweep.sizes[point]);
}

static size_t sent_bytes(const transfer *s, size_t point) {
    return (size_t)s->sweep.sizes[point] + (steps_of(s, point) - 1) * 2 * HF_SLIDE;
}

/* Up to the end of the last window, and to a slide. */
static size_t slid_bytes(const transfer *s, size_t point) {
    size_t slides = ((size_t)s->sweep.sizes[point] + HF_SLIDE - 1) / HF_SLIDE;
    return HF_SLIDE * (slides + steps_of(s, point) - 1);
}

static size_t got_bytes(const transfer *s, size_t point) {
    return slid_bytes(s, point) + (size_t)s->sweep.sizes[point];
}

/* Parameters of other parts keep their defaults. */
static hf_status part_check(const transfer *s, const hf_args *args) {
    const char *part = hf_args_word(args, "part");
    for (const hf_param *p = hf_plan_params; !s->steps && p->name; p++)
        if (hf_args_number_or(args, p->name, 0) != 0)
            return hf_fail(HF_EARG,
                           "%s: %s, but part %s exchanges nothing; %s, or part step",
                           p->name, hf_args_word(args, p->name), part, p->fallback);
    if (hf_args_chosen(args, "memory", "pageable") &&
        (s->steps || s->writes == s->reads))
        return hf_fail(HF_EARG,
                       "memory: pageable, but part %s takes pinned memory; pinned, or "
                       "part write or read",
                       part);
    return HF_OK;
}

static hf_status area_take(const transfer *s, transfer_area *out, size_t bytes,
                           bool pins) {
    hf_device *device = s->env.device;
    if (pins) {
        HF_TRY(device->ops->pin(&out->pinned, device, NULL, bytes));
        out->bytes = out->pinned->host;
        return HF_OK;
    }
    out->bytes = malloc(bytes);
    return out->bytes ? HF_OK
                      : hf_fail(HF_ENOMEM, "no memory for %zu B of the host", bytes);
}

/* A command of a broken device may still use it. */
static void area_free(const transfer *s, transfer_area *a) {
    if (!a->pinned && !s->env.device->broken)
        free(a->bytes);
    s->env.device->ops->free(a->pinned);
}

static hf_status transfer_setup(void *state, const hf_args *args, const hf_env *env,
                                hf_outline *out) {
    transfer *s = state;
    s->env = *env;
    s->steps = hf_args_chosen(args, "part", "step");
    s->reads = !s->steps && !hf_args_chosen(args, "part", "write");
    s->writes = !s->steps && !hf_args_chosen(args, "part", "read");
    HF_TRY(part_check(s, args));
    s->sweep = hf_sweep_of(args);
    out->n_points = s->sweep.n;
    out->longest = s->steps ? (size_t)hf_args_largest(args, "sizes") : 0;
    size_t sent = 1, got = 1;
    for (size_t i = 0; i < s->sweep.n; i++) {
        size_t chain = s->steps ? transfer_chain_bytes(s, i) : 0;
        sent = larger(sent, s->steps ? chain : sent_bytes(s, i));
        got = larger(got, s->steps ? chain : got_bytes(s, i));
    }
    hf_device *device = env->device;
    bool pins = hf_args_chosen(args, "memory", "pinned");
    if (s->writes)
        HF_TRY(device->ops->alloc(&s->written, device, got, NULL));
    if (s->reads)
        HF_TRY(device->ops->alloc(&s->read, device, sent, NULL));
    for (int i = 0; s->steps && i < N_CHAINS; i++)
        HF_TRY(device->ops->alloc(&s->chains[i], device, got, NULL));
    HF_TRY(area_take(s, &s->from, sent, pins));
    return area_take(s, &s->to, got, pins);
}

static void transfer_teardown(void *state) {
    transfer *s = state;
    if (!s->env.device)
        return;
    transfer_plans_free(s);
    for (int i = 0; i < N_CHAINS; i++)
        s->env.device->ops->free(s->chains[i]);
    s->env.device->ops->free(s->written);
    s->env.device->ops->free(s->read);
    area_free(s, &s->from);
    area_free(s, &s->to);
}

void transfer_fill(unsigned char *out, size_t at, size_t n, uint64_t shift) {
    enum { ROW = 251 };
    for (size_t end = at + n, row; at < end;) {
        row = at / ROW;
        size_t stop = (row + 1) * ROW < end ? (row + 1) * ROW : end;
        for (; at < stop; at++)
            *out++ = (unsigned char)(at * 167 + row + shift);
    }
}

uint64_t transfer_shift(const transfer *s, uint64_t whose) {
    return 31 * s->sample + 97 * whose + s->env.seed;
}

void transfer_invert(unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)~bytes[i];
}

size_t transfer_differ(const unsigned char *one, const unsigned char *other, size_t n) {
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += one[i] != other[i];
    return differ;
}

size_t transfer_slice(const transfer *s, size_t i, size_t bytes) {
    size_t to_begin = HF_SLIDE - i % HF_SLIDE,
           to_end = HF_SLIDE - (i + HF_SLIDE - s->message % HF_SLIDE) % HF_SLIDE,
           most = to_begin < to_end ? to_begin : to_end;
    return bytes - i < most ? bytes - i : most;
}

/* The window that a step copies. */
static size_t window_of(const transfer *s, size_t step) {
    return s->upwards ? step : s->windows - 1 - step;
}

/* The window whose copy is the last of so many steps to write byte `i`; the kept one, which lies
 * elsewhere, if none does. */
static size_t writer_of(const transfer *s, size_t steps, size_t i) {
    size_t kept = window_of(s, s->kept), end = i / HF_SLIDE + 1,
           first = i < s->message ? 0 : (i - s->message) / HF_SLIDE + 1;
    if (s->upwards) {
        end = end < steps ? end : steps;
        end -= end > first && end - 1 == kept;
        return end > first ? end - 1 : kept;
    }
    size_t lowest = s->windows - steps;
    first = first > lowest ? first : lowest;
    end = end < s->windows ? end : s->windows;
    first += first == kept;
    return first < end ? first : kept;
}

/* Writes move other bytes than reads beside them. */
static uint64_t shift_to(const transfer *s, bool reads) {
    return transfer_shift(s, 2 * (uint64_t)s->env.rank + reads);
}

/* `n` bytes from `i` on, as so many writes or reads leave them: what is copied, or its inverse
 * where none has, as before all steps. */
static void right_bytes(const transfer *s, bool reads, size_t slid, size_t steps,
                        size_t i, unsigned char *out, size_t n) {
    size_t kept = window_of(s, s->kept),
           window = i < slid ? writer_of(s, steps, i) : kept;
    bool written = i < slid ? window != kept : s->kept < steps;
    if (i < slid && !written)
        window = writer_of(s, s->windows, i);
    transfer_fill(out,
                  i < slid ? i + window * HF_SLIDE : i - slid + 2 * kept * HF_SLIDE, n,
                  shift_to(s, reads));
    if (!written)
        transfer_invert(out, n);
}

static void all_bytes(const transfer *s, bool reads, size_t point, size_t steps,
                      unsigned char *out) {
    size_t bytes = got_bytes(s, point), slid = slid_bytes(s, point);
    for (size_t i = 0, n; i < bytes; i += n) {
        n = transfer_slice(s, i, bytes);
        right_bytes(s, reads, slid, steps, i, out + i, n);
    }
}

static double bytes_wrong(const transfer *s, bool reads, size_t point, size_t steps,
                          const unsigned char *came) {
    size_t bytes = got_bytes(s, point), slid = slid_bytes(s, point), wrong = 0;
    for (size_t i = 0, n; i < bytes; i += n) {
        unsigned char right[HF_SLIDE] = {0};
        n = transfer_slice(s, i, bytes);
        right_bytes(s, reads, slid, steps, i, right, n);
        wrong += transfer_differ(came + i, right, n);
    }
    return (double)wrong;
}

/* ---- a sample ---- */

/* Other bytes for each sample. */
static hf_status transfer_prepare(void *state, size_t point, uint64_t sample) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t sent = sent_bytes(s, point), got = got_bytes(s, point);
    s->sample = sample;
    s->taken = 0;
    s->message = (size_t)s->sweep.sizes[point];
    s->windows = steps_of(s, point);
    s->kept =
        (size_t)(hf_random(hf_random(s->env.seed, sample), s->message) % s->windows);
    s->upwards = sample % 2 == 1;
    if (s->steps)
        return transfer_chains_prepare(s, point);
    if (s->writes) {
        all_bytes(s, false, point, 0, s->to.bytes);
        HF_TRY(device->ops->write(device, s->written, 0, s->to.bytes, got, NULL, NULL));
    }
    if (s->reads) {
        transfer_fill(s->from.bytes, 0, sent, shift_to(s, true));
        HF_TRY(device->ops->write(device, s->read, 0, s->from.bytes, sent, NULL, NULL));
        all_bytes(s, true, point, 0, s->to.bytes);
    }
    if (s->writes)
        transfer_fill(s->from.bytes, 0, sent, shift_to(s, false));
    return HF_OK;
}

/* One window. Where both go on, neither is waited for before the other has begun. */
static hf_status window_copy(transfer *s, size_t from, size_t to) {
    static const hf_order beside = {.queue = HF_WRITES_QUEUE};
    hf_device *device = s->env.device;
    hf_event *events[2] = {NULL, NULL};
    bool both = s->writes && s->reads;
    hf_status status = HF_OK;
    if (s->reads)
        status = device->ops->read(device, s->read, from, s->to.bytes + to, s->message,
                                   NULL, both ? &events[0] : NULL);
    if (s->writes && status == HF_OK)
        status =
            device->ops->write(device, s->written, to, s->from.bytes + from, s->message,
                               both ? &beside : NULL, both ? &events[1] : NULL);
    if (!both || (status != HF_OK && device->broken))
        return status;
    hf_status ended = hf_device_wait(device, events, 2);
    return status == HF_OK ? ended : status;
}

static hf_status transfer_step(void *state, size_t point, size_t inner) {
    transfer *s = state;
    size_t slid = slid_bytes(s, point);
    if (s->steps)
        return transfer_chains_step(s, inner);
    for (size_t end = s->taken + inner; s->taken < end; s->taken++) {
        size_t at = window_of(s, s->taken) * HF_SLIDE;
        HF_TRY(window_copy(s, 2 * at, s->taken == s->kept ? slid : at));
    }
    hf_lap(s->env.laps, HF_LAP_TRANSFER);
    return HF_OK;
}

static hf_status transfer_verify(void *state, size_t point, size_t steps,
                                 hf_outcome *out) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t bytes = got_bytes(s, point);
    out->work[0] = s->sweep.sizes[point] * (s->writes && s->reads ? 2 : 1);
    if (s->steps)
        return transfer_chains_verify(s, point, steps, &out->error);
    out->error = 0;
    if (s->reads)
        out->error += bytes_wrong(s, true, point, steps, s->to.bytes);
    if (s->writes) {
        all_bytes(s, false, point, steps, s->to.bytes);
        transfer_invert(s->to.bytes, bytes); /* of a read that does nothing */
        HF_TRY(
            device->ops->read(device, s->written, 0, s->to.bytes, bytes, NULL, NULL));
        out->error += bytes_wrong(s, false, point, steps, s->to.bytes);
    }
    return HF_OK;
}

static hf_status transfer_plan(void *state, size_t point, hf_setting *out) {
    transfer *s = state;
    hf_sweep_plan(&s->sweep, point, out);
    return s->steps ? transfer_chains_plan(s, point) : HF_OK;
}

static const hf_bench_path blocks = {
    .state_size = sizeof(transfer),
    .setup = transfer_setup,
    .plan = transfer_plan,
    .prepare = transfer_prepare,
    .step = transfer_step,
    .verify = transfer_verify,
    .teardown = transfer_teardown,
};

const hf_bench hf_bench_transfer = {
    .name = "transfer",
    .summary =
        "device reads and writes alone, beside each other, or with an exchange between "
        "them; part of a calibration",
    .params = params,
    .problem = {"sizes", 1, false},
    .brief = true,
    .labels = labels,
    .metrics = metrics,
    .parts = parts,
    .figures = figures,
    .blocks = &blocks,
};
