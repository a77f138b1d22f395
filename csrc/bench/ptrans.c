/* ptrans.c - parallel matrix transposition: C = B + A^T on a P x Q grid of ranks.
 *
 * The matrices are cut into blocks, the last of a row or column padded to full width, and
 * ptrans_grid.c tells which rank holds which, in what order. One step moves the blocks of A
 * whose mirrors other ranks hold, one message for each partner, then adds. Blocks with
 * their mirrors on the same rank do not travel.
 *
 * Over kernel-routed schemes a sample is one launch of all pairs of kernels, and every block
 * goes through a channel: each rank has one partner then, maybe itself, as published. In the
 * diagonal distribution blocks on the diagonal go from kernel to kernel.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/error.h"
#include "core/random.h"
#include "core/stats.h"
#include "core/work.h"
#include "grid.h"
#include "largest.h"
#include "ptrans.h"
#include "ptrans_strip.h"
#include "ptrans_value.h"

enum { N_FILL_ARGS = 5, N_CHECK_ARGS = 4, N_ADD_ARGS = 6 };
enum { MIN_ITEMS = 1024 }; /* that fill and check where loops are no pipelines */

static const hf_param params[] = {
    {"sizes", "rows and columns of the matrices", "1024,2048,4096", NULL, NULL, 1,
     1048576, HF_INTS},
    {"block_size", "rows and columns of a block, a multiple of 32", "512", NULL,
     "HF_BLOCK", 32, 4096, HF_INT},
    {"data_type", "of the matrices", "float", "float|double", "HF_REAL", 0, 0, HF_TEXT},
    {"grid", "grid of the ranks: PxQ, or auto: as square as can be", "auto", NULL, NULL,
     0, 0, HF_TEXT},
    {"distribution",
     "of the blocks: pq, block-cyclic on the grid; or diagonal, such that each rank "
     "has one partner",
     "pq", "pq|diagonal", NULL, 0, 0, HF_TEXT},
    {"replications", "kernels, or pairs of kernels, that share a device's blocks", "1",
     NULL, NULL, 1, HF_MAX_NUMBERED, HF_INT},
    {"channel_width", "what a pipeline or an external channel takes at a time [B]",
     "32", NULL, "HF_CHANNEL_WIDTH", 8, 128, HF_INT},
    HF_DEPTH_PARAM,
    HF_CHUNK_PARAMS,
    {"bank_a",
     "memory bank of A, one number or one for each replication; -1: the runtime's "
     "choice. Where none is given and a bitstream's manifest tells the banks of its "
     "board, each replication has its own",
     "-1", NULL, NULL, -1, 255, HF_INTS},
    {"bank_b", "memory bank of B", "-1", NULL, NULL, -1, 255, HF_INTS},
    {"bank_c", "memory bank of C", "-1", NULL, NULL, -1, 255, HF_INTS},
    HF_SHAPE_PARAM,
    {0},
};

static const hf_quantity labels[] = {{"matrix_size", "1", HF_I64, NULL}, {0}};
static const hf_quantity parts[] = {
    {"transfer_time", "s", HF_F64, NULL},
    {"exchange_time", "s", HF_F64, NULL},
    {"kernel_time", "s", HF_F64, NULL},
    {0},
};
static const hf_quantity metrics[] = {
    {"flops", "FLOP/s", HF_F64, NULL}, {"bandwidth", "B/s", HF_F64, NULL}, {0}};

static const hf_figure figures[] = {{"flops", "FLOP/s", "flops", HF_FIGURE_MAX},
                                    {"bandwidth", "B/s", "bandwidth", HF_FIGURE_MAX},
                                    {0}};

static size_t block_bytes(const ptrans *s) {
    return s->block * s->block * s->real;
}

/* Blocks in a row of the matrix. */
static size_t width_of(const ptrans *s, double size) {
    return ((size_t)size + s->block - 1) / s->block;
}

/* ---- set-up ---- */

static bool width_fits(const void *state, size_t width) {
    const ptrans *s = state;
    const hf_device_info *info = &s->env.device->info;
    size_t bytes = ptrans_max_blocks(&s->grid, width, s->replications) * block_bytes(s);
    return bytes <= hf_device_room(info, s->n_buffers * s->replications);
}

