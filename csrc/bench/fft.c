/* fft.c - batched one-dimensional complex transforms, forward and back, on every rank.
 *
 * A sample is two steps: the input is transformed forward into a second block, and that one
 * back into a third, which must be the input times the size. Over kernel-routed schemes the
 * second one is part of the verification: kernels are prepared outside of steps. Besides, the
 * second block is compared with what the transforms are (fft_check.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "core/stats.h"
#include "core/work.h"
#include "fft.h"

enum {
    N_CHECK_ARGS = 4,
    GROUPS_PER_CORE = 16,
    PACKET_BYTES = 64, /* of a packet between kernels: 8 points */
};

static const hf_param params[] = {
    {"log_size", "binary logarithm of the points of a transform", "12", NULL,
     "HF_LOG_SIZE", 6, 17, HF_INT},
    {"batch", "transforms of a rank in a step", "1024", NULL, NULL, 1, 1 << 24, HF_INT},
    HF_SHAPE_PARAM,
    {0},
};

static const hf_quantity labels[] = {{"transform_size", "1", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"flops", "FLOP/s", HF_F64, NULL}, {0}};
static const hf_figure figures[] = {{"flops", "FLOP/s", "flops", HF_FIGURE_MAX}, {0}};

/* ---- set-up ---- */

static size_t block_bytes(const fft *s) {
    return s->batch * s->size * sizeof(fft_complex);
}

static hf_status memory_check(const fft *s) {
    const hf_device_info *info = &s->env.device->info;
    size_t each = s->size * sizeof(fft_complex);
    size_t most = hf_device_room(info, N_BLOCKS) / each;
    most -= most > 0; /* three transforms' room for roots of unity */
    if (s->batch <= most)
        return HF_OK;
    return hf_fail(HF_ENOMEM,
                   "batch: %d blocks of %u transforms of %zu points do not fit \"%s\"; "
                   "the largest batch is %zu",
                   N_BLOCKS, s->batch, s->size, info->name, most);
}

/* Work-groups take turns at transforms. Pipelines are one work-item. */
static void items_choose(fft *s) {
    const hf_device_info *info = &s->env.device->info;
    s->items = s->group = 1;
    if (s->env.ndrange) {
        s->group = hf_device_group(info);
        s->items = hf_device_fill(info) * (s->group > 1 ? 1 : GROUPS_PER_CORE);
    }
}

/* Roots of unity for the kernels, which bring them into an order of their own. */
static hf_status twiddles_make(fft *s) {
    hf_device *device = s->env.device;
    size_t bytes = s->size * sizeof(fft_complex);
    HF_TRY(device->ops->alloc(&s->twiddles, device, 2 * bytes, NULL));
    hf_buffer *buffer = NULL;
    hf_kernel *arrange = NULL;
    fft_complex *single = calloc(2, bytes);
    hf_status status =
        single ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for %zu roots of unity", s->size);
    /* A run before may have left the right ones there: then nobody would see a launch
     * that gets lost. */
    if (status == HF_OK)
        status =
            device->ops->write(device, s->twiddles, 0, single, 2 * bytes, NULL, NULL);
    for (size_t k = 0; single && k < s->size; k++)
        single[k] = (fft_complex){(float)s->roots[2 * k], (float)s->roots[2 * k + 1]};
    if (status == HF_OK)
        status = device->ops->alloc(&buffer, device, bytes, NULL);
    if (status == HF_OK)
        status = device->ops->write(device, buffer, 0, single, bytes, NULL, NULL);
    if (status == HF_OK)
        status = device->ops->kernel(&arrange, device, "fft_twiddles", 0);
    const hf_arg args[] = {{.buffer = buffer}, {.buffer = s->twiddles}};
    if (status == HF_OK)
        status = device->ops->launch(
            device, &(hf_launch){.kernel = arrange, .args = args, .n_args = 2}, NULL,
            NULL);
    device->ops->kernel_free(arrange);
    device->ops->free(buffer);
    free(single);
    return status;
}

