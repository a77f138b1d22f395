/* linpack_stream.c - linpack over kernel-routed schemes: the host's side of linpack_stream.cl.
 *
 * An iteration launches the kernels that have something to do on this rank and waits until they
 * have ended. Inner blocks are multiplied in other queues meanwhile. The networks also
 * carry the vectors of the solution: along rows to the left, along columns upwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "linpack.h"
#include "linpack_ways.h"

enum { LU, NETWORK, LEFT, TOP, NETWORK_LEFT, NETWORK_TOP, N_KERNELS };
enum { RIGHT_OUT = 0, LEFT_IN = 0, LEFT_OUT = 1, RIGHT_IN = 1 };
enum { DOWN_OUT = 2, UP_IN = 2, UP_OUT = 3, DOWN_IN = 3, N_PORTS };
enum { FACTORED, LOWER, UPPER, LEFTS, TOPS, N_INNER };
enum { N_SIDE_ARGS = 5, N_NETWORK_ARGS = 6 };

typedef struct streams {
    linpack base;
    hf_link *links;
    size_t packet, depth;           /* of a packet [B], of a channel [packets] */
    hf_kernel *networks[N_KERNELS]; /* NULL for those that are no network */
    hf_stream running[N_KERNELS];   /* [n] in this launch */
    size_t n;
} streams;

#define IN(name) \
    { .index = (name) }
#define OUT(name) \
    { .index = (name), .sends = true }
#define TAKES(name) \
    { .index = (name), .inner = true }
#define GIVES(name) \
    { .index = (name), .inner = true, .sends = true }

/* The ends of each kernel, as in linpack_stream.cl. */
static const struct {
    const char *name;
    size_t n_ends;
    hf_end ends[HF_MAX_ENDS];
} kernels[] = {
    [LU] = {"linpack_lu", 1, {GIVES(FACTORED)}},
    [NETWORK] = {"linpack_network",
                 7,
                 {TAKES(FACTORED), IN(RIGHT_IN), IN(DOWN_IN), OUT(RIGHT_OUT),
                  OUT(DOWN_OUT), GIVES(LOWER), GIVES(UPPER)}},
    [LEFT] = {"linpack_left", 2, {TAKES(UPPER), GIVES(LEFTS)}},
    [TOP] = {"linpack_top", 2, {TAKES(LOWER), GIVES(TOPS)}},
    [NETWORK_LEFT] = {"linpack_network_left",
                      3,
                      {TAKES(LEFTS), IN(LEFT_IN), OUT(LEFT_OUT)}},
    [NETWORK_TOP] = {"linpack_network_top", 3, {TAKES(TOPS), IN(UP_IN), OUT(UP_OUT)}},
};

static void stream_add(streams *s, size_t which, hf_kernel *kernel, const hf_arg *args,
                       size_t n_args) {
    s->running[s->n++] =
        (hf_stream){.name = kernels[which].name,
                    .launch = {.kernel = kernel, .args = args, .n_args = n_args},
                    .ends = kernels[which].ends,
                    .n_ends = kernels[which].n_ends};
}

static hf_status streams_run(streams *s) {
    hf_exchange *exchange = s->base.env.exchange;
    size_t n = s->n;
    s->n = 0;
    return n > 0 ? exchange->ops->streams->stream(exchange, n, s->running) : HF_OK;
}

/* ---- how far a rank is from that with the diagonal block ---- */

static int steps_between(int from, int to, int ranks) {
    return (to - from + ranks) % ranks;
}

/* Ranks after the one with diagonal block k, in the direction of right or down, that have
 * blocks after it. They are the next ones. */
static int ranks_after(const linpack *s, uint32_t k) {
    uint32_t blocks = s->width - 1 - k, others = (uint32_t)s->grid.q - 1;
    return (int)(blocks < others ? blocks : others);
}

/* ---- a network in one direction ---- */

typedef struct passing {
    hf_buffer *kept, *own;
    uint64_t kept_at, own_at, packets;
    uint32_t ways;
    hf_arg args[N_NETWORK_ARGS];
} passing;