static hf_status memory_check(const ptrans *s, double largest) {
    size_t width = width_of(s, largest);
    if (width_fits(s, width))
        return HF_OK;
    return hf_fail(
        HF_ENOMEM,
        "sizes: matrices of %.0f x %.0f do not fit \"%s\" on a grid of %dx%d; "
        "the largest size is %zu",
        largest, largest, s->env.device->info.name, s->grid.p, s->grid.q,
        hf_largest(width, width_fits, s) * s->block);
}

static hf_status spot_of(hf_spot *spot, const hf_args *args, const char *name,
                         size_t r) {
    size_t n, replications = (size_t)hf_args_number(args, "replications");
    const double *banks = hf_args_list(args, name, &n);
    if (n != 1 && n != replications)
        return hf_fail(HF_EARG,
                       "%s: %zu banks for %zu replications; one for all, or "
                       "one for each",
                       name, n, replications);
    spot->bank = (unsigned)(banks[n == 1 ? 0 : r] + 1); /* -1: any */
    return HF_OK;
}

/* Most blocks that replica `r` holds, receives, at any point; at least one. */
static void max_of(const ptrans *s, size_t r, size_t *blocks, size_t *received) {
    *blocks = *received = 1;
    for (size_t i = 0; i < s->n_layouts; i++) {
        const ptrans_part *part = &s->layouts[i].parts[r];
        *blocks = part->n > *blocks ? part->n : *blocks;
        *received = part->n - part->own > *received ? part->n - part->own : *received;
    }
}

/* Memory may come with the blocks of a former run, right ones under the same seed. */
static hf_status blocks_clear(const ptrans *s, hf_buffer *blocks) {
    hf_device *device = s->env.device;
    void *none = calloc(1, block_bytes(s));
    hf_status status = none ? HF_OK : hf_fail(HF_ENOMEM, "no memory for a block");
    for (size_t at = 0; status == HF_OK && at < blocks->bytes; at += block_bytes(s))
        status =
            device->ops->write(device, blocks, at, none, block_bytes(s), NULL, NULL);
    free(none);
    return status;
}

static hf_status replica_take(ptrans *s, size_t r, const hf_args *args) {
    replica *p = &s->replicas[r];
    hf_device *device = s->env.device;
    const hf_device_ops *ops = device->ops;
    size_t blocks, received, bytes = block_bytes(s);
    hf_spot spots[3] = {{0}};
    max_of(s, r, &blocks, &received);
    HF_TRY(spot_of(&spots[0], args, "bank_a", r));
    HF_TRY(spot_of(&spots[1], args, "bank_b", r));
    HF_TRY(spot_of(&spots[2], args, "bank_c", r));
    HF_TRY(ops->alloc(&p->a, device, blocks * bytes, &spots[0]));
    HF_TRY(ops->alloc(&p->b, device, blocks * bytes, &spots[1]));
    HF_TRY(ops->alloc(&p->c, device, blocks * bytes, &spots[2]));
    HF_TRY(blocks_clear(s, p->c));
    if (s->n_buffers > 3) {
        HF_TRY(ops->alloc(&p->got, device, received * bytes, &spots[0]));
        HF_TRY(blocks_clear(s, p->got));
    }
    HF_TRY(ops->alloc(&p->places, device, blocks * 2 * sizeof(uint32_t), &spots[0]));
    HF_TRY(ops->alloc(&p->sources, device, blocks * sizeof(uint32_t), &spots[0]));
    return hf_verdict_new(&p->verdict, &s->env, s->items, &spots[0]);
}

static hf_status layouts_take(ptrans *s) {
    s->layouts = calloc(s->n_layouts, sizeof *s->layouts);
    if (!s->layouts)
        return hf_fail(HF_ENOMEM, "no memory for %zu points", s->n_layouts);
    for (size_t i = 0; i < s->n_layouts; i++)
        HF_TRY(ptrans_layout_make(&s->layouts[i], &s->grid, width_of(s, s->sizes[i]),
                                  s->env.rank, s->replications, block_bytes(s)));
    return HF_OK;
}

