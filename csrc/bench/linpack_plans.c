/* linpack_plans.c - linpack over host-routed schemes: blocks and vectors travel by plans.
 *
 * Messages of iterations k with the same k modulo the grid's sides go between the same ranks and
 * buffers. They are planned once for each such class, and cut as the matrix gets smaller.
 */
#include <stdlib.h>

#include "core/error.h"
#include "linpack.h"

enum { N_LU_ARGS = 3, N_SIDE_ARGS = 7 };

/** Messages of a class of iterations. */
typedef struct messages {
    hf_plan *diagonal, *left, *top; /* of the factorisation */
    hf_plan *sums, *kept, *known;   /* of the solution */
} messages;

typedef struct plans {
    linpack base;
    size_t n_classes;
    messages *classes; /* [n_classes] of the current point */
    hf_message *list;  /* room for those of a plan while it is made */
    hf_plan *residuals, *scalars;
    /* The diagonal block as this rank makes it, and as it gets it; panels of others. */
    hf_buffer *packed, *packed_in, *left_in[2], *top_in[2];
} plans;

static const messages *messages_of(const linpack *s, uint32_t k) {
    const plans *r = (const plans *)s;
    return &r->classes[k % r->n_classes];
}

/* ---- panels ---- */

static hf_status plan_run(hf_plan *plan) {
    return plan->n > 0 ? hf_plan_run(plan) : HF_OK;
}

/* What is sent is read when the kernels before have made it: that time is theirs. */
static hf_status move(const linpack *s, hf_plan *plan) {
    bool sends = false;
    for (size_t i = 0; i < plan->n; i++)
        sends = sends || plan->messages[i].send_bytes > 0;
    if (sends)
        HF_TRY(s->env.device->ops->mark(s->env.device, NULL, NULL));
    hf_lap(s->env.laps, HF_LAP_KERNEL);
    return plan_run(plan);
}

static hf_status diagonal_factor(const linpack *s, linpack_iteration *it) {
    uint32_t block = it->row * s->columns + it->column;
    const hf_arg args[N_LU_ARGS] = {
        {.buffer = s->a}, {.buffer = ((const plans *)s)->packed}, HF_VALUE(block)};
    const hf_launch what = {s->lu, args, N_LU_ARGS, s->shape[LINPACK_LU_ITEMS],
                            s->shape[LINPACK_LU_GROUP]};
    if (!it->in_row || !it->in_column)
        return HF_OK;
    return linpack_launch(s, it, &what, NULL, NULL);
}

/* Blocks `first` to `end` - 1 of L or of U, with the diagonal block of whoever has it. */
static hf_status side_solve(const linpack *s, linpack_iteration *it, hf_kernel *kernel,
                            hf_buffer *panels, uint32_t first, uint32_t end,
                            uint32_t at, uint32_t items) {
    const plans *r = (const plans *)s;
    bool own = it->in_row && it->in_column;
    const hf_arg args[N_SIDE_ARGS] = {
        {.buffer = s->a},     {.buffer = own ? r->packed : r->packed_in},
        {.buffer = panels},   HF_VALUE(first),
        HF_VALUE(end),        HF_VALUE(at),
        HF_VALUE(s->columns),
    };
    const hf_launch what = {kernel, args, N_SIDE_ARGS,
                            s->env.ndrange ? (size_t)(end - first) * items : 1,
                            s->shape[LINPACK_SIDE_GROUP]};
    if (first == end)
        return HF_OK;
    return linpack_launch(s, it, &what, NULL, &it->now->ready[it->now->n_ready++]);
}

/* Has rank `at` of `ranks` blocks after number k of a row or column? */
static bool goes_on(const linpack *s, uint32_t k, int at, int ranks) {
    return linpack_share(s->width, at, ranks) > linpack_share(k + 1, at, ranks);
}

/* The rank that receives a message. */
static int receiver(const linpack *s, const hf_message *m) {
    return m->to == HF_NOBODY ? s->env.rank : m->to;
}

static void message_cut(hf_message *m, size_t bytes) {
    m->send_bytes = m->to == HF_NOBODY ? 0 : bytes;
    m->recv_bytes = m->from == HF_NOBODY ? 0 : bytes;
}

/* L of the diagonal block goes to ranks that have more blocks in its row, U to those that have
 * more in its column. */
