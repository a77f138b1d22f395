/* transfer.c - device reads and writes alone: two of the three parts of scheme `pcie`. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/error.h"
#include "core/pages.h"
#include "sweep.h"

typedef struct transfer {
    hf_env env;
    hf_buffer *block;
    unsigned char *sent, *got; /* on the host */
    hf_sweep sweep;
    bool reads;
} transfer;

static const hf_param params[] = {
    {"part", "what is timed: read, device to host; or write, host to device", "write",
     "write|read", NULL, 0, 0, HF_TEXT},
    HF_SWEEP_PARAMS,
    {0},
};

static const hf_quantity labels[] = {{"message_size", "B", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"bandwidth", "B/s", HF_F64, NULL}, {0}};
static const hf_quantity figures[] = {{"latency", "s", HF_F64, NULL}, {0}};

static hf_status transfer_setup(void *state, const hf_args *args, const hf_env *env,
                                size_t *n_points) {
    transfer *s = state;
    s->env = *env;
    s->reads = hf_args_chosen(args, "part", "read");
    s->sweep = hf_sweep_of(args);
    *n_points = s->sweep.n;
    size_t bytes = (size_t)hf_args_largest(args, "sizes");
    HF_TRY(env->device->ops->alloc(&s->block, env->device, bytes, HF_ANY_BANK));
    s->sent = hf_pages_new(bytes);
    s->got = hf_pages_new(bytes);
    return s->sent && s->got
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no host memory for two blocks of %zu B", bytes);
}

static void transfer_teardown(void *state) {
    transfer *s = state;
    if (s->env.device)
        s->env.device->ops->free(s->block);
    free(s->sent);
    free(s->got);
}

static size_t transfer_inner(const void *state, size_t point) {
    return hf_sweep_inner(&((const transfer *)state)->sweep, point);
}

/* A block of its own for each sample, in the memory where the timed copy starts. */
static hf_status transfer_prepare(void *state, size_t point, uint64_t sample) {
    transfer *s = state;
    size_t bytes = (size_t)s->sweep.sizes[point];
    for (size_t i = 0; i < bytes; i++)
        s->sent[i] = (unsigned char)((i * 167 + i / 251) + 31 * sample +
                                     97 * (uint64_t)s->env.rank + s->env.seed);
    if (!s->reads)
        return HF_OK;
    hf_device *device = s->env.device;
    return device->ops->write(device, s->block, 0, s->sent, bytes, NULL);
}

static hf_status transfer_step(void *state, size_t point, size_t inner) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t bytes = (size_t)s->sweep.sizes[point];
    for (size_t step = 0; step < inner; step++)
        HF_TRY(s->reads
                   ? device->ops->read(device, s->block, 0, s->got, bytes, NULL)
                   : device->ops->write(device, s->block, 0, s->sent, bytes, NULL));
    return HF_OK;
}

static hf_status transfer_verify(void *state, size_t point, size_t inner,
                                 double *error) {
    transfer *s = state;
    hf_device *device = s->env.device;
    size_t bytes = (size_t)s->sweep.sizes[point], wrong = 0;
    (void)inner;
    if (!s->reads)
        HF_TRY(device->ops->read(device, s->block, 0, s->got, bytes, NULL));
    for (size_t i = 0; i < bytes; i++)
        wrong += s->got[i] != s->sent[i];
    *error = (double)wrong;
    return HF_OK;
}

static void transfer_label(const void *state, size_t point, double *values) {
    values[0] = ((const transfer *)state)->sweep.sizes[point];
}

/* Bytes per second of all ranks together. */
static void transfer_metric(const void *state, size_t point, double seconds,
                            double *values) {
    const transfer *s = state;
    values[0] = s->env.size * s->sweep.sizes[point] / seconds;
}

static void transfer_figure(const void *state, const double *seconds, double *values) {
    const transfer *s = state;
    values[0] = seconds[hf_sweep_smallest(&s->sweep)];
}

const hf_bench_ops hf_bench_transfer = {
    .name = "transfer",
    .summary = "device reads or writes alone, all ranks at once; part of a calibration",
    .params = params,
    .problem = {"sizes", 1, false},
    .state_size = sizeof(transfer),
    .labels = labels,
    .metrics = metrics,
    .figures = figures,
    .setup = transfer_setup,
    .label = transfer_label,
    .inner = transfer_inner,
    .prepare = transfer_prepare,
    .step = transfer_step,
    .verify = transfer_verify,
    .metric = transfer_metric,
    .figure = transfer_figure,
    .teardown = transfer_teardown,
};