hf_status ptrans_take(ptrans *s, const hf_args *args, const hf_env *env,
                      hf_outline *out) {
    s->env = *env;
    s->sizes = hf_args_list(args, "sizes", &s->n_layouts);
    out->n_points = s->n_layouts;
    s->block = (size_t)hf_args_number(args, "block_size");
    s->real = hf_element_of(args)->bytes;
    s->replications = (size_t)hf_args_number(args, "replications");
    hf_grid grid;
    HF_TRY(hf_grid_make(&grid, hf_args_word(args, "grid"), env->size));
    out->note = hf_grid_note(&grid, args);
    s->grid =
        (ptrans_grid){.p = grid.p,
                      .q = grid.q,
                      .diagonal = hf_args_chosen(args, "distribution", "diagonal")};
    return HF_OK;
}

hf_status ptrans_memory_take(ptrans *s, const hf_args *args, size_t n_buffers) {
    hf_device *device = s->env.device;
    s->n_buffers = n_buffers;
    HF_TRY(memory_check(s, hf_args_largest(args, "sizes")));
    HF_TRY(layouts_take(s));
    size_t items = device->info.items;
    s->items = !s->env.ndrange ? 1 : items > MIN_ITEMS ? items : MIN_ITEMS;
    for (size_t r = 0; r < s->replications; r++)
        HF_TRY(replica_take(s, r, args));
    HF_TRY(device->ops->kernel(&s->fill, device, "ptrans_fill", 0));
    return device->ops->kernel(&s->check, device, "ptrans_check", 0);
}

static hf_status blocks_setup(void *state, const hf_args *args, const hf_env *env,
                              hf_outline *out) {
    ptrans *s = state;
    hf_device *device = env->device;
    HF_TRY(ptrans_take(s, args, env, out));
    if (env->size == 1)
        out->note = "one rank: every block has its mirror here, nothing is exchanged";
    HF_TRY(ptrans_memory_take(s, args, env->size > 1 ? 4 : 3));
    for (size_t r = 0; r < s->replications; r++)
        HF_TRY(device->ops->kernel(&s->replicas[r].add, device, "ptrans_add",
                                   hf_replica_unit(r, s->replications)));
    return HF_OK;
}

void ptrans_teardown(void *state) {
    ptrans *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    for (size_t r = 0; r < s->replications; r++) {
        replica *p = &s->replicas[r];
        hf_plan_free(p->plan);
        hf_buffer *buffers[] = {p->a, p->b, p->c, p->got, p->places, p->sources};
        for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
            ops->free(buffers[i]);
        hf_verdict_free(&p->verdict);
        ops->kernel_free(p->add);
        ops->kernel_free(p->send);
        ops->kernel_free(p->recv);
    }
    ops->kernel_free(s->fill);
    ops->kernel_free(s->check);
    for (size_t i = 0; s->layouts && i < s->n_layouts; i++)
        ptrans_layout_free(&s->layouts[i]);
    free(s->layouts);
    free(s->links);
}

/* ---- a sample ---- */

hf_status ptrans_plan(void *state, size_t point, hf_setting *out) {
    const ptrans *s = state;
    out->labels[0] = s->sizes[point];
    return HF_OK;
}

static hf_status blocks_plan(void *state, size_t point, hf_setting *out) {
    ptrans *s = state;
    const ptrans_layout *layout = &s->layouts[point];
    HF_TRY(ptrans_plan(state, point, out));
    for (size_t r = 0; r < s->replications; r++) {
        const ptrans_part *part = &layout->parts[r];
        replica *p = &s->replicas[r];
        hf_plan_free(p->plan);
        p->plan = NULL;
        HF_TRY(hf_plan_new(&p->plan, s->env.exchange, p->got, p->a, part->n_messages,
                           layout->messages + part->message));
    }
    return HF_OK;
}

/* Where the blocks belong. Written before the check, too: places that were wrong when the
 * blocks were filled must not agree with themselves. */
static hf_status places_write(const ptrans *s, const replica *p, size_t point,
                              size_t r) {
    const ptrans_layout *layout = &s->layouts[point];
    const ptrans_part *part = &layout->parts[r];
    hf_device *device = s->env.device;
    return device->ops->write(device, p->places, 0, layout->places + 2 * part->first,
                              part->n * 2 * sizeof *layout->places, NULL, NULL);
}

