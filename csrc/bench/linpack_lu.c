/* linpack_lu.c - the factorisation: right-looking, the next diagonal first.
 *
 * Queue 0 has what others wait for: the diagonal block, the blocks of L below and of U beside
 * it, and those inner blocks that are the next ones of these. The other inner blocks
 * are in queues from 1 on, beside the next iteration's messages.
 */
#include "core/error.h"
#include "linpack.h"

enum { N_LU_ARGS = 3, N_SIDE_ARGS = 7, N_INNER_ARGS = 8 };

/* An iteration on this rank. */
typedef struct turn {
    uint32_t k, row, column; /* of the diagonal block, here or where it would be */
    uint32_t below, beside;  /* the first row and column of blocks after it */
    bool in_row, in_column;  /* are blocks of its row, of its column here? */
    linpack_events *now, *before;
    const linpack_plans *plans;
} turn;

static hf_status events_wait(const linpack *s, linpack_events *e) {
    hf_status status = HF_OK;
    for (size_t i = 0; i < e->n; i++) {
        hf_status ended = s->env.device->ops->wait(s->env.device, e->all[i]);
        status = status == HF_OK ? ended : status;
    }
    *e = (linpack_events){0};
    return status;
}

static hf_status launch(const linpack *s, turn *t, const hf_launch *what,
                        const hf_order *order, hf_event **event) {
    hf_event **done = &t->now->all[t->now->n];
    HF_TRY(s->env.device->ops->launch(s->env.device, what, order, done));
    t->now->n++;
    if (event)
        *event = *done;
    return HF_OK;
}

static hf_status move(const linpack *s, hf_plan *plan) {
    hf_lap(s->env.laps, LINPACK_LAP_KERNEL);
    return plan->n > 0 ? hf_plan_run(plan) : HF_OK;
}

static hf_status diagonal_factor(const linpack *s, turn *t) {
    uint32_t block = t->row * s->columns + t->column;
    const hf_arg args[N_LU_ARGS] = {
        {.buffer = s->a}, {.buffer = s->packed}, LINPACK_VALUE(block)};
    const hf_launch what = {s->lu, args, N_LU_ARGS, s->shape[LU_ITEMS],
                            s->shape[LU_GROUP]};
    if (!t->in_row || !t->in_column)
        return HF_OK;
    return launch(s, t, &what, NULL, NULL);
}

