/* linpack.c - LINPACK: A x = b by LU factorisation without pivoting on a grid of ranks.
 *
 * The blocks of A lie block-cyclic on a P x Q grid of ranks. A sample is the factorisation
 * (linpack_lu.c), of another matrix each time. The solution follows, timed apart
 * (linpack_solve.c): only with it can anyone see whether L and U are right. Refined
 * (linpack_refine.c), it is part of the sample. Blocks and vectors travel by plans
 * (linpack_plans.c) or from kernel to kernel (linpack_stream.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/error.h"
#include "core/random.h"
#include "core/work.h"
#include "gemm.h"
#include "largest.h"
#include "linpack.h"
#include "linpack_value.h"

enum {
    MIN_ITEMS = 1024,    /* of kernels that are no pipelines and take turns at rows */
    MAX_ITEMS = 1 << 20, /* of a kernel, for a block */
    N_FILL_ARGS = 9,
};

static const hf_param params[] = {
    {"sizes", "rows and columns n of A", "1024,2048,4096", NULL, NULL, 1, 1 << 20,
     HF_INTS},
    {"block_size", "rows and columns of a block, a multiple of 32", "256", NULL,
     "HF_BLOCK", 32, 1024, HF_INT},
    {"data_type", "of L and U; the solution is double", "float", "float|double",
     "HF_REAL", 0, 0, HF_TEXT},
    {"grid", "grid of the ranks: PxQ, or auto: as square as can be", "auto", NULL, NULL,
     0, 0, HF_TEXT},
    {"refine",
     "corrections of the solution in double, which is timed and counted then; True: "
     "classical",
     "none", "none|classical|gmres", NULL, 0, 0, HF_TEXT},
    HF_SHAPE_PARAM,
    {"replications", "kernels that share the inner blocks; 1 for shape ndrange", "1",
     NULL, "HF_REPLICATIONS", 1, LINPACK_MAX_REPLICATIONS, HF_INT},
    HF_GEMM_TILE_PARAMS,
    {"channel_width", "what an external channel takes at a time [B]", "32", NULL,
     "HF_CHANNEL_WIDTH", 8, LINPACK_MAX_PACKET, HF_INT},
    HF_DEPTH_PARAM,
    HF_CHUNK_PARAMS,
    {0},
};

static const hf_quantity labels[] = {{"matrix_size", "1", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"flops", "FLOP/s", HF_F64, NULL}, {0}};
static const hf_quantity findings[] = {{"scaled_residual", "1", HF_F64, NULL},
                                       {"normalised_residual", "1", HF_F64, NULL},
                                       {0}};
static const hf_quantity stages[] = {{"iteration_blocks", "1", HF_I64, NULL},
                                     {"iteration_kernel_time", "s", HF_F64, NULL},
                                     {"iteration_exchange_time", "s", HF_F64, NULL},
                                     {0}};
static const hf_figure figures[] = {{"flops", "FLOP/s", "flops", HF_FIGURE_MAX}, {0}};
static const hf_quantity parts[] = {
    {"transfer_time", "s", HF_F64, NULL}, {"exchange_time", "s", HF_F64, NULL},
    {"kernel_time", "s", HF_F64, NULL},   {"solve_time", "s", HF_F64, NULL},
    {"refine_time", "s", HF_F64, NULL},   {0},
};

/* ---- memory ---- */

size_t linpack_width(const linpack *s, size_t n) {
    return (n + s->block - 1) / s->block;
}

/* Elements of a packed block, at most: whole panels. */
static size_t packed_max(const linpack *s) {
    return (s->block + HF_GEMM_BLOCK) * s->block;
}

/* Bytes of a rank for matrices of `width` blocks in a row: the largest buffer and all. */
static void memory_of(const linpack *s, size_t width, size_t *largest, size_t *all) {
    size_t rows = linpack_share(width, 0, s->grid.p);
    size_t columns = linpack_share(width, 0, s->grid.q);
    size_t panels = packed_max(s) * s->real, vector = s->block * sizeof(double);
    size_t longer = rows > columns ? rows : columns;
    size_t parts = (s->n_parts + 1) * rows * vector;
    size_t from_left = s->receives && s->grid.q > 1 ? rows : 0;
    size_t from_top = s->receives && s->grid.p > 1 ? columns : 0;
    *largest = rows * columns * s->block * s->block * s->real;
    /* Panels of two iterations, and diagonal blocks with L and U, made and received. */
    *all = *largest + (2 * (rows + columns + from_left + from_top) + 4) * panels +
           parts + (4 * rows + (4 + HF_LINPACK_MAX_CORRECTIONS) * columns) * vector +
           (1 + (size_t)s->grid.q) * vector;
    *largest = longer * panels > *largest ? longer * panels : *largest;
    *largest = parts > *largest ? parts : *largest;
}