static void passing_add(streams *s, size_t which, passing *p) {
    const hf_arg args[N_NETWORK_ARGS] = {
        {.buffer = p->kept}, {.buffer = p->own},   HF_VALUE(p->kept_at),
        HF_VALUE(p->own_at), HF_VALUE(p->packets), HF_VALUE(p->ways),
    };
    memcpy(p->args, args, sizeof args);
    stream_add(s, which, s->networks[which], p->args, N_NETWORK_ARGS);
}

/* Blocks `first` to `end` - 1 of a panel, `steps` ranks from where they are made. */
static passing panel_passing(const streams *s, hf_buffer *panel, uint32_t first,
                             uint32_t end, int steps, bool needed) {
    const linpack *l = &s->base;
    uint64_t block = l->block * l->block * l->real / s->packet;
    bool last = steps == l->grid.q - 1;
    return (passing){.kept = panel,
                     .own = l->sent, /* not read */
                     .kept_at = first * block,
                     .packets = (end - first) * block,
                     .ways = (steps == 0 ? LINPACK_MADE_HERE : LINPACK_FROM_BEFORE) |
                             (last ? 0U : LINPACK_TO_NEXT) |
                             (needed ? LINPACK_TO_MEMORY : 0U)};
}

/* ---- an iteration ---- */

/* L and U of the diagonal block on their ways. */
static uint32_t diagonal_ways(const linpack *s, const linpack_iteration *it) {
    int p = (int)(it->k % (uint32_t)s->grid.p), q = (int)(it->k % (uint32_t)s->grid.q);
    int right = steps_between(q, s->q, s->grid.q);
    int down = steps_between(p, s->p, s->grid.p), last = ranks_after(s, it->k);
    uint32_t ways = 0;
    if (it->in_row && it->in_column)
        ways |= LINPACK_MADE_HERE;
    if (it->in_row && right > 0 && right <= last)
        ways |= LINPACK_FROM_LEFT;
    if (it->in_row && right < last)
        ways |= LINPACK_TO_RIGHT;
    if (it->in_row && it->beside < s->columns)
        ways |= LINPACK_TO_TOP;
    if (it->in_column && down > 0 && down <= last)
        ways |= LINPACK_FROM_ABOVE;
    if (it->in_column && down < last)
        ways |= LINPACK_TO_BELOW;
    if (it->in_column && it->below < s->rows)
        ways |= LINPACK_TO_LEFT;
    return ways;
}

static hf_status panels_stream(linpack *l, linpack_iteration *it) {
    streams *s = (streams *)l;
    uint32_t block = it->row * l->columns + it->column, ways = diagonal_ways(l, it);
    int p = (int)(it->k % (uint32_t)l->grid.p), q = (int)(it->k % (uint32_t)l->grid.q);
    bool below = it->below < l->rows, beside = it->beside < l->columns;
    it->left = l->left[it->k % 2];
    it->top = l->top[it->k % 2];
    const hf_arg lu[] = {{.buffer = l->a}, HF_VALUE(block)};
    const hf_arg network[] = {HF_VALUE(ways)};
    const hf_arg left[N_SIDE_ARGS] = {{.buffer = l->a},
                                      HF_VALUE(it->below),
                                      HF_VALUE(l->rows),
                                      HF_VALUE(it->column),
                                      HF_VALUE(l->columns)};
    const hf_arg top[N_SIDE_ARGS] = {{.buffer = l->a},
                                     HF_VALUE(it->beside),
                                     HF_VALUE(l->columns),
                                     HF_VALUE(it->row),
                                     HF_VALUE(l->columns)};
    passing lefts = panel_passing(s, it->left, it->below, l->rows,
                                  steps_between(l->q, q, l->grid.q), beside);
    passing tops = panel_passing(s, it->top, it->beside, l->columns,
                                 steps_between(l->p, p, l->grid.p), below);
    /* The blocks that these kernels read are those that were updated first. */
    HF_TRY(l->env.device->ops->mark(l->env.device, NULL, NULL));
    hf_lap(l->env.laps, HF_LAP_KERNEL);
    if (it->in_row && it->in_column)
        stream_add(s, LU, l->lu, lu, 2);
    if (ways)
        stream_add(s, NETWORK, s->networks[NETWORK], network, 1);
    if (it->in_column && below)
        stream_add(s, LEFT, l->left_kernel, left, N_SIDE_ARGS);
    if (it->in_row && beside)
        stream_add(s, TOP, l->top_kernel, top, N_SIDE_ARGS);
    if (below)
        passing_add(s, NETWORK_LEFT, &lefts);
    if (beside)
        passing_add(s, NETWORK_TOP, &tops);
    hf_status status = streams_run(s);
    hf_lap(l->env.laps, HF_LAP_EXCHANGE);
    return status;
}