/* Blocks `first` to `end` - 1 of L or of U, with the diagonal block of whoever has it. */
static hf_status side_solve(const linpack *s, turn *t, hf_kernel *kernel,
                            hf_buffer *panels, uint32_t first, uint32_t end,
                            uint32_t at, uint32_t items) {
    bool own = t->in_row && t->in_column;
    const hf_arg args[N_SIDE_ARGS] = {
        {.buffer = s->a},          {.buffer = own ? s->packed : s->packed_in},
        {.buffer = panels},        LINPACK_VALUE(first),
        LINPACK_VALUE(end),        LINPACK_VALUE(at),
        LINPACK_VALUE(s->columns),
    };
    const hf_launch what = {kernel, args, N_SIDE_ARGS,
                            s->env.ndrange ? (size_t)(end - first) * items : 1,
                            s->shape[SIDE_GROUP]};
    if (first == end)
        return HF_OK;
    return launch(s, t, &what, NULL, &t->now->ready[t->now->n_ready++]);
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
static void diagonal_cut(const linpack *s, const turn *t) {
    for (size_t i = 0; i < t->plans->diagonal->n; i++) {
        hf_message *m = &t->plans->diagonal->messages[i];
        int to = receiver(s, m), p = to / s->grid.q, q = to % s->grid.q;
        bool row = p == (int)(t->k % (uint32_t)s->grid.p);
        bool needed =
            row ? goes_on(s, t->k, q, s->grid.q) : goes_on(s, t->k, p, s->grid.p);
        message_cut(m, needed ? s->shape[row ? LOWER_SIZE : UPPER_SIZE] * s->real : 0);
    }
}

/* Messages have the panels of blocks from `first` to `end` - 1, for ranks with inner blocks. */
static void panels_cut(const linpack *s, const turn *t, bool left, size_t first,
                       size_t end) {
    const hf_plan *plan = left ? t->plans->left : t->plans->top;
    size_t bytes = s->shape[left ? LEFT_SIZE : TOP_SIZE] * s->real;
    for (size_t i = 0; i < plan->n; i++) {
        hf_message *m = &plan->messages[i];
        int to = receiver(s, m);
        bool needed = left ? goes_on(s, t->k, to % s->grid.q, s->grid.q)
                           : goes_on(s, t->k, to / s->grid.q, s->grid.p);
        m->send_at = m->recv_at = first * bytes;
        message_cut(m, needed ? (end - first) * bytes : 0);
    }
}

/* A -= L U in some blocks. */
static hf_status inner_update(const linpack *s, turn *t, hf_kernel *kernel, uint32_t i0,
                              uint32_t i1, uint32_t j0, uint32_t j1,
                              const hf_order *order, hf_event **event) {
    hf_buffer *left = t->in_column ? s->left[t->k % 2] : s->left_in[t->k % 2];
    hf_buffer *top = t->in_row ? s->top[t->k % 2] : s->top_in[t->k % 2];
    const hf_arg args[N_INNER_ARGS] = {
        {.buffer = s->a},  {.buffer = left},          {.buffer = top},
        LINPACK_VALUE(i0), LINPACK_VALUE(i1),         LINPACK_VALUE(j0),
        LINPACK_VALUE(j1), LINPACK_VALUE(s->columns),
    };
    size_t blocks = (size_t)(i1 - i0) * (j1 - j0);
    const hf_launch what = {kernel, args, N_INNER_ARGS,
                            s->env.ndrange ? blocks * s->shape[INNER_ITEMS] : 1,
                            s->shape[INNER_GROUP]};
    return launch(s, t, &what, order, event);
}

/* What the next iteration starts with: the rest of the one before has been there. */
static hf_status first_update(const linpack *s, turn *t, uint32_t below,
                              uint32_t beside) {
    const hf_order order = {.n_after = t->before->n_rest, .after = t->before->rest};
    if (below > t->below && t->beside < s->columns)
        HF_TRY(inner_update(s, t, s->inner[0], t->below, below, t->beside, s->columns,
                            &order, NULL));
    if (beside > t->beside && below < s->rows)
        HF_TRY(inner_update(s, t, s->inner[0], below, s->rows, t->beside, beside,
                            &order, NULL));
    return HF_OK;
}

/* In how many launches the other inner blocks are multiplied. A GPU begins a kernel only when
 * all groups of those before it have begun, whatever their queues: between launches the next
 * iteration gets its turn. */
static size_t rest_parts(const linpack *s, size_t rows, size_t columns) {
    enum { BLOCKS = 256 }; /* that keep a GPU busy */
    if (!s->env.ndrange)
        return s->replications;
    size_t parts = rows * columns / BLOCKS;
    return parts < 1 ? 1 : parts < LINPACK_PARTS ? parts : LINPACK_PARTS;
}

/* The other inner blocks, shared out among the replications. */
static hf_status rest_update(const linpack *s, turn *t, uint32_t below,
                             uint32_t beside) {
    uint32_t rows = s->rows - below;
    if (below >= s->rows || beside >= s->columns)
        return HF_OK;
    size_t parts = rest_parts(s, rows, s->columns - beside);
    for (size_t part = 0; part < parts; part++) {
        uint32_t first = below + (uint32_t)(rows * part / parts);
        uint32_t end = below + (uint32_t)(rows * (part + 1) / parts);
        size_t r = part % s->replications;
        const hf_order order = {.queue = 1 + (unsigned)r,
                                .n_after = t->now->n_ready,
                                .after = t->now->ready};
        if (end > first)
            HF_TRY(inner_update(s, t, s->inner[r], first, end, beside, s->columns,
                                &order, &t->now->rest[t->now->n_rest++]));
    }
    return HF_OK;
}

static hf_status iterate(linpack *s, uint32_t k) {
    const int p = (int)(k % (uint32_t)s->grid.p), q = (int)(k % (uint32_t)s->grid.q);
    turn t = {.k = k,
              .row = linpack_share(k, s->p, s->grid.p),
              .column = linpack_share(k, s->q, s->grid.q),
              .below = linpack_share(k + 1, s->p, s->grid.p),
              .beside = linpack_share(k + 1, s->q, s->grid.q),
              .in_row = p == s->p,
              .in_column = q == s->q,
              .now = &s->events[k % LINPACK_ITERATIONS],
              .before = &s->events[(k + 1) % LINPACK_ITERATIONS],
              .plans = &s->plans[k % s->n_classes]};
    uint32_t next = k + 2 < s->width ? k + 2 : s->width;
    uint32_t below = linpack_share(next, s->p, s->grid.p);
    uint32_t beside = linpack_share(next, s->q, s->grid.q);
    HF_TRY(events_wait(s, t.now)); /* they used the panels that come next */
    HF_TRY(diagonal_factor(s, &t));
    diagonal_cut(s, &t);
    HF_TRY(move(s, t.plans->diagonal));
    if (t.in_column)
        HF_TRY(side_solve(s, &t, s->left_kernel, s->left[k % 2], t.below, s->rows,
                          t.column, s->shape[LEFT_ITEMS]));
    if (t.in_row)
        HF_TRY(side_solve(s, &t, s->top_kernel, s->top[k % 2], t.beside, s->columns,
                          t.row, s->shape[TOP_ITEMS]));
    panels_cut(s, &t, true, t.below, s->rows);
    panels_cut(s, &t, false, t.beside, s->columns);
    HF_TRY(move(s, t.plans->left));
    HF_TRY(move(s, t.plans->top));
    HF_TRY(first_update(s, &t, below, beside));
    return rest_update(s, &t, below, beside);
}

hf_status linpack_factor(linpack *s) {
    hf_status status = HF_OK;
    for (uint32_t k = 0; status == HF_OK && k < s->width; k++)
        status = iterate(s, k);
    for (size_t i = 0; i < LINPACK_ITERATIONS; i++) {
        hf_status ended = events_wait(s, &s->events[i]);
        status = status == HF_OK ? ended : status;
    }
    hf_lap(s->env.laps, LINPACK_LAP_KERNEL);
    return status;
}