/* The three kernels of fft_stream.cl, with their arguments and channel ends. */
static hf_status streams_take(fft *s) {
    static const hf_end fetch_ends[] = {{0, true, true}},
                        transform_ends[] = {{0, true, false}, {1, true, true}},
                        store_ends[] = {{1, true, false}};
    hf_device *device = s->env.device;
    HF_TRY(device->ops->kernel(&s->fetch, device, "fft_fetch_points", 0));
    HF_TRY(device->ops->kernel(&s->store, device, "fft_store_points", 0));
    s->fetch_args[1] = s->store_args[1] = s->transform_args[1] =
        (hf_arg)HF_VALUE(s->batch);
    s->transform_args[0].buffer = s->twiddles;
    s->transform_args[2] = (hf_arg)HF_VALUE(s->sign);
    s->streams[0] = (hf_stream){
        "fft_fetch_points",
        {.kernel = s->fetch, .args = s->fetch_args, .n_args = 2, .items = 1},
        fetch_ends,
        1};
    s->streams[1] = (hf_stream){
        "fft_transform",
        {.kernel = s->transform, .args = s->transform_args, .n_args = 3, .items = 1},
        transform_ends,
        2};
    s->streams[2] = (hf_stream){
        "fft_store_points",
        {.kernel = s->store, .args = s->store_args, .n_args = 2, .items = 1},
        store_ends,
        1};
    return HF_OK;
}

static hf_status tables_make(fft *s) {
    s->roots = malloc(2 * s->size * sizeof *s->roots);
    s->weights = malloc(2 * s->size * sizeof *s->weights);
    if (!s->roots || !s->weights)
        return hf_fail(HF_ENOMEM, "no memory for %zu roots of unity", s->size);
    double turn = 8 * atan(1) / (double)s->size;
    for (size_t k = 0; k < s->size; k++) {
        s->roots[2 * k] = cos(turn * (double)k);
        s->roots[2 * k + 1] = -sin(turn * (double)k);
    }
    return twiddles_make(s);
}

/* What both paths need. */
static hf_status fft_setup(void *state, const hf_args *args, const hf_env *env,
                           hf_outline *out) {
    fft *s = state;
    s->env = *env;
    s->log_size = hf_args_number(args, "log_size");
    s->size = (size_t)1 << (int)s->log_size;
    s->batch = (uint32_t)hf_args_number(args, "batch");
    out->n_points = 1;
    hf_device *device = env->device;
    HF_TRY(memory_check(s));
    items_choose(s);
    for (int i = 0; i < N_BLOCKS; i++)
        HF_TRY(device->ops->alloc(&s->blocks[i], device, block_bytes(s), NULL));
    HF_TRY(hf_verdict_new(&s->verdict, env, s->items, NULL));
    HF_TRY(device->ops->kernel(&s->fill, device, "fft_fill", 0));
    HF_TRY(device->ops->kernel(&s->check, device, "fft_check", 0));
    HF_TRY(device->ops->kernel(&s->transform, device, "fft_transform", 0));
    return tables_make(s);
}

static hf_status stream_setup(void *state, const hf_args *args, const hf_env *env,
                              hf_outline *out) {
    HF_TRY(fft_setup(state, args, env, out));
    return streams_take(state);
}

static hf_status stream_connect(void *state) {
    fft *s = state;
    hf_exchange *exchange = s->env.exchange;
    const hf_wiring wiring = {.inner = N_STREAMS - 1,
                              .width = PACKET_BYTES,
                              .depth = 1,
                              .inner_depth = HF_INNER_DEPTH};
    return exchange->ops->streams->connect(exchange, &wiring);
}

static void fft_teardown(void *state) {
    fft *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    for (int i = 0; i < N_BLOCKS; i++)
        ops->free(s->blocks[i]);
    ops->free(s->twiddles);
    hf_verdict_free(&s->verdict);
    hf_kernel *kernels[] = {s->fill, s->check, s->transform, s->fetch, s->store};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        ops->kernel_free(kernels[i]);
    free(s->roots);
    free(s->weights);
}

/* ---- a sample ---- */

static hf_status launch(const fft *s, hf_kernel *kernel, size_t n, const hf_arg *args) {
    hf_device *device = s->env.device;
    return device->ops->launch(device,
                               &(hf_launch){.kernel = kernel,
                                            .args = args,
                                            .n_args = n,
                                            .items = s->items,
                                            .group = s->group},
                               NULL, NULL);
}

/* The next step leads from one block to the next. */
static void blocks_turn(fft *s) {
    s->from = s->blocks[s->taken % 2];
    s->to = s->blocks[s->taken % 2 + 1];
    s->sign = s->taken % 2 == 0 ? 1 : -1;
}

static hf_status fft_prepare(void *state, size_t point, uint64_t sample) {
    fft *s = state;
    (void)point;
    s->sample = sample;
    s->taken = 0;
    s->key = (uint32_t)hf_random(s->env.seed, sample * (uint64_t)s->env.size +
                                                  (uint64_t)s->env.rank);
    const hf_arg args[] = {
        {.buffer = s->blocks[0]}, HF_VALUE(s->batch), HF_VALUE(s->key)};
    return launch(s, s->fill, 3, args);
}