static bool width_fits(const void *state, size_t width) {
    const linpack *s = state;
    const hf_device_info *info = &s->env.device->info;
    size_t largest, all;
    memory_of(s, width, &largest, &all);
    return largest <= info->max_alloc && all <= info->memory;
}

static hf_status memory_check(const linpack *s, size_t n) {
    const hf_device_info *info = &s->env.device->info;
    size_t width = linpack_width(s, n), largest, all;
    if (width_fits(s, width))
        return HF_OK;
    memory_of(s, width, &largest, &all);
    return hf_fail(
        HF_ENOMEM,
        "sizes: a %zu x %zu matrix takes %.3g GB per rank on a grid of %dx%d, "
        "%.3g GB of it in one buffer; \"%s\" has %.3g GB, %.3g GB for a "
        "buffer; the largest size is %zu",
        n, n, (double)all / 1e9, s->grid.p, s->grid.q, (double)largest / 1e9,
        info->name, (double)info->memory / 1e9, (double)info->max_alloc / 1e9,
        hf_largest(width, width_fits, s) * s->block);
}

hf_status linpack_buffer_take(const linpack *s, hf_buffer **out, size_t n,
                              size_t bytes) {
    return s->env.device->ops->alloc(out, s->env.device, n * bytes, NULL);
}

static hf_status buffers_take(linpack *s, size_t width) {
    size_t rows = linpack_share(width, 0, s->grid.p);
    size_t columns = linpack_share(width, 0, s->grid.q);
    size_t left = s->shape[LINPACK_LEFT_SIZE] * s->real,
           top = s->shape[LINPACK_TOP_SIZE] * s->real;
    size_t vector = s->block * sizeof(double);
    HF_TRY(
        linpack_buffer_take(s, &s->a, rows * columns, s->block * s->block * s->real));
    for (int i = 0; i < 2; i++) {
        HF_TRY(linpack_buffer_take(s, &s->left[i], rows, left));
        HF_TRY(linpack_buffer_take(s, &s->top[i], columns, top));
    }
    HF_TRY(linpack_buffer_take(s, &s->b, rows, vector));
    HF_TRY(linpack_buffer_take(s, &s->product, rows, vector));
    HF_TRY(linpack_buffer_take(s, &s->sums, rows, vector));
    HF_TRY(linpack_buffer_take(s, &s->kept, rows, vector));
    HF_TRY(linpack_buffer_take(s, &s->parts, s->n_parts > 0 ? s->n_parts * rows : 1,
                               vector));
    HF_TRY(linpack_buffer_take(s, &s->sent, columns, vector));
    HF_TRY(linpack_buffer_take(s, &s->x, columns, vector));
    if (s->refine) {
        HF_TRY(linpack_buffer_take(s, &s->first, columns, vector));
        HF_TRY(linpack_buffer_take(s, &s->refined, columns, vector));
    }
    if (s->refine == linpack_gmres) {
        for (unsigned i = 0; i < s->corrections; i++)
            HF_TRY(linpack_buffer_take(s, &s->basis[i], columns, vector));
        HF_TRY(linpack_buffer_take(s, &s->number, 1, vector));
        HF_TRY(linpack_buffer_take(s, &s->numbers, (size_t)s->grid.q, vector));
    }
    HF_TRY(linpack_buffer_take(s, &s->dots, s->dot_items, sizeof *s->scalars));
    s->zeros = calloc(rows > columns ? rows : columns, vector);
    s->scalars = calloc(s->dot_items + 2 * (size_t)s->grid.q, sizeof *s->scalars);
    return s->zeros && s->scalars ? HF_OK
                                  : hf_fail(HF_ENOMEM, "no host memory for a vector");
}

/* ---- set-up ---- */

