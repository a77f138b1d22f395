/* transfer.c - what a step of an exchange is made of: device reads and writes alone, from pinned
 * memory and to it; or whole steps around the ring of ranks, with the time of their parts.
 *
 * Windows slide: window number j is copied from 2 j HF_SLIDE to j HF_SLIDE, the first one first in
 * every other sample, the last one first in those between. So the next step overwrites all that a
 * step writes but its first or its last HF_SLIDE bytes. These stay, and no other step writes the
 * same there: a lost, repeated or late copy is seen, and one that lacks its front or its end in
 * half of the samples. One step of each sample, drawn for it, is copied behind all windows, where
 * no other step writes: of that, as of the last, all bytes are seen.
 *
 * In whole steps, every rank has two chains of bytes. Step j sends window j of chain j % 2 to the
 * right, and receives the left neighbour's window into its other chain, HF_SLIDE further. Windows
 * slide up by twice as much, so each rank sends on what it got: a byte that is damaged in any step
 * stays wrong on some rank, and one that does not come leaves another in its place.
 */
#include <string.h>

#include "bench.h"
#include "core/error.h"
#include "core/random.h"
#include "sweep.h"

enum { N_CHAINS = 2 };

typedef struct transfer {
    hf_env env;
    hf_buffer *block, *pinned_sent, *pinned_got;
    unsigned char
        *sent; /* on the host, pinned: where the windows of a sample come from */
    unsigned char *got;          /* likewise: where they end */
    hf_buffer *chains[N_CHAINS]; /* of whole steps */
    hf_plan *plans[N_CHAINS];    /* from each to the other, at the current point */
    hf_sweep sweep;
    bool reads, steps;
    uint64_t sample;
    size_t message, windows; /* of this sample: bytes of one, and how many there are */
    size_t kept;             /* the step whose copy no other one writes on */
    bool upwards;            /* the first window first */
    size_t taken;            /* steps of this sample */
} transfer;

static const hf_param params[] = {
    {"part",
     "what is timed: read, device to host; write, host to device; or step, both and "
     "the exchange between them",
     "write", "write|read|step", NULL, 0, 0, HF_TEXT},
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

static size_t chain_bytes(const transfer *s, size_t point) {
    return (size_t)s->sweep.sizes[point] +
           hf_slide_room(steps_of(s, point), HF_SLIDE_LOG);
}

static hf_status transfer_setup(void *state, const hf_args *args, const hf_env *env,
                                hf_outline *out) {
    transfer *s = state;
    s->env = *env;
    s->reads = hf_args_chosen(args, "part", "read");
    s->steps = hf_args_chosen(args, "part", "step");
    for (const hf_param *p = hf_plan_params; !s->steps && p->name; p++)
        if (hf_args_number_or(args, p->name, 0) != 0)
            return hf_fail(HF_EARG,
                           "%s: %s, but part %s exchanges nothing; %s, or part step",
                           p->name, hf_args_word(args, p->name),
                           hf_args_word(args, "part"), p->fallback);
    s->sweep = hf_sweep_of(args);
    out->n_points = s->sweep.n;
    out->longest = s->steps ? (size_t)hf_args_largest(args, "sizes") : 0;
    size_t sent = 0, got = 0;
    for (size_t i = 0; i < s->sweep.n; i++) {
        size_t chain = s->steps ? chain_bytes(s, i) : 0;
        sent = larger(sent, s->steps ? chain : sent_bytes(s, i));
        got = larger(got, s->steps ? chain : got_bytes(s, i));
    }
    hf_device *device = env->device;
    if (!s->steps)
        HF_TRY(device->ops->alloc(&s->block, device, s->reads ? sent : got, NULL));
    for (int i = 0; s->steps && i < N_CHAINS; i++)
        HF_TRY(device->ops->alloc(&s->chains[i], device, got, NULL));
    HF_TRY(device->ops->pin(&s->pinned_sent, device, NULL, sent));
    HF_TRY(device->ops->pin(&s->pinned_got, device, NULL, got));
    s->sent = s->pinned_sent->host;
    s->got = s->pinned_got->host;
    return HF_OK;
}

static void plans_free(transfer *s) {
    for (int from = 0; from < N_CHAINS; from++) {
        hf_plan_free(s->plans[from]);
        s->plans[from] = NULL;
    }
}

static void transfer_teardown(void *state) {
    transfer *s = state;
    if (!s->env.device)
        return;
    plans_free(s);
    for (int i = 0; i < N_CHAINS; i++)
        s->env.device->ops->free(s->chains[i]);
    s->env.device->ops->free(s->block);
    s->env.device->ops->free(s->pinned_sent);
    s->env.device->ops->free(s->pinned_got);
}

/* Bytes of a pattern, from its byte number `at` on. Places up to a thousand slides apart differ. */
static void pattern_fill(unsigned char *out, size_t at, size_t n, uint64_t shift) {
    enum { ROW = 251 };
    for (size_t end = at + n, row; at < end;) {
        row = at / ROW;
        size_t stop = (row + 1) * ROW < end ? (row + 1) * ROW : end;
        for (; at < stop; at++)
            *out++ = (unsigned char)(at * 167 + row + shift);
    }
}

static uint64_t shift_of(const transfer *s, uint64_t whose) {
    return 31 * s->sample + 97 * whose + s->env.seed;
}

static void bytes_invert(unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)~bytes[i];
}