static void diagonal_cut(const linpack *s, const linpack_iteration *it) {
    const hf_plan *plan = messages_of(s, it->k)->diagonal;
    for (size_t i = 0; i < plan->n; i++) {
        hf_message *m = &plan->messages[i];
        int to = receiver(s, m), p = to / s->grid.q, q = to % s->grid.q;
        bool row = p == (int)(it->k % (uint32_t)s->grid.p);
        bool needed =
            row ? goes_on(s, it->k, q, s->grid.q) : goes_on(s, it->k, p, s->grid.p);
        message_cut(m, needed
                           ? s->shape[row ? LINPACK_LOWER_SIZE : LINPACK_UPPER_SIZE] *
                                 s->real
                           : 0);
    }
}

/* Messages have the panels of blocks from `first` to `end` - 1, for ranks with inner blocks. */
static void panels_cut(const linpack *s, const linpack_iteration *it, bool left,
                       size_t first, size_t end) {
    const hf_plan *plan =
        left ? messages_of(s, it->k)->left : messages_of(s, it->k)->top;
    size_t bytes = s->shape[left ? LINPACK_LEFT_SIZE : LINPACK_TOP_SIZE] * s->real;
    for (size_t i = 0; i < plan->n; i++) {
        hf_message *m = &plan->messages[i];
        int to = receiver(s, m);
        bool needed = left ? goes_on(s, it->k, to % s->grid.q, s->grid.q)
                           : goes_on(s, it->k, to / s->grid.q, s->grid.p);
        m->send_at = m->recv_at = first * bytes;
        message_cut(m, needed ? (end - first) * bytes : 0);
    }
}

static hf_status panels_move(linpack *s, linpack_iteration *it) {
    const plans *r = (const plans *)s;
    const messages *m = messages_of(s, it->k);
    uint32_t i = it->k % 2;
    it->left = it->in_column ? s->left[i] : r->left_in[i];
    it->top = it->in_row ? s->top[i] : r->top_in[i];
    HF_TRY(diagonal_factor(s, it));
    diagonal_cut(s, it);
    HF_TRY(move(s, m->diagonal));
    if (it->in_column)
        HF_TRY(side_solve(s, it, s->left_kernel, it->left, it->below, s->rows,
                          it->column, s->shape[LINPACK_LEFT_ITEMS]));
    if (it->in_row)
        HF_TRY(side_solve(s, it, s->top_kernel, it->top, it->beside, s->columns,
                          it->row, s->shape[LINPACK_TOP_ITEMS]));
    panels_cut(s, it, true, it->below, s->rows);
    panels_cut(s, it, false, it->beside, s->columns);
    HF_TRY(move(s, m->left));
    return move(s, m->top);
}

/* ---- vectors ---- */

/* From those who have added to the sums of row block k; with U these are the ranks that have
 * columns behind it. */
static hf_status sums_collect(linpack *s, uint32_t k, bool upper, uint32_t *n_parts) {
    hf_plan *plan = upper ? messages_of(s, k)->kept : messages_of(s, k)->sums;
    size_t bytes = s->block * sizeof(double);
    *n_parts = 0;
    for (size_t i = 0; i < plan->n; i++) {
        hf_message *m = &plan->messages[i];
        int from = m->from == HF_NOBODY ? s->env.rank : m->from;
        bool added = !upper || goes_on(s, k, from % s->grid.q, s->grid.q);
        m->send_at = linpack_share(k, s->p, s->grid.p) * bytes;
        m->recv_at = *n_parts * bytes;
        message_cut(m, added ? bytes : 0);
        *n_parts += added;
    }
    return plan_run(plan);
}

/* Block k of x lies at the same place at both ends. */
static hf_status known_tell(linpack *s, uint32_t k) {
    hf_plan *plan = messages_of(s, k)->known;
    for (size_t i = 0; i < plan->n; i++)
        plan->messages[i].send_at = plan->messages[i].recv_at =
            linpack_share(k, s->q, s->grid.q) * s->block * sizeof(double);
    return plan_run(plan);
}

static hf_status residuals_collect(linpack *s) {
    return plan_run(((plans *)s)->residuals);
}

/* Each rank adds them in the order of columns, so that all have the same sum. */
static hf_status row_add(linpack *s, double *value) {
    const hf_device_ops *ops = s->env.device->ops;
    int others = s->grid.q - 1;
    const double mine[] = {*value, linpack_stamp(s, s->q)};
    double sum = 0;
    if (others == 0)
        return HF_OK;
    HF_TRY(ops->write(s->env.device, s->number, 0, mine, sizeof mine, NULL, NULL));
    HF_TRY(plan_run(((plans *)s)->scalars));
    HF_TRY(ops->read(s->env.device, s->numbers, 0, s->scalars,
                     (size_t)others * sizeof mine, NULL, NULL));
    for (int q = 0; q < s->grid.q; q++) {
        size_t part = (size_t)(q < s->q ? q : q - 1);
        const double *of = q == s->q ? mine : s->scalars + 2 * part;
        s->astray = s->astray || of[1] != linpack_stamp(s, q);
        sum += of[0];
    }
    *value = sum;
    return HF_OK;
}

