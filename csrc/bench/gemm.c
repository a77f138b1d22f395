/* gemm.c - matrix multiplication: C = alpha A B + beta C0 on the device of every rank.
 *
 * A sample is one multiplication, as published. A, B and C0 are other ones than in the sample
 * before, so that a result that is left over does not pass. The kernels for FPGAs multiply rows of
 * blocks, shared out among `replications`. Those for CPUs and GPUs pack A and B first, which
 * is part of the sample: see gemm_ndrange.cl.
 */
#include "gemm.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "core/work.h"
#include "largest.h"

enum {
    MAX_REPLICATIONS = HF_MAX_QUEUES,
    N_MULTIPLY_ARGS = 9,
    N_PACK_ARGS = 3,
};

typedef struct gemm {
    hf_env env;
    gemm_data data;
    const hf_element *type;
    const double *sizes;
    size_t replications, block_size;
    double alpha, beta;
    uint64_t sample;
    hf_buffer *a, *b, *c0, *c, *a_panels, *b_panels;
    hf_kernel *multiply[MAX_REPLICATIONS], *pack_a, *pack_b;
    uint32_t shape[3]; /* of a block: rows, columns, work-items */
} gemm;

static const hf_param params[] = {
    {"sizes", "widths n of the n x n matrices", "512,1024,2048", NULL, NULL, 1, 1 << 20,
     HF_INTS},
    HF_SHAPE_PARAM,
    HF_ELEMENT_PARAM,
    {"alpha", "factor of A B", "0.5", NULL, NULL, -1e3, 1e3, HF_REAL},
    {"beta", "factor of C0", "2", NULL, NULL, -1e3, 1e3, HF_REAL},
    {"replications", "kernels that share a product; 1 for shape ndrange", "1", NULL,
     "HF_REPLICATIONS", 1, MAX_REPLICATIONS, HF_INT},
    {"block_size", "width of a block in local memory; pipeline only", "256", NULL,
     "HF_BLOCK", 1, 4096, HF_INT},
    HF_GEMM_TILE_PARAMS,
    {0},
};

static const hf_quantity labels[] = {{"matrix_size", "1", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"flops", "FLOP/s", HF_F64, NULL}, {0}};
static const hf_figure figures[] = {{"flops", "FLOP/s", "flops", HF_FIGURE_MAX}, {0}};

/* ---- set-up ---- */

static size_t matrix_bytes(const gemm *s, size_t n) {
    return n * HF_GEMM_ROW(n) * s->type->bytes;
}

/* Room for whole blocks. */
static size_t panels_bytes(const gemm *s, size_t n) {
    return s->env.ndrange ? (n + HF_GEMM_BLOCK) * HF_GEMM_ROW(n) * s->type->sum_bytes
                          : 0;
}

static bool size_fits(const void *state, size_t n) {
    const gemm *s = state;
    const hf_device_info *info = &s->env.device->info;
    size_t matrix = matrix_bytes(s, n), panels = panels_bytes(s, n);
    return matrix <= info->max_alloc && panels <= info->max_alloc &&
           4 * matrix + 2 * panels <= info->memory;
}

static hf_status memory_check(const gemm *s, size_t largest) {
    if (size_fits(s, largest))
        return HF_OK;
    return hf_fail(
        HF_ENOMEM,
        "sizes: four %zu x %zu matrices of %s do not fit \"%s\"; the largest "
        "size is %zu",
        largest, largest, s->type->name, s->env.device->info.name,
        hf_largest(largest, size_fits, s));
}

/* What the ndrange kernels want beside the matrices. */
static hf_status panels_take(gemm *s, size_t largest) {
    hf_device *device = s->env.device;
    const hf_device_ops *ops = device->ops;
    HF_TRY(ops->alloc(&s->a_panels, device, panels_bytes(s, largest), NULL));
    HF_TRY(ops->alloc(&s->b_panels, device, panels_bytes(s, largest), NULL));
    HF_TRY(ops->kernel(&s->pack_a, device, "gemm_pack_a", 0));
    HF_TRY(ops->kernel(&s->pack_b, device, "gemm_pack_b", 0));
    HF_TRY(hf_kernel_ask(device, "gemm_shape", s->shape, sizeof s->shape));
    bool sound = s->shape[2] > 0;
    for (int i = 0; i < 2; i++)
        sound = sound && s->shape[i] > 0 && s->shape[i] <= HF_GEMM_BLOCK;
    return sound
               ? HF_OK
               : hf_fail(HF_EDEVICE,
                         "gemm_shape says blocks of %u x %u elements, not 1 to %d, and "
                         "%u work-items",
                         s->shape[0], s->shape[1], HF_GEMM_BLOCK, s->shape[2]);
}