static size_t bytes_differ(const unsigned char *one, const unsigned char *other,
                           size_t n) {
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += one[i] != other[i];
    return differ;
}

/* Bytes from `i` on, `bytes` lie there in all, that the same steps have written: up to where a
 * window begins or ends. */
static size_t slice_bytes(const transfer *s, size_t i, size_t bytes) {
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

/* `n` bytes from `i` on, as so many steps leave them: what is sent, or its inverse where none has
 * written, as before all steps. */
static void right_bytes(const transfer *s, size_t slid, size_t steps, size_t i,
                        unsigned char *out, size_t n) {
    size_t kept = window_of(s, s->kept),
           window = i < slid ? writer_of(s, steps, i) : kept;
    bool written = i < slid ? window != kept : s->kept < steps;
    if (i < slid && !written)
        window = writer_of(s, s->windows, i);
    pattern_fill(out, i < slid ? i + window * HF_SLIDE : i - slid + 2 * kept * HF_SLIDE,
                 n, shift_of(s, (uint64_t)s->env.rank));
    if (!written)
        bytes_invert(out, n);
}

/* ---- whole steps ---- */

/* A chain of a rank, before any step. */
static uint64_t chain_of(int rank, size_t chain) {
    return N_CHAINS * (uint64_t)rank + chain;
}

static hf_status chains_prepare(const transfer *s, size_t point) {
    hf_device *device = s->env.device;
    size_t bytes = chain_bytes(s, point);
    for (size_t chain = 0; chain < N_CHAINS; chain++) {
        pattern_fill(s->sent, 0, bytes, shift_of(s, chain_of(s->env.rank, chain)));
        HF_TRY(device->ops->write(device, s->chains[chain], 0, s->sent, bytes, NULL,
                                  NULL));
    }
    return HF_OK;
}

/* `n` bytes of a chain from `i` on, after so many steps. */
static void passed_bytes(const transfer *s, size_t steps, size_t chain, size_t i,
                         unsigned char *out, size_t n) {
    size_t size = (size_t)s->env.size;
    size_t moves = hf_slide_moves(i, s->message, steps, HF_SLIDE_LOG, (unsigned)chain);
    int origin = (int)(((size_t)s->env.rank + size - moves % size) % size);
    pattern_fill(out, i - moves * HF_SLIDE, n,
                 shift_of(s, chain_of(origin, (chain + moves) % N_CHAINS)));
}

static hf_status chains_verify(const transfer *s, size_t point, size_t steps,
                               double *error) {
    hf_device *device = s->env.device;
    size_t bytes = chain_bytes(s, point), wrong = 0;
    for (size_t chain = 0; chain < N_CHAINS; chain++) {
        for (size_t i = 0, n; i < bytes; i += n) {
            n = slice_bytes(s, i, bytes);
            passed_bytes(s, steps, chain, i, s->sent + i, n);
        }
        memcpy(s->got, s->sent, bytes);
        bytes_invert(s->got, bytes); /* of a read that does nothing */
        HF_TRY(
            device->ops->read(device, s->chains[chain], 0, s->got, bytes, NULL, NULL));
        wrong += bytes_differ(s->got, s->sent, bytes);
    }
    *error = (double)wrong;
    return HF_OK;
}

static hf_status chains_step(transfer *s, size_t inner) {
    for (size_t end = s->taken + inner; s->taken < end; s->taken++) {
        hf_plan *plan = s->plans[s->taken % N_CHAINS];
        plan->messages->send_at = hf_slide_from(s->taken, HF_SLIDE_LOG);
        plan->messages->recv_at = plan->messages->send_at + HF_SLIDE;
        HF_TRY(s->taken + 1 < end ? hf_plan_enqueue(plan) : hf_plan_run(plan));
    }
    return HF_OK;
}

static hf_status chains_plan(transfer *s, size_t point) {
    size_t bytes = (size_t)s->sweep.sizes[point];
    int rank = s->env.rank, size = s->env.size;
    const hf_message message = {
        .to = (rank + 1) % size,
        .from = (rank + size - 1) % size,
        .send_bytes = bytes,
        .recv_bytes = bytes,
    };
    plans_free(s);
    for (int from = 0; from < N_CHAINS; from++)
        HF_TRY(hf_plan_new(&s->plans[from], s->env.exchange, s->chains[1 - from],
                           s->chains[from], 1, &message));
    return HF_OK;
}

/* ---- a sample ---- */

/* Other bytes for each sample. */
static hf_status transfer_prepare(void *state, size_t point, uint64_t sample) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t sent = sent_bytes(s, point), got = got_bytes(s, point),
           slid = slid_bytes(s, point);
    s->sample = sample;
    s->taken = 0;
    s->message = (size_t)s->sweep.sizes[point];
    s->windows = steps_of(s, point);
    s->kept =
        (size_t)(hf_random(hf_random(s->env.seed, sample), s->message) % s->windows);
    s->upwards = sample % 2 == 1;
    if (s->steps)
        return chains_prepare(s, point);
    pattern_fill(s->sent, 0, sent, shift_of(s, (uint64_t)s->env.rank));
    for (size_t i = 0, n; i < got; i += n) {
        n = slice_bytes(s, i, got);
        right_bytes(s, slid, 0, i, s->got + i, n);
    }
    return s->reads ? device->ops->write(device, s->block, 0, s->sent, sent, NULL, NULL)
                    : device->ops->write(device, s->block, 0, s->got, got, NULL, NULL);
}