/* ---- the solution ---- */

/* Blocks of vectors along a row to the rank in column `q`: each adds its own to what comes,
 * but for the last, which keeps it. */
static hf_status row_collect(streams *s, hf_buffer *parts, hf_buffer *sums, uint64_t at,
                             uint64_t packets, int q) {
    const linpack *l = &s->base;
    int steps = steps_between(q, l->q, l->grid.q); /* still to go */
    passing all = {.kept = parts, .own = sums, .own_at = at, .packets = packets};
    if (steps < l->grid.q - 1)
        all.ways |= LINPACK_FROM_BEFORE;
    all.ways |= steps > 0 ? LINPACK_FROM_MEMORY | LINPACK_TO_NEXT : LINPACK_TO_MEMORY;
    if (l->grid.q == 1 || packets == 0)
        return HF_OK;
    passing_add(s, NETWORK_LEFT, &all);
    return streams_run(s);
}

/* Packets from the memory of the rank `steps` ranks before this one to that of all others. */
static hf_status memory_tell(streams *s, size_t which, passing all, int steps) {
    bool last = steps == s->base.grid.q - 1;
    if (s->base.grid.q == 1)
        return HF_OK;
    all.ways =
        (steps == 0 ? LINPACK_FROM_MEMORY : LINPACK_FROM_BEFORE | LINPACK_TO_MEMORY) |
        (last ? 0U : LINPACK_TO_NEXT);
    passing_add(s, which, &all);
    return streams_run(s);
}

/* Packets of a block of a vector. */
static uint64_t vector_packets(const streams *s) {
    return s->base.block * sizeof(double) / s->packet;
}

static hf_status sums_collect(linpack *l, uint32_t k, bool upper, uint32_t *n_parts) {
    streams *s = (streams *)l;
    uint64_t block = vector_packets(s);
    *n_parts = l->n_parts;
    if (k % (uint32_t)l->grid.p != (uint32_t)l->p)
        return HF_OK;
    return row_collect(s, l->parts, upper ? l->kept : l->sums,
                       linpack_share(k, l->p, l->grid.p) * block, block,
                       (int)(k % (uint32_t)l->grid.q));
}

static hf_status residuals_collect(linpack *l) {
    streams *s = (streams *)l;
    return row_collect(s, l->parts, l->sums, 0, l->rows * vector_packets(s), 0);
}

/* Column 0 collects the numbers, and tells their sum; stamps add up with them. */
static hf_status row_add(linpack *l, double *value) {
    streams *s = (streams *)l;
    hf_device *device = l->env.device;
    const hf_device_ops *ops = device->ops;
    double mine[LINPACK_MAX_PACKET / sizeof(double)] = {*value, linpack_stamp(l, l->q)};
    double others[2], stamps = 0;
    size_t packets = (sizeof others + s->packet - 1) / s->packet;
    const passing told = {.kept = l->numbers, .own = l->number, .packets = packets};
    if (l->grid.q == 1)
        return HF_OK;
    for (int q = 1; q < l->grid.q; q++)
        stamps += linpack_stamp(l, q);
    HF_TRY(ops->write(device, l->number, 0, mine, packets * s->packet, NULL, NULL));
    HF_TRY(row_collect(s, l->numbers, l->number, 0, packets, 0));
    if (l->q == 0) {
        HF_TRY(ops->read(device, l->numbers, 0, others, sizeof others, NULL, NULL));
        l->astray = l->astray || others[1] != stamps;
        *value = mine[0] += others[0];
        mine[1] += others[1];
        HF_TRY(ops->write(device, l->number, 0, mine, packets * s->packet, NULL, NULL));
    }
    HF_TRY(memory_tell(s, NETWORK_LEFT, told, steps_between(l->q, 0, l->grid.q)));
    if (l->q == 0)
        return HF_OK;
    HF_TRY(ops->read(device, l->numbers, 0, others, sizeof others, NULL, NULL));
    l->astray = l->astray || others[1] != stamps + linpack_stamp(l, 0);
    *value = others[0];
    return HF_OK;
}

