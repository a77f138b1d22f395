/* transfer_steps.c - whole steps of an exchange around the ring of ranks.
 *
 * Every rank has two chains of bytes. Step j sends window j of chain j % 2 to the right, and
 * receives the left neighbour's window into its other chain, HF_SLIDE further. Windows slide up by
 * twice as much, so each rank sends on what it got: a byte that is damaged in any step stays wrong
 * on some rank, and one that does not come leaves another in its place.
 */
#include <string.h>

#include "core/error.h"
#include "transfer.h"

size_t transfer_chain_bytes(const transfer *s, size_t point) {
    size_t message = (size_t)s->sweep.sizes[point];
    return message + hf_slide_room(hf_sweep_steps(&s->sweep, message), HF_SLIDE_LOG);
}

/* A chain of a rank, before any step. */
static uint64_t chain_of(int rank, size_t chain) {
    return N_CHAINS * (uint64_t)rank + chain;
}

hf_status transfer_chains_prepare(const transfer *s, size_t point) {
    hf_device *device = s->env.device;
    size_t bytes = transfer_chain_bytes(s, point);
    for (size_t chain = 0; chain < N_CHAINS; chain++) {
        transfer_fill(s->from.bytes, 0, bytes,
                      transfer_shift(s, chain_of(s->env.rank, chain)));
        HF_TRY(device->ops->write(device, s->chains[chain], 0, s->from.bytes, bytes,
                                  NULL, NULL));
    }
    return HF_OK;
}

/* `n` bytes of a chain from `i` on, after so many steps. */
static void passed_bytes(const transfer *s, size_t steps, size_t chain, size_t i,
                         unsigned char *out, size_t n) {
    size_t size = (size_t)s->env.size;
    size_t moves = hf_slide_moves(i, s->message, steps, HF_SLIDE_LOG, (unsigned)chain);
    int origin = (int)(((size_t)s->env.rank + size - moves % size) % size);
    transfer_fill(out, i - moves * HF_SLIDE, n,
                  transfer_shift(s, chain_of(origin, (chain + moves) % N_CHAINS)));
}

hf_status transfer_chains_verify(const transfer *s, size_t point, size_t steps,
                                 double *error) {
    hf_device *device = s->env.device;
    size_t bytes = transfer_chain_bytes(s, point), wrong = 0;
    for (size_t chain = 0; chain < N_CHAINS; chain++) {
        for (size_t i = 0, n; i < bytes; i += n) {
            n = transfer_slice(s, i, bytes);
            passed_bytes(s, steps, chain, i, s->from.bytes + i, n);
        }
        memcpy(s->to.bytes, s->from.bytes, bytes);
        transfer_invert(s->to.bytes, bytes); /* of a read that does nothing */
        HF_TRY(device->ops->read(device, s->chains[chain], 0, s->to.bytes, bytes, NULL,
                                 NULL));
        wrong += transfer_differ(s->to.bytes, s->from.bytes, bytes);
    }
    *error = (double)wrong;
    return HF_OK;
}

hf_status transfer_chains_step(transfer *s, size_t inner) {
    for (size_t end = s->taken + inner; s->taken < end; s->taken++) {
        hf_plan *plan = s->plans[s->taken % N_CHAINS];
        plan->messages->send_at = hf_slide_from(s->taken, HF_SLIDE_LOG);
        plan->messages->recv_at = plan->messages->send_at + HF_SLIDE;
        HF_TRY(s->taken + 1 < end ? hf_plan_enqueue(plan) : hf_plan_run(plan));
    }
    return HF_OK;
}

void transfer_plans_free(transfer *s) {
    for (int from = 0; from < N_CHAINS; from++) {
        hf_plan_free(s->plans[from]);
        s->plans[from] = NULL;
    }
}

hf_status transfer_chains_plan(transfer *s, size_t point) {
    size_t bytes = (size_t)s->sweep.sizes[point];
    int rank = s->env.rank, size = s->env.size;
    const hf_message message = {
        .to = (rank + 1) % size,
        .from = (rank + size - 1) % size,
        .send_bytes = bytes,
        .recv_bytes = bytes,
    };
    transfer_plans_free(s);
    for (int from = 0; from < N_CHAINS; from++)
        HF_TRY(hf_plan_new(&s->plans[from], s->env.exchange, s->chains[1 - from],
                           s->chains[from], 1, &message));
    return HF_OK;
}