/* A factor as the kernels take it. Products with tiny ones have few digits, or none. */
static hf_status factor_take(double *out, const hf_element *type, const hf_args *args,
                             const char *name) {
    bool single = type->sum_bytes == sizeof(float);
    double given = hf_args_number(args, name), least = single ? 1e-30 : 1e-140;
    *out = single ? (float)given : given;
    if (given == 0 || fabs(given) >= least)
        return HF_OK;
    return hf_fail(HF_EARG, "%s: %g is too small for data type %s: 0, or from %g up",
                   name, given, type->name, least);
}

static hf_status gemm_setup(void *state, const hf_args *args, const hf_env *env,
                            hf_outline *out) {
    gemm *s = state;
    hf_device *device = env->device;
    s->env = *env;
    s->sizes = hf_args_list(args, "sizes", &out->n_points);
    s->type = hf_element_of(args);
    HF_TRY(factor_take(&s->alpha, s->type, args, "alpha"));
    HF_TRY(factor_take(&s->beta, s->type, args, "beta"));
    s->block_size = (size_t)hf_args_number(args, "block_size");
    s->replications = (size_t)hf_args_number(args, "replications");
    size_t n = (size_t)hf_args_largest(args, "sizes");
    HF_TRY(hf_replicas_check(s->replications, env->ndrange));
    HF_TRY(memory_check(s, n));
    hf_buffer **matrices[] = {&s->a, &s->b, &s->c0, &s->c};
    for (size_t i = 0; i < 4; i++)
        HF_TRY(device->ops->alloc(matrices[i], device, matrix_bytes(s, n), NULL));
    if (env->ndrange)
        HF_TRY(panels_take(s, n));
    for (size_t r = 0; r < s->replications; r++)
        HF_TRY(device->ops->kernel(&s->multiply[r], device, "gemm_multiply",
                                   hf_replica_unit(r, s->replications)));
    for (size_t i = 0; i < out->n_points; i++)
        if (!gemm_data_sees(s->type, (size_t)s->sizes[i], s->alpha, s->beta))
            out->note = "alpha is so small beside beta that the check sees little of "
                        "what is lost of A B";
    s->data.seed = hf_random(env->seed, (uint64_t)env->rank);
    return gemm_data_new(&s->data, s->type, n, env->memory_left);
}

static void gemm_teardown(void *state) {
    gemm *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    hf_buffer *buffers[] = {s->a, s->b, s->c0, s->c, s->a_panels, s->b_panels};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ops->free(buffers[i]);
    for (size_t r = 0; r < s->replications; r++)
        ops->kernel_free(s->multiply[r]);
    ops->kernel_free(s->pack_a);
    ops->kernel_free(s->pack_b);
    gemm_data_free(&s->data);
}

/* ---- a sample ---- */

static hf_status gemm_prepare(void *state, size_t point, uint64_t sample) {
    gemm *s = state;
    hf_device *device = s->env.device;
    hf_buffer *inputs[] = {s->a, s->b, s->c0};
    size_t n = (size_t)s->sizes[point];
    s->sample = sample;
    gemm_data_make(&s->data, n, sample);
    for (size_t m = 0; m < 3; m++)
        HF_TRY(device->ops->write(device, inputs[m], 0, gemm_data_rows(&s->data, m),
                                  matrix_bytes(s, n), NULL, NULL));
    /* Zeros may be right, and be there already: something else is put there. */
    return device->ops->write(device, s->c, 0, gemm_data_rows(&s->data, 0),
                              matrix_bytes(s, n), NULL, NULL);
}

static size_t blocks(size_t n, size_t width) {
    return (n + width - 1) / width;
}