static hf_status kernels_take(linpack *s) {
    hf_device *device = s->env.device;
    const struct {
        hf_kernel **kernel;
        const char *name;
    } all[] = {
        {&s->lu, "linpack_lu"},
        {&s->left_kernel, "linpack_left"},
        {&s->top_kernel, "linpack_top"},
        {&s->fill, "linpack_fill"},
        {&s->right, "linpack_right"},
        {&s->multiply, "linpack_product"},
        {&s->solve, "linpack_solve"},
        {&s->apply, "linpack_apply"},
        {&s->residual, "linpack_residual"},
        {&s->add, "linpack_add"},
        {&s->dot, "linpack_dot"},
        {&s->check, "linpack_check"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        HF_TRY(device->ops->kernel(all[i].kernel, device, all[i].name, 0));
    for (size_t r = 0; r < s->replications; r++)
        HF_TRY(device->ops->kernel(&s->inner[r], device, "linpack_inner",
                                   hf_replica_unit(r, s->replications)));
    return device->ops->kernel(&s->next, device,
                               s->env.ndrange ? "linpack_next" : "linpack_inner",
                               hf_replica_unit(0, s->replications));
}

static hf_status shape_take(linpack *s) {
    HF_TRY(hf_kernel_ask(s->env.device, "linpack_shape", s->shape, sizeof s->shape));
    size_t least = s->block * s->block, most = packed_max(s);
    size_t triangle = s->receives ? s->block * (s->block - 1) / 2 : 0;
    bool sound =
        s->shape[LINPACK_LEFT_SIZE] >= least && s->shape[LINPACK_LEFT_SIZE] <= most &&
        s->shape[LINPACK_TOP_SIZE] >= least && s->shape[LINPACK_TOP_SIZE] <= most &&
        s->shape[LINPACK_LOWER_SIZE] >= triangle &&
        s->shape[LINPACK_UPPER_SIZE] >= triangle &&
        s->shape[LINPACK_LOWER_SIZE] <= most && s->shape[LINPACK_UPPER_SIZE] <= most;
    for (size_t i = LINPACK_LU_ITEMS; i < LINPACK_N_SHAPE; i++)
        sound =
            sound && s->shape[i] > 0 && s->shape[i] <= (s->env.ndrange ? MAX_ITEMS : 1);
    return sound
               ? HF_OK
               : hf_fail(HF_EDEVICE,
                         "linpack_shape says packed blocks of %u and %u elements, not "
                         "%zu to %zu, or other work-items",
                         s->shape[LINPACK_LEFT_SIZE], s->shape[LINPACK_TOP_SIZE], least,
                         most);
}

static const struct {
    const char *name;
    hf_status (*run)(linpack *s);
} refinements[] = {{"classical", linpack_classical}, {"gmres", linpack_gmres}};

hf_status linpack_take(linpack *s, const hf_args *args, const hf_env *env,
                       hf_outline *out) {
    const hf_element *type = hf_element_of(args);
    size_t items = env->device->info.items;
    s->env = *env;
    s->sizes = hf_args_list(args, "sizes", &out->n_points);
    s->block = (size_t)hf_args_number(args, "block_size");
    s->replications = (size_t)hf_args_number(args, "replications");
    s->real = type->bytes;
    for (size_t i = 0; i < sizeof refinements / sizeof refinements[0]; i++)
        if (strcmp(hf_args_word(args, "refine"), refinements[i].name) == 0)
            s->refine = refinements[i].run;
    s->corrections = hf_linpack_corrections((double)type->bytes);
    s->roundoff = ldexp(1, -type->digits);
    s->dot_items = env->ndrange ? MIN_ITEMS : 1;
    s->items = !env->ndrange ? 1 : items > MIN_ITEMS ? items : MIN_ITEMS;
    HF_TRY(hf_replicas_check(s->replications, env->ndrange));
    HF_TRY(hf_grid_make(&s->grid, hf_args_word(args, "grid"), env->size));
    out->note = hf_grid_note(&s->grid, args);
    s->p = env->rank / s->grid.q;
    s->q = env->rank % s->grid.q;
    return HF_OK;
}

hf_status linpack_memory_take(linpack *s, const hf_args *args) {
    size_t n = (size_t)hf_args_largest(args, "sizes");
    HF_TRY(memory_check(s, n));
    HF_TRY(shape_take(s));
    HF_TRY(kernels_take(s));
    HF_TRY(buffers_take(s, linpack_width(s, n)));
    return hf_verdict_new(&s->verdict, &s->env, s->items, NULL);
}

void linpack_teardown(void *state) {
    linpack *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    free(s->zeros);
    free(s->scalars);
    hf_buffer *buffers[] = {s->a,      s->left[0], s->left[1], s->top[0],  s->top[1],
                            s->b,      s->product, s->sums,    s->kept,    s->parts,
                            s->sent,   s->x,       s->first,   s->refined, s->dots,
                            s->number, s->numbers};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ops->free(buffers[i]);
    for (size_t i = 0; i < HF_LINPACK_MAX_CORRECTIONS; i++)
        ops->free(s->basis[i]);
    hf_verdict_free(&s->verdict);
    hf_kernel *kernels[] = {s->lu,       s->left_kernel, s->top_kernel, s->fill,
                            s->right,    s->multiply,    s->solve,      s->apply,
                            s->residual, s->add,         s->dot,        s->check,
                            s->next};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        ops->kernel_free(kernels[i]);
    for (size_t r = 0; r < s->replications; r++)
        ops->kernel_free(s->inner[r]);
}

hf_status linpack_plan(void *state, size_t point, hf_setting *out) {
    linpack *s = state;
    double n = s->sizes[point];
    out->labels[0] = n;
    out->tolerance = LINPACK_BOUND;
    s->n = (uint32_t)n;
    s->width = (uint32_t)linpack_width(s, s->n);
    s->rows = linpack_share(s->width, s->p, s->grid.p);
    s->columns = linpack_share(s->width, s->q, s->grid.q);
    return HF_OK;
}

/* ---- a sample ---- */

/* Has a part of a row of A the values of our formula? The check has that of the kernels. */
static hf_status values_look(linpack *s) {
    uint64_t drawn = hf_random(s->key, (uint64_t)s->env.rank);
    if (s->rows == 0 || s->columns == 0)
        return HF_OK;
    size_t i = (uint32_t)drawn % (s->rows * s->block),
           j = (drawn >> 32) % (s->columns * s->block / HF_LOOKED) * HF_LOOKED,
           block = i / s->block * s->columns + j / s->block;
    uint32_t row = linpack_place(s->block, i, s->p, s->grid.p),
             column = linpack_place(s->block, j, s->q, s->grid.q);
    double wanted[HF_LOOKED];
    for (uint32_t k = 0; k < HF_LOOKED; k++) {
        bool padding = row >= s->n || column + k >= s->n;
        wanted[k] = padding ? row == column + k
                            : LINPACK_VALUE(double, row, column + k, s->n, s->key);
    }
    return hf_verdict_look_reals(
        &s->astray, s->env.device, s->a,
        (block * s->block + i % s->block) * s->block + j % s->block, wanted, s->real);
}

hf_status linpack_prepare(void *state, size_t point, uint64_t sample) {
    linpack *s = state;
    (void)point;
    s->key = (uint32_t)hf_random(s->env.seed, sample);
    s->told = 0;
    s->astray = false;
    const hf_arg args[N_FILL_ARGS] = {
        {.buffer = s->a},    HF_VALUE(s->n),      HF_VALUE(s->key),
        HF_VALUE(s->p),      HF_VALUE(s->grid.p), HF_VALUE(s->q),
        HF_VALUE(s->grid.q), HF_VALUE(s->rows),   HF_VALUE(s->columns),
    };
    const hf_launch fill = {
        .kernel = s->fill, .args = args, .n_args = N_FILL_ARGS, .items = s->items};
    HF_TRY(s->env.device->ops->launch(s->env.device, &fill, NULL, NULL));
    HF_TRY(values_look(s));
    return linpack_right_make(s);
}

/* Its messages are part of its own time. */
static hf_status solution_find(linpack *s) {
    hf_exchange_lap(s->env.exchange, NULL);
    hf_status status = linpack_solve(s);
    hf_lap(s->env.laps, LINPACK_LAP_SOLVE);
    if (status == HF_OK && s->refine) {
        status = linpack_vector_copy(s, s->first, s->x, s->columns);
        status = status == HF_OK ? s->refine(s) : status;
        hf_lap(s->env.laps, LINPACK_LAP_REFINE);
    }
    hf_exchange_lap(s->env.exchange, s->env.laps);
    return status;
}

hf_status linpack_step(void *state, size_t point, size_t inner) {
    linpack *s = state;
    (void)point;
    (void)inner; /* 1: the matrix is gone afterwards */
    HF_TRY(linpack_factor(s));
    return s->refine ? solution_find(s) : HF_OK;
}

/* Operations are shared out evenly, as blocks nearly are. */
hf_status linpack_verify(void *state, size_t point, size_t steps, hf_outcome *out) {
    linpack *s = state;
    double n = s->sizes[point];
    (void)steps; /* one */
    out->work[0] =
        (s->refine ? hf_linpack_refined_operations(n) : hf_linpack_operations(n)) /
        s->env.size;
    if (!s->refine)
        HF_TRY(solution_find(s));
    hf_exchange_lap(s->env.exchange, NULL);
    hf_status status = linpack_check(s, out);
    hf_exchange_lap(s->env.exchange, s->env.laps);
    return status;
}

const hf_bench hf_bench_linpack = {
    .name = "linpack",
    .summary = "LU factorisation of A x = b without pivoting, on a grid of ranks",
    .params = params,
    .problem = {"sizes", 2, true}, /* as published: n^2 per rank stays */
    .computes = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_STREAM | HF_KERNELS_NDRANGE,
    .error = "residual",
    .labels = labels,
    .parts = parts,
    .metrics = metrics,
    .findings = findings,
    .stages = stages,
    .figures = figures,
    .blocks = &linpack_blocks,
    .streams = &linpack_streams,
};