/* Do the kernels have them? Where they were lost twice, fill and check agree on others. */
static hf_status places_look(const ptrans *s, const replica *p, size_t point, size_t r,
                             bool *astray) {
    const ptrans_layout *layout = &s->layouts[point];
    const ptrans_part *part = &layout->parts[r];
    return hf_verdict_look(astray, s->env.device, p->places, 0,
                           layout->places + 2 * part->first,
                           part->n * 2 * sizeof *layout->places);
}

/* Has a part of a row of B the values of our formula? A and the check have that of B. */
static hf_status values_look(const ptrans *s, const replica *p, size_t point, size_t r,
                             bool *astray) {
    const ptrans_layout *layout = &s->layouts[point];
    const ptrans_part *part = &layout->parts[r];
    uint64_t drawn = hf_random(s->key, (uint64_t)s->env.rank);
    size_t block = drawn % part->n, i = (drawn >> 20) % s->block,
           j = (drawn >> 40) % (s->block / HF_LOOKED) * HF_LOOKED;
    const uint32_t *place = layout->places + 2 * (part->first + block);
    uint32_t row = (uint32_t)(place[0] * s->block + i),
             column = (uint32_t)(place[1] * s->block + j);
    double wanted[HF_LOOKED];
    bool single = s->real == sizeof(float);
    for (uint32_t k = 0; k < HF_LOOKED; k++) {
        int bits = ptrans_bits(row, column + k, s->key ^ PTRANS_B);
        wanted[k] = single ? PTRANS_VALUE(float, bits) : PTRANS_VALUE(double, bits);
    }
    return hf_verdict_look_reals(astray, s->env.device, p->b,
                                 (block * s->block + i) * s->block + j, wanted,
                                 s->real);
}

static hf_status replica_prepare(ptrans *s, size_t point, size_t r) {
    replica *p = &s->replicas[r];
    const ptrans_layout *layout = &s->layouts[point];
    const ptrans_part *part = &layout->parts[r];
    hf_device *device = s->env.device;
    p->blocks = (uint32_t)part->n;
    p->own = s->grid.diagonal ? (uint32_t)part->own : 0;
    if (part->n == 0)
        return HF_OK;
    HF_TRY(places_write(s, p, point, r));
    HF_TRY(device->ops->write(device, p->sources, 0, layout->sources + part->first,
                              part->n * sizeof *layout->sources, NULL, NULL));
    const hf_arg args[N_FILL_ARGS] = {{.buffer = p->a},
                                      {.buffer = p->b},
                                      {.buffer = p->places},
                                      HF_VALUE(p->blocks),
                                      HF_VALUE(s->key)};
    const hf_launch launch = {
        .kernel = s->fill, .args = args, .n_args = N_FILL_ARGS, .items = s->items};
    return device->ops->launch(device, &launch, NULL, NULL);
}

hf_status ptrans_prepare(void *state, size_t point, uint64_t sample) {
    ptrans *s = state;
    s->key = (uint32_t)hf_random(s->env.seed, sample);
    for (size_t r = 0; r < s->replications; r++)
        HF_TRY(replica_prepare(s, point, r));
    return HF_OK;
}

/* A sample is one step: a second one would repeat the first, and could get lost. */
static hf_status blocks_move(const ptrans *s) {
    for (size_t r = 0; r < s->replications; r++)
        HF_TRY(hf_plan_run(s->replicas[r].plan));
    return HF_OK;
}

/* C = B + A^T in blocks first .. first + count - 1 of a replica; replicas side by side,
 * with work-items for the `most` that one has. */
static void blocks_add(hf_launches *l, const ptrans *s, size_t r, hf_buffer *a,
                       size_t first, size_t count, size_t most) {
    const replica *p = &s->replicas[r];
    uint32_t from = (uint32_t)first, blocks = (uint32_t)count;
    const hf_arg args[N_ADD_ARGS] = {{.buffer = a},    {.buffer = p->b},
                                     {.buffer = p->c}, {.buffer = p->sources},
                                     HF_VALUE(from),   HF_VALUE(blocks)};
    size_t group = hf_device_group(&s->env.device->info);
    const hf_launch launch = {
        .kernel = p->add,
        .args = args,
        .n_args = N_ADD_ARGS,
        .items = s->env.ndrange ? most * (s->block / PTRANS_STRIP) * group : 1,
        .group = s->env.ndrange ? group : 0};
    if (count > 0)
        hf_launches_add(l, &launch, (unsigned)r);
}

