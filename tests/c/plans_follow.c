/* plans_follow.c - plans whose last writes are left in the device's queue, where others follow. */
#include <mpi.h>
#include <time.h>

#include "chunks.h"
#include "plans_session.h"

enum { STEPS = 12, NAPS = 2000, LONG = 10000 };

static const hf_device_ops *prompt;
static hf_device_ops late;
static hf_event *naps[NAPS];
static size_t n_naps,
    n_lazy; /* commands that were launched, and orders that were lazy */

static void nap_call(void *const *args, size_t items) {
    (void)args, (void)items;
    nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
}

/* A write that is not waited for begins late. */
static hf_status late_write(hf_device *of, hf_buffer *to, size_t at, const void *from,
                            size_t bytes, const hf_order *order, hf_event **done) {
    static const hf_kernel_info nap = {.name = "nap", .call = nap_call};
    const hf_launch launch = {.kernel = (hf_kernel *)&nap};
    n_lazy += order && order->lazy;
    if (done && n_naps < NAPS)
        HF_TRY(prompt->launch(of, &launch, order, &naps[n_naps++]));
    return prompt->write(of, to, at, from, bytes, order, done);
}

static void late_begin(hf_device_type type) {
    prompt = device->ops;
    late = *prompt;
    late.write = late_write;
    device->ops = &late;
    device->info.type = type;
    n_naps = 0;
}

static void late_end(void) {
    for (size_t i = 0; i < n_naps; i++)
        OK(device->ops->wait(device, naps[i]));
    device->ops = prompt;
    device->info.type = HF_CPU;
    chunks_take(0, 0);
}

/* CPUs do not, and neither do schemes without chunks. */
static bool may_leave(void) {
    return exchange->ops->blocks->take && device->info.type != HF_CPU;
}

/* A block goes round the ring, from buffer to buffer, and one byte further with each step. */
static void ring_test(size_t bytes) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    hf_buffer *const buffers[] = {send_buffer, recv_buffer};
    hf_plan *plans[2];
    const hf_message m = {right, left, 0, 0, bytes, bytes};
    size_t left_behind = 0;
    buffers_fill();
    n_lazy = 0;
    for (int k = 0; k < 2; k++)
        OK(hf_plan_new(&plans[k], exchange, buffers[1 - k], buffers[k], 1, &m));
    for (size_t step = 0; step < STEPS; step++) {
        hf_plan *plan = plans[step % 2];
        plan->messages->send_at = step;
        plan->messages->recv_at = step + 1;
        OK(step + 1 < STEPS ? hf_plan_enqueue(plan) : hf_plan_run(plan));
        left_behind += !device->ops->idle(device);
    }
    bool whole = may_leave() && bytes == 1; /* one chunk, with nothing behind it */
    CHECK(whole ? left_behind > 0 : may_leave() || left_behind == 0,
          "%zu writes of %d steps were left", left_behind, STEPS);
    CHECK(whole ? n_lazy > 0 : (may_leave() && bytes < LONG) || n_lazy == 0,
          "%zu lazy writes of %zu B", n_lazy, bytes);
    CHECK(device->ops->idle(device));
    int from = ((rank - STEPS) % size + size) % size;
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += memory_of(send_buffer)[STEPS + i] != byte_of(from, i);
    CHECK(wrong == 0, "%zu of %zu B are wrong", wrong, bytes);
    for (int k = 0; k < 2; k++)
        hf_plan_free(plans[k]);
}

/* Rank 0 sends A to the last rank, B to itself and C to the last rank. The slot of A comes back at
 * once: rank 0 may need it for C. The slot of C comes back when the last rank runs the next plan,
 * in which it has nothing: it may run no more after that. */