/* One work-item per strip of 16 elements of the packed matrix. */
static hf_status pack(const gemm *s, hf_kernel *kernel, hf_buffer *from, hf_buffer *to,
                      uint32_t n, size_t width) {
    const hf_arg args[N_PACK_ARGS] = {{.buffer = from}, {.buffer = to}, HF_VALUE(n)};
    size_t strips = HF_GEMM_ROW(n) / HF_GEMM_STRIP;
    hf_device *device = s->env.device;
    return device->ops->launch(
        device,
        &(hf_launch){kernel, args, N_PACK_ARGS, blocks(n, width) * width * strips, 0},
        NULL, NULL);
}

/* c = alpha a b + beta c0 in rows `first` to `end` - 1, by replication `r`. */
static void multiply_add(hf_launches *l, const gemm *s, hf_buffer *a, hf_buffer *b,
                         uint32_t n, uint32_t first, uint32_t end, size_t r) {
    float alpha = (float)s->alpha, beta = (float)s->beta;
    bool single = s->type->sum_bytes == sizeof(float);
    size_t bytes = s->type->sum_bytes, group = s->shape[2];
    const hf_arg args[N_MULTIPLY_ARGS] = {
        {.buffer = a},
        {.buffer = b},
        {.buffer = s->c0},
        {.buffer = s->c},
        {.value = single ? (void *)&alpha : (void *)&s->alpha, .bytes = bytes},
        {.value = single ? (void *)&beta : (void *)&s->beta, .bytes = bytes},
        HF_VALUE(n),
        HF_VALUE(first),
        HF_VALUE(end)};
    size_t items = s->env.ndrange ? blocks(end - first, s->shape[0]) *
                                        blocks(n, s->shape[1]) * group
                                  : 1;
    hf_launches_add(l,
                    &(hf_launch){s->multiply[r], args, N_MULTIPLY_ARGS, items, group},
                    (unsigned)r);
}

/* Rows of blocks in equal parts, side by side. */
static void multiply_shared(hf_launches *l, const gemm *s, uint32_t n) {
    size_t rows = blocks(n, s->block_size), parts = s->replications;
    for (size_t i = 0; i < parts; i++) {
        size_t first = rows * i / parts * s->block_size,
               end = rows * (i + 1) / parts * s->block_size;
        if (end > first)
            multiply_add(l, s, s->a, s->b, n, (uint32_t)first,
                         (uint32_t)(end < n ? end : n), i);
    }
}

static hf_status gemm_step(void *state, size_t point, size_t inner) {
    gemm *s = state;
    uint32_t n = (uint32_t)s->sizes[point];
    for (size_t i = 0; i < inner; i++) {
        hf_launches all = {.device = s->env.device};
        if (s->env.ndrange) {
            HF_TRY(pack(s, s->pack_a, s->a, s->a_panels, n, s->shape[0]));
            HF_TRY(pack(s, s->pack_b, s->b, s->b_panels, n, s->shape[1]));
            multiply_add(&all, s, s->a_panels, s->b_panels, n, 0, n, 0);
        } else {
            multiply_shared(&all, s, n);
        }
        HF_TRY(hf_launches_wait(&all));
    }
    return HF_OK;
}

static hf_status gemm_verify(void *state, size_t point, size_t steps, hf_outcome *out) {
    gemm *s = state;
    hf_device *device = s->env.device;
    void *product;
    (void)steps; /* one */
    HF_TRY(device->ops->map(device, s->c, &product));
    out->error = gemm_data_error(&s->data, product, s->alpha, s->beta, s->sample);
    out->work[0] = hf_gemm_operations(s->sizes[point]);
    HF_TRY(device->ops->unmap(device, s->c, product));
    return HF_OK;
}

static hf_status gemm_plan(void *state, size_t point, hf_setting *out) {
    const gemm *s = state;
    out->labels[0] = s->sizes[point];
    out->tolerance = 1;
    return HF_OK;
}

static const hf_bench_path blocks_path = {
    .state_size = sizeof(gemm),
    .setup = gemm_setup,
    .plan = gemm_plan,
    .prepare = gemm_prepare,
    .step = gemm_step,
    .verify = gemm_verify,
    .teardown = gemm_teardown,
};

const hf_bench hf_bench_gemm = {
    .name = "gemm",
    .summary = "matrix multiplication C = alpha A B + beta C, on every rank's device",
    .params = params,
    .problem = {"sizes", 3, false},
    .computes = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_NDRANGE,
    .labels = labels,
    .metrics = metrics,
    .figures = figures,
    .blocks = &blocks_path,
};
