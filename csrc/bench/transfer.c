/* transfer.c - device reads and writes alone: two of the three parts of scheme `pcie`,
 * from pinned memory and to it, as there.
 *
 * Windows slide down: window number j is copied from 2 j HF_SLIDE to j HF_SLIDE, the last one
 * first. So the last HF_SLIDE bytes that a step writes stay, and no other step writes the same
 * there: a lost, repeated, late or shortened copy is seen. What lies before them the next step
 * overwrites.
 */
#include "bench.h"
#include "core/error.h"
#include "sweep.h"

typedef struct transfer {
    hf_env env;
    hf_buffer *block, *pinned_sent, *pinned_got;
    unsigned char
        *sent; /* on the host, pinned: where the windows of a sample come from */
    unsigned char *got; /* likewise: where they end */
    hf_sweep sweep;
    bool reads;
    uint64_t sample;
    size_t taken; /* steps of this sample */
} transfer;

static const hf_param params[] = {
    {"part", "what is timed: read, device to host; or write, host to device", "write",
     "write|read", NULL, 0, 0, HF_TEXT},
    HF_SWEEP_PARAMS,
    {0},
};

static const hf_quantity labels[] = {{"message_size", "B", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"bandwidth", "B/s", HF_F64, NULL}, {0}};
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

static size_t got_bytes(const transfer *s, size_t point) {
    return (size_t)s->sweep.sizes[point] + HF_SLIDE * (steps_of(s, point) - 1);
}

static hf_status transfer_setup(void *state, const hf_args *args, const hf_env *env,
                                hf_outline *out) {
    transfer *s = state;
    s->env = *env;
    s->reads = hf_args_chosen(args, "part", "read");
    s->sweep = hf_sweep_of(args);
    out->n_points = s->sweep.n;
    size_t sent = 0, got = 0;
    for (size_t i = 0; i < s->sweep.n; i++) {
        sent = larger(sent, sent_bytes(s, i));
        got = larger(got, got_bytes(s, i));
    }
    hf_device *device = env->device;
    HF_TRY(device->ops->alloc(&s->block, device, s->reads ? sent : got, NULL));
    HF_TRY(device->ops->pin(&s->pinned_sent, device, NULL, sent));
    HF_TRY(device->ops->pin(&s->pinned_got, device, NULL, got));
    s->sent = s->pinned_sent->host;
    s->got = s->pinned_got->host;
    return HF_OK;
}

static void transfer_teardown(void *state) {
    transfer *s = state;
    if (!s->env.device)
        return;
    s->env.device->ops->free(s->block);
    s->env.device->ops->free(s->pinned_sent);
    s->env.device->ops->free(s->pinned_got);
}

/* Byte `i` of what is sent. Windows that lie up to a thousand slides apart differ in it. */
static unsigned char sent_byte(const transfer *s, size_t i) {
    return (unsigned char)((i * 167 + i / 251) + 31 * s->sample +
                           97 * (uint64_t)s->env.rank + s->env.seed);
}

/* The lowest window that reaches byte `i`, which may lie before it. */
static size_t window_of(const transfer *s, size_t point, size_t i) {
    size_t message = (size_t)s->sweep.sizes[point];
    return i < message ? 0 : (i - message) / HF_SLIDE + 1;
}

/* Byte `i` before any step: not what its lowest window leaves there. */
static unsigned char unwritten_byte(const transfer *s, size_t point, size_t i) {
    return (unsigned char)~sent_byte(s, i + window_of(s, point, i) * HF_SLIDE);
}

/* Byte `i` of what so many steps leave: that of the lowest window that they took. */
static unsigned char right_byte(const transfer *s, size_t point, size_t steps,
                                size_t i) {
    size_t window = window_of(s, point, i), lowest = steps_of(s, point) - steps;
    window = window > lowest ? window : lowest;
    bool covered = window < steps_of(s, point) && i >= window * HF_SLIDE;
    return covered ? sent_byte(s, i + window * HF_SLIDE) : unwritten_byte(s, point, i);
}

/* Other bytes for each sample. */
static hf_status transfer_prepare(void *state, size_t point, uint64_t sample) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t sent = sent_bytes(s, point), got = got_bytes(s, point);
    s->sample = sample;
    s->taken = 0;
    for (size_t i = 0; i < sent; i++)
        s->sent[i] = sent_byte(s, i);
    for (size_t i = 0; i < got; i++)
        s->got[i] = unwritten_byte(s, point, i);
    return s->reads ? device->ops->write(device, s->block, 0, s->sent, sent, NULL, NULL)
                    : device->ops->write(device, s->block, 0, s->got, got, NULL, NULL);
}

static hf_status transfer_step(void *state, size_t point, size_t inner) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t bytes = (size_t)s->sweep.sizes[point];
    for (size_t end = s->taken + inner; s->taken < end; s->taken++) {
        size_t to = HF_SLIDE * (steps_of(s, point) - 1 - s->taken), from = 2 * to;
        HF_TRY(s->reads ? device->ops->read(device, s->block, from, s->got + to, bytes,
                                            NULL, NULL)
                        : device->ops->write(device, s->block, to, s->sent + from,
                                             bytes, NULL, NULL));
    }
    return HF_OK;
}

static hf_status transfer_verify(void *state, size_t point, size_t steps,
                                 double *error) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t bytes = got_bytes(s, point), wrong = 0;
    if (!s->reads) {
        for (size_t i = 0; i < bytes; i++) /* of a read that does nothing */
            s->got[i] = (unsigned char)~right_byte(s, point, steps, i);
        HF_TRY(device->ops->read(device, s->block, 0, s->got, bytes, NULL, NULL));
    }
    for (size_t i = 0; i < bytes; i++)
        wrong += s->got[i] != right_byte(s, point, steps, i);
    *error = (double)wrong;
    return HF_OK;
}

/* Bytes of all ranks together. */
static hf_status transfer_plan(void *state, size_t point, hf_setting *out) {
    const transfer *s = state;
    hf_sweep_plan(&s->sweep, point, out);
    out->work[0] = s->env.size * s->sweep.sizes[point];
    return HF_OK;
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
    .summary = "device reads or writes alone, all ranks at once; part of a calibration",
    .params = params,
    .problem = {"sizes", 1, false},
    .labels = labels,
    .metrics = metrics,
    .figures = figures,
    .blocks = &blocks,
};