/* ---- messages ---- */

static int rank_at(const linpack *s, int p, int q) {
    return p * s->grid.q + q;
}

typedef struct list {
    size_t n;
    hf_message *messages;
} list;

static void send_add(list *l, int to, size_t at, size_t bytes) {
    l->messages[l->n++] =
        (hf_message){.to = to, .from = HF_NOBODY, .send_at = at, .send_bytes = bytes};
}

static void recv_add(list *l, int from, size_t at, size_t bytes) {
    l->messages[l->n++] =
        (hf_message){.to = HF_NOBODY, .from = from, .recv_at = at, .recv_bytes = bytes};
}

/* From column `q` of the grid to the other ranks of this row. */
static void row_tell(list *l, const linpack *s, int q, size_t at, size_t bytes) {
    if (s->q != q)
        recv_add(l, rank_at(s, s->p, q), at, bytes);
    else
        for (int i = 1; i < s->grid.q; i++)
            send_add(l, rank_at(s, s->p, (q + i) % s->grid.q), at, bytes);
}

/* From row `p` of the grid to the other ranks of this column. */
static void column_tell(list *l, const linpack *s, int p, size_t at, size_t bytes) {
    if (s->p != p)
        recv_add(l, rank_at(s, p, s->q), at, bytes);
    else
        for (int i = 1; i < s->grid.p; i++)
            send_add(l, rank_at(s, (p + i) % s->grid.p, s->q), at, bytes);
}

/* From all ranks of this row to that of column `q`. */
static void row_collect(list *l, const linpack *s, int q, size_t bytes) {
    if (s->q != q)
        send_add(l, rank_at(s, s->p, q), 0, bytes);
    else
        for (int i = 1; i < s->grid.q; i++)
            recv_add(l, rank_at(s, s->p, (q + i) % s->grid.q), (size_t)(i - 1) * bytes,
                     bytes);
}

/* A number and its stamp between all ranks of this row, as many parts as there are others. Each
 * message has both ends: ranks that all send first would wait for each other. */
static void row_share(list *l, const linpack *s) {
    for (int i = 1; i < s->grid.q; i++) {
        int to = (s->q + i) % s->grid.q, from = (s->q - i + s->grid.q) % s->grid.q;
        size_t part = (size_t)(from < s->q ? from : from - 1);
        l->messages[l->n++] = (hf_message){.to = rank_at(s, s->p, to),
                                           .from = rank_at(s, s->p, from),
                                           .send_bytes = 2 * sizeof(double),
                                           .recv_at = part * 2 * sizeof(double),
                                           .recv_bytes = 2 * sizeof(double)};
    }
}

static hf_status plan_take(const linpack *s, hf_plan **out, hf_buffer *recv,
                           const hf_buffer *send, list *l) {
    size_t n = l->n;
    l->n = 0;
    return hf_plan_new(out, s->env.exchange, recv, send, n, l->messages);
}

/* Messages of the iterations `class`, `class` + n_classes, ...; panels are cut as they go on. */
static hf_status class_plan(plans *r, size_t class, list *l) {
    const linpack *s = &r->base;
    messages *c = &r->classes[class];
    int p = (int)(class % (size_t)s->grid.p), q = (int)(class % (size_t)s->grid.q);
    size_t left = s->shape[LINPACK_LEFT_SIZE] * s->real,
           top = s->shape[LINPACK_TOP_SIZE] * s->real;
    size_t lower = s->shape[LINPACK_LOWER_SIZE] * s->real;
    size_t vector = s->block * sizeof(double), i = class % 2;
    if (s->p == p)
        row_tell(l, s, q, 0, lower);
    if (s->q == q)
        column_tell(l, s, p, lower, s->shape[LINPACK_UPPER_SIZE] * s->real);
    HF_TRY(plan_take(s, &c->diagonal, r->packed_in, r->packed, l));
    row_tell(l, s, q, 0, s->rows * left);
    HF_TRY(plan_take(s, &c->left, r->left_in[i], s->left[i], l));
    column_tell(l, s, p, 0, s->columns * top);
    HF_TRY(plan_take(s, &c->top, r->top_in[i], s->top[i], l));
    /* Inner blocks of the iteration before. */
    c->diagonal->kernels_beside = c->left->kernels_beside = true;
    c->top->kernels_beside = true;
    if (s->p == p && s->rows > 0)
        row_collect(l, s, q, vector);
    HF_TRY(plan_take(s, &c->sums, s->parts, s->sums, l));
    if (s->p == p && s->rows > 0)
        row_collect(l, s, q, vector);
    HF_TRY(plan_take(s, &c->kept, s->parts, s->kept, l));
    if (s->q == q && s->columns > 0)
        column_tell(l, s, p, 0, vector);
    return plan_take(s, &c->known, s->x, s->sent, l);
}

