/* linpack_lu.c - the factorisation: right-looking, the next diagonal first.
 *
 * Queue 0 has what others wait for: the diagonal block, the blocks of L below and of U beside
 * it, and the inner blocks with which the next iteration begins, its row and its column. The
 * other inner blocks are in queues from 1 on, beside the next iteration's messages.
 */
#include <assert.h>

#include "core/error.h"
#include "linpack.h"

enum { N_INNER_ARGS = 8 };

static hf_status events_wait(const linpack *s, linpack_events *e) {
    hf_status status = hf_device_wait(s->env.device, e->all, e->n);
    *e = (linpack_events){0};
    return status;
}

hf_status linpack_launch(const linpack *s, linpack_iteration *it, const hf_launch *what,
                         const hf_order *order, hf_event **event) {
    assert(it->now->n < LINPACK_MAX_EVENTS);
    hf_event **done = &it->now->all[it->now->n];
    HF_TRY(s->env.device->ops->launch(s->env.device, what, order, done));
    it->now->n++;
    if (event)
        *event = *done;
    return HF_OK;
}

/* A -= L U in some blocks. */
static hf_status inner_update(const linpack *s, linpack_iteration *it,
                              hf_kernel *kernel, uint32_t i0, uint32_t i1, uint32_t j0,
                              uint32_t j1, const hf_order *order, hf_event **event) {
    const hf_arg args[N_INNER_ARGS] = {
        {.buffer = s->a}, {.buffer = it->left}, {.buffer = it->top},
        HF_VALUE(i0),     HF_VALUE(i1),         HF_VALUE(j0),
        HF_VALUE(j1),     HF_VALUE(s->columns),
    };
    size_t blocks = (size_t)(i1 - i0) * (j1 - j0);
    const hf_launch what = {kernel, args, N_INNER_ARGS,
                            s->env.ndrange ? blocks * s->shape[LINPACK_INNER_ITEMS] : 1,
                            s->shape[LINPACK_INNER_GROUP]};
    return linpack_launch(s, it, &what, order, event);
}

/* What the next iteration starts with, after the rest of the one before, which changed these
 * blocks, too. */
static hf_status first_update(const linpack *s, linpack_iteration *it, uint32_t below,
                              uint32_t beside) {
    const hf_order order = {.n_after = it->before->n_rest, .after = it->before->rest};
    if (below > it->below && it->beside < s->columns)
        HF_TRY(inner_update(s, it, s->next, it->below, below, it->beside, s->columns,
                            &order, NULL));
    if (beside > it->beside && below < s->rows)
        HF_TRY(inner_update(s, it, s->next, below, s->rows, it->beside, beside, &order,
                            NULL));
    return HF_OK;
}

/* In how many launches the other inner blocks are multiplied. A GPU begins a kernel only when
 * all groups of those before it have begun, whatever their queues: kernels of the next
 * iteration begin between these launches. */
static size_t rest_launches(const linpack *s, size_t rows, size_t columns) {
    enum { BLOCKS = 256 }; /* of one launch: about two for each processor of an H200 */
    if (!s->env.ndrange)
        return s->replications;
    size_t n = rows * columns / BLOCKS;
    return n < 1 ? 1 : n < LINPACK_MAX_LAUNCHES ? n : LINPACK_MAX_LAUNCHES;
}

/* What the rest comes after: the panels, and with several queues the rest before, since a row
 * of blocks is not always in the same queue's share. */
static size_t rest_after(const linpack *s, const linpack_iteration *it,
                         hf_event **after) {
    size_t n = 0;
    for (size_t i = 0; i < it->now->n_ready; i++)
        after[n++] = it->now->ready[i];
    for (size_t i = 0; s->replications > 1 && i < it->before->n_rest; i++)
        after[n++] = it->before->rest[i];
    return n;
}

/* The first of the rows that launch `i` of `n` has. No launch has more rows than the one before
 * it: PoCL 5 miscounts launches of one kernel that grow (linpack_ndrange.cl). */
static uint32_t launch_first(size_t rows, size_t i, size_t n) {
    size_t each = rows / n, more = rows % n;
    return (uint32_t)(i * each + (i < more ? i : more));
}

/* The other inner blocks, shared out among the replications. */
static hf_status rest_update(const linpack *s, linpack_iteration *it, uint32_t below,
                             uint32_t beside) {
    uint32_t rows = s->rows - below;
    if (below >= s->rows || beside >= s->columns)
        return HF_OK;
    hf_event *after[LINPACK_MAX_READY + LINPACK_MAX_REST];
    size_t n = rest_launches(s, rows, s->columns - beside);
    size_t n_after = rest_after(s, it, after);
    for (size_t i = 0; i < n; i++) {
        uint32_t first = below + launch_first(rows, i, n);
        uint32_t end = below + launch_first(rows, i + 1, n);
        size_t r = i % s->replications;
        const hf_order order = {.queue = 1 + s->routing->queues + (unsigned)r,
                                .n_after = n_after,
                                .after = after};
        if (end > first)
            HF_TRY(inner_update(s, it, s->inner[r], first, end, beside, s->columns,
                                &order, &it->now->rest[it->now->n_rest++]));
    }
    return HF_OK;
}

static hf_status iterate(linpack *s, uint32_t k) {
    const int p = (int)(k % (uint32_t)s->grid.p), q = (int)(k % (uint32_t)s->grid.q);
    linpack_iteration it = {.k = k,
                            .row = linpack_share(k, s->p, s->grid.p),
                            .column = linpack_share(k, s->q, s->grid.q),
                            .below = linpack_share(k + 1, s->p, s->grid.p),
                            .beside = linpack_share(k + 1, s->q, s->grid.q),
                            .in_row = p == s->p,
                            .in_column = q == s->q,
                            .now = &s->events[k % LINPACK_ITERATIONS],
                            .before = &s->events[(k + 1) % LINPACK_ITERATIONS]};
    uint32_t next = k + 2 < s->width ? k + 2 : s->width;
    uint32_t below = linpack_share(next, s->p, s->grid.p);
    uint32_t beside = linpack_share(next, s->q, s->grid.q);
    HF_TRY(events_wait(
        s, it.now)); /* commands of two iterations ago, on the same panels */
    HF_TRY(s->routing->panels(s, &it));
    HF_TRY(first_update(s, &it, below, beside));
    HF_TRY(rest_update(s, &it, below, beside));
    hf_lap(s->env.laps, HF_LAP_KERNEL);
    hf_stage_add(s->env.stages, k, LINPACK_STAGE_BLOCKS,
                 (double)(s->rows - it.below) * (s->columns - it.beside));
    hf_stages_end(s->env.stages, k, k, NULL);
    return HF_OK;
}

hf_status linpack_factor(linpack *s) {
    hf_status status = HF_OK;
    for (uint32_t k = 0; status == HF_OK && k < s->width; k++) {
        status = hf_go_on(&s->env, true);
        status = status == HF_OK ? iterate(s, k) : status;
    }
    for (size_t i = 0; i < LINPACK_ITERATIONS && !s->env.device->broken; i++) {
        hf_status ended = events_wait(s, &s->events[i]);
        status = status == HF_OK ? ended : status;
    }
    hf_lap(s->env.laps, HF_LAP_KERNEL);
    hf_stages_end(s->env.stages, s->width - 1, s->width - 1, NULL);
    return status;
}