static hf_status known_tell(linpack *l, uint32_t k) {
    streams *s = (streams *)l;
    uint64_t block = vector_packets(s), at = linpack_share(k, l->q, l->grid.q) * block;
    const passing known = {
        .kept = l->x, .own = l->sent, .kept_at = at, .own_at = at, .packets = block};
    if (k % (uint32_t)l->grid.q != (uint32_t)l->q)
        return HF_OK;
    return memory_tell(s, NETWORK_TOP, known,
                       steps_between(l->p, (int)(k % (uint32_t)l->grid.p), l->grid.p));
}

static const linpack_routing by_streams = {
    .queues = N_KERNELS,
    .panels = panels_stream,
    .sums_collect = sums_collect,
    .known_tell = known_tell,
    .residuals_collect = residuals_collect,
    .row_add = row_add,
};

/* ---- the path ---- */

static hf_status streams_ranks_check(const hf_args *args, const char *exchange,
                                     int ranks) {
    return hf_grid_check_square(hf_args_word(args, "grid"), ranks, exchange, "");
}

static hf_status links_take(streams *s) {
    const linpack *l = &s->base;
    char torus[64];
    snprintf(torus, sizeof torus, "torus:%dx%d", l->grid.p, l->grid.q);
    return hf_links_make(&s->links, torus, l->env.size, N_PORTS);
}

static hf_status streams_setup(void *state, const hf_args *args, const hf_env *env,
                               hf_outline *out) {
    streams *s = state;
    linpack *l = &s->base;
    HF_TRY(linpack_take(l, args, env, out));
    s->packet = (size_t)hf_args_number(args, "channel_width");
    s->depth = (size_t)hf_args_number(args, "channel_depth");
    l->routing = &by_streams;
    l->n_parts = l->grid.q > 1; /* others add up on the way */
    HF_TRY(links_take(s));
    HF_TRY(linpack_memory_take(l, args));
    static const size_t networks[] = {NETWORK, NETWORK_LEFT, NETWORK_TOP};
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        HF_TRY(env->device->ops->kernel(&s->networks[networks[i]], env->device,
                                        kernels[networks[i]].name, 0));
    return HF_OK;
}

static hf_status streams_connect(void *state) {
    streams *s = state;
    hf_exchange *exchange = s->base.env.exchange;
    const hf_wiring wiring = {s->links,  N_PORTS,  N_INNER,
                              s->packet, s->depth, HF_INNER_DEPTH};
    return exchange->ops->streams->connect(exchange, &wiring);
}

static hf_status streams_prepare(void *state, size_t point, uint64_t sample) {
    hf_exchange *exchange = ((streams *)state)->base.env.exchange;
    HF_TRY(linpack_prepare(state, point, sample));
    return exchange->ops->streams->prepare(exchange);
}

static void streams_teardown(void *state) {
    streams *s = state;
    if (!s->base.env.device)
        return;
    for (size_t i = 0; i < sizeof s->networks / sizeof s->networks[0]; i++)
        s->base.env.device->ops->kernel_free(s->networks[i]);
    free(s->links);
    linpack_teardown(state);
}

const hf_bench_path linpack_streams = {
    .state_size = sizeof(streams),
    .side_by_side = N_KERNELS,
    .ranks_check = streams_ranks_check,
    .setup = streams_setup,
    .connect = streams_connect,
    .plan = linpack_plan,
    .prepare = streams_prepare,
    .step = linpack_step,
    .verify = linpack_verify,
    .teardown = streams_teardown,
};