static hf_status layout_add(const ptrans *s, const ptrans_layout *layout) {
    hf_launches all = {.device = s->env.device};
    size_t most = 0;
    for (size_t r = 0; r < s->replications; r++)
        most = most > layout->parts[r].n ? most : layout->parts[r].n;
    for (size_t r = 0; r < s->replications; r++) {
        const ptrans_part *part = &layout->parts[r];
        blocks_add(&all, s, r, s->replicas[r].a, 0, part->own, most);
        blocks_add(&all, s, r, s->replicas[r].got, part->own, part->n - part->own,
                   most);
    }
    return hf_launches_wait(&all);
}

static hf_status blocks_step(void *state, size_t point, size_t inner) {
    ptrans *s = state;
    (void)inner; /* one */
    HF_TRY(blocks_move(s));
    HF_TRY(layout_add(s, &s->layouts[point]));
    hf_lap(s->env.laps, HF_LAP_KERNEL);
    return HF_OK;
}

/* All blocks that the layout says, however many were filled and sent. */
static hf_status replica_verify(ptrans *s, size_t point, size_t r, double *worst) {
    replica *p = &s->replicas[r];
    uint32_t blocks = (uint32_t)s->layouts[point].parts[r].n;
    double residual;
    hf_arg args[N_CHECK_ARGS + HF_VERDICT_ARGS] = {
        {.buffer = p->c}, {.buffer = p->places}, HF_VALUE(blocks), HF_VALUE(s->key)};
    HF_TRY(places_write(s, p, point, r));
    HF_TRY(hf_verdict_take(&p->verdict, HF_VERDICT_LARGEST, s->check, args,
                           N_CHECK_ARGS, 0, (uint64_t)blocks * s->block * s->block,
                           &residual));
    bool astray = false;
    HF_TRY(places_look(s, p, point, r, &astray));
    HF_TRY(values_look(s, p, point, r, &astray));
    *worst = hf_larger(*worst, astray ? INFINITY : residual);
    return HF_OK;
}

/* The largest residual; sums of the values are exact, so right means 0. */
hf_status ptrans_verify(void *state, size_t point, size_t steps, hf_outcome *out) {
    ptrans *s = state;
    const ptrans_layout *layout = &s->layouts[point];
    size_t checked = 0;
    double worst = 0;
    (void)steps; /* one */
    for (size_t r = 0; r < s->replications; checked += layout->parts[r++].n)
        if (layout->parts[r].n > 0)
            HF_TRY(replica_verify(s, point, r, &worst));
    out->error = checked == layout->n ? worst : NAN;
    double n = s->sizes[point], /* of so many rows would be as much as this rank has */
        share = (double)ptrans_values(&s->grid, s->env.rank, (size_t)n, s->block);
    out->work[0] = hf_ptrans_operations(n) / (n * n) * share;
    out->work[1] = HF_PTRANS_ARRAYS * (double)s->real * out->work[0];
    return HF_OK;
}

static const hf_bench_path blocks = {
    .state_size = sizeof(ptrans),
    .ranks_check = hf_grid_check,
    .setup = blocks_setup,
    .plan = blocks_plan,
    .prepare = ptrans_prepare,
    .step = blocks_step,
    .verify = ptrans_verify,
    .teardown = ptrans_teardown,
};

const hf_bench hf_bench_ptrans = {
    .name = "ptrans",
    .summary = "matrix transposition C = B + A^T, blocks dealt out to a grid of ranks",
    .params = params,
    .problem = {"sizes", 2, true},
    .banked = true,
    .computes = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_STREAM | HF_KERNELS_NDRANGE,
    .labels = labels,
    .parts = parts,
    .metrics = metrics,
    .figures = figures,
    .blocks = &blocks,
    .streams = &ptrans_streams,
};
