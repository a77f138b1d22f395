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

/* Byte `i` of what is sent. Windows that lie up to a thousand slides apart differ in it. */
static unsigned char sent_byte(const transfer *s, size_t i) {
    return (unsigned char)((i * 167 + i / 251) + 31 * s->sample +
                           97 * (uint64_t)s->env.rank + s->env.seed);
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

/* Byte `i` of what window number `window` leaves there, if it does not lie behind all of them. */
static unsigned char left_byte(const transfer *s, size_t window, size_t i) {
    return sent_byte(s, i + window * HF_SLIDE);
}

/* Byte `i` of what all steps leave, as if the kept step had written wherever none has. */
static unsigned char all_byte(const transfer *s, size_t slid, size_t i) {
    size_t kept = window_of(s, s->kept);
    return i < slid ? left_byte(s, writer_of(s, s->windows, i), i)
                    : left_byte(s, kept, i - slid + kept * HF_SLIDE);
}

/* Byte `i` before any step: not what it is to become. */
static unsigned char unwritten_byte(const transfer *s, size_t slid, size_t i) {
    return (unsigned char)~all_byte(s, slid, i);
}

/* Byte `i` of what so many steps leave. */
static unsigned char right_byte(const transfer *s, size_t slid, size_t steps,
                                size_t i) {
    if (i >= slid)
        return s->kept < steps ? all_byte(s, slid, i) : unwritten_byte(s, slid, i);
    size_t window = writer_of(s, steps, i);
    return window == window_of(s, s->kept) ? unwritten_byte(s, slid, i)
                                           : left_byte(s, window, i);
}

/* ---- whole steps ---- */

/* Byte `i` of a chain before any step. */
static unsigned char chain_byte(const transfer *s, int rank, size_t chain, size_t i) {
    return (unsigned char)((i * 167 + i / 251) + 31 * s->sample +
                           97 * (N_CHAINS * (uint64_t)rank + chain) + s->env.seed);
}

static hf_status chains_prepare(const transfer *s, size_t point) {
    hf_device *device = s->env.device;
    size_t bytes = chain_bytes(s, point);
    for (size_t chain = 0; chain < N_CHAINS; chain++) {
        for (size_t i = 0; i < bytes; i++)
            s->sent[i] = chain_byte(s, s->env.rank, chain, i);
        HF_TRY(device->ops->write(device, s->chains[chain], 0, s->sent, bytes, NULL,
                                  NULL));
    }
    return HF_OK;
}

/* Byte `i` of a chain after so many steps. */
static unsigned char passed_byte(const transfer *s, size_t point, size_t steps,
                                 size_t chain, size_t i) {
    size_t message = (size_t)s->sweep.sizes[point], size = (size_t)s->env.size;
    size_t moves = hf_slide_moves(i, message, steps, HF_SLIDE_LOG, (unsigned)chain);
    int origin = (int)(((size_t)s->env.rank + size - moves % size) % size);
    return chain_byte(s, origin, (chain + moves) % N_CHAINS, i - moves * HF_SLIDE);
}

static hf_status chains_verify(const transfer *s, size_t point, size_t steps,
                               double *error) {
    hf_device *device = s->env.device;
    size_t bytes = chain_bytes(s, point), wrong = 0;
    for (size_t chain = 0; chain < N_CHAINS; chain++) {
        for (size_t i = 0; i < bytes; i++) /* of a read that does nothing */
            s->got[i] = (unsigned char)~passed_byte(s, point, steps, chain, i);
        HF_TRY(
            device->ops->read(device, s->chains[chain], 0, s->got, bytes, NULL, NULL));
        for (size_t i = 0; i < bytes; i++)
            wrong += s->got[i] != passed_byte(s, point, steps, chain, i);
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
    for (size_t i = 0; i < sent; i++)
        s->sent[i] = sent_byte(s, i);
    for (size_t i = 0; i < got; i++)
        s->got[i] = unwritten_byte(s, slid, i);
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
        for (size_t i = 0; i < bytes; i++) /* of a read that does nothing */
            s->got[i] = (unsigned char)~right_byte(s, slid, steps, i);
        HF_TRY(device->ops->read(device, s->block, 0, s->got, bytes, NULL, NULL));
    }
    for (size_t i = 0; i < bytes; i++)
        wrong += s->got[i] != right_byte(s, slid, steps, i);
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