static void plans_free(plans *r) {
    for (size_t i = 0; r->classes && i < r->n_classes; i++) {
        messages *c = &r->classes[i];
        hf_plan *all[] = {c->diagonal, c->left, c->top, c->sums, c->kept, c->known};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            hf_plan_free(all[k]);
        *c = (messages){0};
    }
    hf_plan_free(r->residuals);
    hf_plan_free(r->scalars);
    r->residuals = r->scalars = NULL;
}

static hf_status blocks_plan(void *state, size_t point, hf_setting *out) {
    plans *r = state;
    const linpack *s = &r->base;
    HF_TRY(linpack_plan(state, point, out));
    plans_free(r);
    list l = {.messages = r->list};
    for (size_t i = 0; i < r->n_classes; i++)
        HF_TRY(class_plan(r, i, &l));
    row_collect(&l, s, 0, s->rows * s->block * sizeof(double));
    HF_TRY(plan_take(s, &r->residuals, s->parts, s->sums, &l));
    if (s->refine != linpack_gmres)
        return HF_OK;
    row_share(&l, s);
    return plan_take(s, &r->scalars, s->numbers, s->number, &l);
}

/* ---- the path ---- */

static const linpack_routing by_plans = {
    .panels = panels_move,
    .sums_collect = sums_collect,
    .known_tell = known_tell,
    .residuals_collect = residuals_collect,
    .row_add = row_add,
};

/* What plans move from, and to. */
static hf_status copies_take(plans *r, size_t width) {
    const linpack *s = &r->base;
    size_t rows = linpack_share(width, 0, s->grid.p);
    size_t columns = linpack_share(width, 0, s->grid.q);
    size_t left = s->shape[LINPACK_LEFT_SIZE] * s->real,
           top = s->shape[LINPACK_TOP_SIZE] * s->real;
    size_t diagonal =
        (s->shape[LINPACK_LOWER_SIZE] + s->shape[LINPACK_UPPER_SIZE]) * s->real;
    HF_TRY(linpack_buffer_take(s, &r->packed, 1, diagonal));
    if (s->env.size > 1)
        HF_TRY(linpack_buffer_take(s, &r->packed_in, 1, diagonal));
    for (int i = 0; i < 2; i++) {
        if (s->grid.q > 1)
            HF_TRY(linpack_buffer_take(s, &r->left_in[i], rows, left));
        if (s->grid.p > 1)
            HF_TRY(linpack_buffer_take(s, &r->top_in[i], columns, top));
    }
    return HF_OK;
}

static hf_status blocks_setup(void *state, const hf_args *args, const hf_env *env,
                              hf_outline *out) {
    plans *r = state;
    linpack *s = &r->base;
    HF_TRY(linpack_take(s, args, env, out));
    s->routing = &by_plans;
    s->receives = true;
    s->n_parts = (uint32_t)s->grid.q - 1;
    int lcm = s->grid.p / (int)hf_common_divisor(s->grid.p, s->grid.q) * s->grid.q;
    r->n_classes = (size_t)(lcm % 2 ? 2 * lcm : lcm); /* panels of two iterations */
    r->classes = calloc(r->n_classes, sizeof *r->classes);
    r->list = calloc((size_t)s->grid.p + (size_t)s->grid.q, sizeof *r->list);
    if (!r->classes || !r->list)
        return hf_fail(HF_ENOMEM, "no memory for the plans of %zu iterations",
                       r->n_classes);
    HF_TRY(linpack_memory_take(s, args));
    return copies_take(r, linpack_width(s, (size_t)hf_args_largest(args, "sizes")));
}

static void blocks_teardown(void *state) {
    plans *r = state;
    const hf_device *device = r->base.env.device;
    if (!device)
        return;
    plans_free(r);
    free(r->list);
    free(r->classes);
    hf_buffer *buffers[] = {r->packed,     r->packed_in, r->left_in[0],
                            r->left_in[1], r->top_in[0], r->top_in[1]};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        device->ops->free(buffers[i]);
    linpack_teardown(state);
}

const hf_bench_path linpack_blocks = {
    .state_size = sizeof(plans),
    .ranks_check = hf_grid_check,
    .setup = blocks_setup,
    .plan = blocks_plan,
    .prepare = linpack_prepare,
    .step = linpack_step,
    .verify = linpack_verify,
    .teardown = blocks_teardown,
};