static void slot_test(void) {
    enum { SHORT = 90 };
    const bool sends = rank == 0, receives = rank == size - 1;
    hf_message first[3] = {0}, self = {0, 0, SHORT, 0, SHORT, SHORT};
    for (size_t k = 0; k < 3; k++)
        first[k] = (hf_message){.to = sends ? size - 1 : HF_NOBODY,
                                .from = receives ? 0 : HF_NOBODY,
                                .send_at = k * SHORT, /* else one read does for all */
                                .recv_at = k * SHORT,
                                .send_bytes = sends ? SHORT : 0,
                                .recv_bytes = receives ? SHORT : 0};
    if (size > 1)
        first[1] = sends ? self : (hf_message){.to = HF_NOBODY, .from = HF_NOBODY};
    hf_plan *plans[2];
    buffers_fill();
    OK(hf_plan_new(&plans[0], exchange, recv_buffer, send_buffer, 3, first));
    OK(hf_plan_new(&plans[1], exchange, recv_buffer, send_buffer, sends, &self));
    if (sends)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    OK(hf_plan_enqueue(plans[0]));
    OK(hf_plan_enqueue(plans[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(hf_plan_run(plans[1]));
    CHECK(wrong_bytes(0, SHORT, 0, sends ? SHORT : 0) == 0);
    CHECK(wrong_bytes(0, 2 * SHORT, 2 * SHORT, receives ? SHORT : 0) == 0);
    CHECK(sends || wrong_bytes(0, 0, 0, receives ? SHORT : 0) == 0);
    for (int k = 0; k < 2; k++)
        hf_plan_free(plans[k]);
}

/* The block that is expected first comes last. One slot at most is not given back: a sender may
 * need its own in the same plan. */
static void late_sender_test(void) {
    const hf_chunks *c = (const hf_chunks *)exchange;
    hf_message m[HF_MAX_CHUNKS] = {0};
    hf_plan *made;
    size_t n = (size_t)size < HF_MAX_CHUNKS ? (size_t)size : HF_MAX_CHUNKS;
    for (size_t i = 0; i < n; i++) {
        bool receives = rank == size - 1, sends = (size_t)rank == i;
        m[i] = (hf_message){.to = sends ? size - 1 : HF_NOBODY,
                            .from = receives ? (int)i : HF_NOBODY,
                            .recv_at = i * BLOCK,
                            .send_bytes = sends ? BLOCK : 0,
                            .recv_bytes = receives ? BLOCK : 0};
    }
    if (!may_leave())
        return;
    buffers_fill();
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, n, m));
    if (rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    OK(hf_plan_enqueue(made));
    CHECK(c->in_next - c->in_oldest <= 1, "%zu slots", c->in_next - c->in_oldest);
    OK(hf_plan_run(made));
    for (size_t i = 0; i < n && rank == size - 1; i++)
        CHECK(wrong_bytes((int)i, 0, i * BLOCK, BLOCK) == 0, "from rank %zu", i);
    hf_plan_free(made);
}

/* A plan whose last write was deferred is given up, as after a failure: the next one has its slots
 * for itself. */
static void dropped_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, BLOCK, BLOCK};
    hf_plan *made;
    for (int again = 0; again < 2; again++) {
        buffers_fill();
        OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 1, &m));
        OK(again ? hf_plan_run(made) : hf_plan_enqueue(made));
        hf_plan_free(made);
        CHECK(wrong_bytes(left, 0, 0, BLOCK) == 0);
    }
}

/* Short messages, which go whole; those of some chunks, whose last one alone is left; on devices
 * whose copies wait for each other, too. */
void follow_test(void) {
    static const size_t chunks[][2] = {{0, 0}, {100, 1}, {100, 2}, {1000, 4}};
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        late_begin(HF_ACCELERATOR);
        chunks_take(chunks[k][0], chunks[k][1]);
        ring_test(1);
        ring_test(100);
        ring_test(BLOCK);
        slot_test();
        late_sender_test();
        dropped_test();
        late_end();
    }
    late_begin(HF_ACCELERATOR);
    ring_test(LONG);
    late_end();
    late_begin(HF_CPU);
    ring_test(BLOCK);
    late_end();
}