static hf_status fft_step(void *state, size_t point, size_t inner) {
    fft *s = state;
    (void)point;
    for (size_t i = 0; i < inner; i++, s->taken++) {
        blocks_turn(s);
        const hf_arg args[] = {{.buffer = s->from},
                               {.buffer = s->to},
                               {.buffer = s->twiddles},
                               HF_VALUE(s->batch),
                               HF_VALUE(s->sign)};
        HF_TRY(launch(s, s->transform, 5, args));
    }
    return HF_OK;
}

/* Kernels are prepared outside of steps: a sample has one. */
static hf_status stream_ready(fft *s) {
    hf_exchange *exchange = s->env.exchange;
    blocks_turn(s);
    s->fetch_args[0].buffer = s->from;
    s->store_args[0].buffer = s->to;
    return exchange->ops->streams->prepare(exchange);
}

static hf_status stream_prepare(void *state, size_t point, uint64_t sample) {
    HF_TRY(fft_prepare(state, point, sample));
    return stream_ready(state);
}

static hf_status stream_step(void *state, size_t point, size_t inner) {
    fft *s = state;
    hf_exchange *exchange = s->env.exchange;
    (void)point, (void)inner;
    s->taken++;
    return exchange->ops->streams->stream(exchange, N_STREAMS, s->streams);
}

/* ---- verification ---- */

static hf_status forward_check(const fft *s, double *most) {
    hf_device *device = s->env.device;
    void *block;
    HF_TRY(device->ops->map(device, s->blocks[1], &block));
    *most = hf_larger(*most, fft_forward_error(s, block));
    return device->ops->unmap(device, s->blocks[1], block);
}

static hf_status back_check(fft *s, double *most) {
    float scale = 1 / (float)s->size;
    double worst;
    hf_arg args[N_CHECK_ARGS + HF_VERDICT_ARGS] = {{.buffer = s->blocks[2]},
                                                   HF_VALUE(s->batch),
                                                   HF_VALUE(s->key),
                                                   HF_VALUE(scale)};
    HF_TRY(hf_verdict_take(&s->verdict, HF_VERDICT_LARGEST, s->check, args,
                           N_CHECK_ARGS, s->group, (uint64_t)s->batch * s->size,
                           &worst));
    *most = hf_larger(*most, worst / fft_bound(s));
    return HF_OK;
}

static hf_status both_check(fft *s, hf_outcome *out) {
    double most = 0;
    HF_TRY(forward_check(s, &most));
    HF_TRY(back_check(s, &most));
    out->error = most;
    out->work[0] = hf_fft_operations((double)s->size) * s->batch;
    return HF_OK;
}

/* A warm-up took one step: the way back is still to come. */
static hf_status fft_verify(void *state, size_t point, size_t steps, hf_outcome *out) {
    if (steps % 2 == 1)
        HF_TRY(fft_step(state, point, 1));
    return both_check(state, out);
}

static hf_status stream_verify(void *state, size_t point, size_t steps,
                               hf_outcome *out) {
    (void)steps; /* one */
    HF_TRY(stream_ready(state));
    HF_TRY(stream_step(state, point, 1));
    return both_check(state, out);
}

/* ---- numbers ---- */

/* Errors are in units of `bound`. */
static hf_status stream_plan(void *state, size_t point, hf_setting *out) {
    const fft *s = state;
    (void)point;
    out->labels[0] = (double)s->size;
    out->tolerance = 1;
    return HF_OK;
}

static hf_status fft_plan(void *state, size_t point, hf_setting *out) {
    HF_TRY(stream_plan(state, point, out));
    out->fewest = out->most = 2; /* forward and back */
    return HF_OK;
}

static const hf_bench_path blocks = {
    .state_size = sizeof(fft),
    .setup = fft_setup,
    .plan = fft_plan,
    .prepare = fft_prepare,
    .step = fft_step,
    .verify = fft_verify,
    .teardown = fft_teardown,
};

static const hf_bench_path streams = {
    .state_size = sizeof(fft),
    .side_by_side = N_STREAMS,
    .setup = stream_setup,
    .connect = stream_connect,
    .plan = stream_plan,
    .prepare = stream_prepare,
    .step = stream_step,
    .verify = stream_verify,
    .teardown = fft_teardown,
};

const hf_bench hf_bench_fft = {
    .name = "fft",
    .summary = "batched complex single-precision transforms, every rank its own",
    .params = params,
    .problem = {"batch", 1, false},
    .computes = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_STREAM | HF_KERNELS_NDRANGE,
    .labels = labels,
    .metrics = metrics,
    .figures = figures,
    .blocks = &blocks,
    .streams = &streams,
};