static hf_status transfer_step(void *state, size_t point, size_t inner) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t bytes = s->message, slid = slid_bytes(s, point);
    if (s->steps)
        return chains_step(s, inner);
    for (size_t end = s->taken + inner; s->taken < end; s->taken++) {
        size_t at = window_of(s, s->taken) * HF_SLIDE, from = 2 * at,
               to = s->taken == s->kept ? slid : at;
        HF_TRY(s->reads ? device->ops->read(device, s->block, from, s->got + to, bytes,
                                            NULL, NULL)
                        : device->ops->write(device, s->block, to, s->sent + from,
                                             bytes, NULL, NULL));
    }
    hf_lap(s->env.laps, HF_LAP_TRANSFER);
    return HF_OK;
}

static hf_status transfer_verify(void *state, size_t point, size_t steps,
                                 hf_outcome *out) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t bytes = got_bytes(s, point), slid = slid_bytes(s, point), wrong = 0;
    out->work[0] = s->sweep.sizes[point];
    if (s->steps)
        return chains_verify(s, point, steps, &out->error);
    if (!s->reads) {
        for (size_t i = 0, n; i < bytes; i += n) {
            n = slice_bytes(s, i, bytes);
            right_bytes(s, slid, steps, i, s->got + i, n);
        }
        bytes_invert(s->got, bytes); /* of a read that does nothing */
        HF_TRY(device->ops->read(device, s->block, 0, s->got, bytes, NULL, NULL));
    }
    for (size_t i = 0, n; i < bytes; i += n) {
        unsigned char right[HF_SLIDE] = {0};
        n = slice_bytes(s, i, bytes);
        right_bytes(s, slid, steps, i, right, n);
        wrong += bytes_differ(s->got + i, right, n);
    }
    out->error = (double)wrong;
    return HF_OK;
}

static hf_status transfer_plan(void *state, size_t point, hf_setting *out) {
    transfer *s = state;
    hf_sweep_plan(&s->sweep, point, out);
    return s->steps ? chains_plan(s, point) : HF_OK;
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
        "device reads or writes alone, or with an exchange between them; part of a "
        "calibration",
    .params = params,
    .problem = {"sizes", 1, false},
    .labels = labels,
    .metrics = metrics,
    .parts = parts,
    .figures = figures,
    .blocks = &blocks,
};
