/* relay.c - plans that devices carry out themselves. PoCL, whose kernels see the host's memory,
 * passes for an accelerator. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "relay.h"
#include "relay_session.h"
#include "runs.h"
#include "world.h"

/* A block goes round the ring, from buffer to buffer, and `hop` bytes further with each step. */
static void ring_test(size_t bytes, size_t hop) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, bytes, bytes};
    hf_plan *plans[2];
    buffers_fill();
    n_launches = n_without = 0;
    for (int k = 0; k < 2; k++)
        OK(hf_plan_new(&plans[k], exchange, buffers[1 - k], buffers[k], 1, &m));
    for (size_t step = 0; step < STEPS; step++) {
        hf_plan *plan = plans[step % 2];
        plan->messages->send_at = step * hop;
        plan->messages->recv_at = (step + 1) * hop;
        OK(step + 1 < STEPS ? hf_plan_enqueue(plan) : hf_plan_run(plan));
    }
    CHECK(strstr(exchange->note, "devices pass messages up to 1 MiB on"), "%s",
          exchange->note);
    CHECK(n_launches == STEPS && n_without == STEPS,
          "%zu launches, %zu of them without event", n_launches, n_without);
    CHECK(device->ops->idle(device));
    int from = ((rank - STEPS) % size + size) % size;
    size_t wrong = wrong_bytes(STEPS % 2, from, 0, STEPS * hop, bytes);
    CHECK(wrong == 0, "%zu of %zu bytes, %zu further, are wrong", wrong, bytes, hop);
    for (int k = 0; k < 2; k++)
        hf_plan_free(plans[k]);
}

/* All to all, short and long blocks in turns: other lengths than were planned, and none. */
static void all_test(void) {
    hf_message messages[RELAY_WAYS];
    size_t n = 0;
    hf_plan *plan = NULL;
    for (int other = 0; other < size; other++)
        if (other != rank)
            messages[n++] = (hf_message){other, other, 0, 0, 100000, 100000};
    buffers_fill();
    OK(hf_plan_new(&plan, exchange, buffers[1], buffers[0], n, messages));
    for (size_t step = 0; step < STEPS; step++) {
        size_t bytes = step % 3 == 0 ? 100000 : step % 3 == 1 ? 999 : 0;
        n_launches = 0;
        for (size_t i = 0; i < n; i++) {
            hf_message *m = &plan->messages[i];
            m->send_at = step + 7 * (size_t)m->to;
            m->recv_at = (size_t)m->from * 200000 + step;
            m->send_bytes = m->recv_bytes = bytes;
        }
        OK(hf_plan_run(plan));
        CHECK(n_launches == (bytes > 0 && n > 0));
        for (size_t i = 0; i < n; i++) {
            const hf_message *m = &plan->messages[i];
            size_t wrong =
                wrong_bytes(1, m->from, step + 7 * (size_t)rank, m->recv_at, bytes);
            CHECK(wrong == 0, "step %zu: %zu bytes from %d", step, wrong, m->from);
        }
    }
    hf_plan_free(plan);
}

/* One rank alone sends, and is ahead: it waits where the slots are full. */
static void one_way_test(void) {
    enum { BYTES = 4999 }; /* ends within a word */
    hf_message m = {HF_NOBODY, HF_NOBODY, 0, 0, 0, 0};
    hf_plan *plan = NULL;
    if (rank == 0)
        m = (hf_message){1 % size, size == 1 ? 0 : HF_NOBODY, 0, 0,
                         BYTES,    size == 1 ? BYTES : 0};
    else if (rank == 1)
        m = (hf_message){HF_NOBODY, 0, 0, 0, 0, BYTES};
    buffers_fill();
    OK(hf_plan_new(&plan, exchange, buffers[1], buffers[0], 1, &m));
    for (size_t step = 0; step < STEPS; step++) {
        plan->messages->send_at = step;
        plan->messages->recv_at = BYTES * step;
        if (rank == 1 && step < 2)
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        OK(step + 1 < STEPS ? hf_plan_enqueue(plan) : hf_plan_run(plan));
    }
    for (size_t step = 0; rank == 1 && step < STEPS; step++)
        CHECK(wrong_bytes(1, 0, step, BYTES * step, BYTES) == 0, "step %zu", step);
    CHECK(rank != 1 || memory[(size_t)BYTES * STEPS] == 0xEE, "beyond the end");
    hf_plan_free(plan);
}

/* What goes by copies, since one rank at least needs it so. */
static void other_ways_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    enum { TOO_LONG, TWICE, CHUNKS, GLANCES, BESIDE, STARTED, N };
    static unsigned char seen[2 * 8];
    const hf_glance glances[] = {{seen, seen + 8, 8}};
    for (int why = 0; why < N; why++) {
        size_t bytes = why == TOO_LONG ? RELAY_LONGEST + (rank == 0) : 3000, n = 1;
        size_t expected = why == TOO_LONG ? RELAY_LONGEST + (left == 0) : 3000;
        hf_message m[2] = {{right, left, 0, 0, bytes, expected}};
        hf_plan *plan = NULL;
        bool done = false;
        if (why == TWICE && rank == 0)
            m[n++] = (hf_message){right, HF_NOBODY, 0, 0, 100, 0};
        if (why == TWICE && left == 0)
            m[n++] = (hf_message){HF_NOBODY, left, 0, 4000, 0, 100};
        ((hf_chunks *)exchange)->chunk_size = why == CHUNKS ? 4096 : 0;
        buffers_fill();
        n_launches = 0;
        OK(hf_plan_new(&plan, exchange, buffers[1], buffers[0], n, m));
        plan->glances = why == GLANCES ? glances : NULL;
        plan->kernels_beside = why == BESIDE;
        if (why == STARTED) {
            OK(exchange->ops->blocks->start(plan, NULL));
            while (!done)
                OK(exchange->ops->blocks->progress(plan, true, &done));
        } else {
            OK(hf_plan_run(plan));
        }
        CHECK(n_launches == 0, "case %d", why);
        CHECK(wrong_bytes(1, left, 0, 0, expected) == 0, "case %d", why);
        hf_plan_free(plan);
        ((hf_chunks *)exchange)->chunk_size = 0;
    }
}

/* Commands that keep times have events, also where nobody is to wait for them. */
static void profile_test(void) {
    uint64_t before[2] = {0}, after[2] = {0};
    OK(own->profile(device));
    ring_test(3000, 64);
    hf_plan *plan = ring_plan(3000);
    OK(own->times(device, before));
    OK(hf_plan_enqueue(plan));
    OK(own->times(device, after)); /* of the launch: no mark is behind it */
    CHECK(after[0] > before[0]);
    OK(hf_plan_run(plan));
    hf_plan_free(plan);
}

static hf_status pin_refuse(hf_buffer **out, hf_device *of, void *pinned,
                            size_t bytes) {
    return pinned && bytes > RELAY_LONGEST
               ? hf_fail(HF_ENOMEM, "too much locked memory")
               : own->pin(out, of, pinned, bytes);
}

/* One rank may not pin so much: all go by copies, and say why. */
static void refused_test(void) {
    if (rank == size - 1)
        counting.pin = pin_refuse;
    for (int run = 0; run < 2; run++) {
        int left = (rank + size - 1) % size;
        hf_plan *plan = ring_plan(3000);
        buffers_fill();
        n_launches = 0;
        OK(hf_plan_run(plan));
        CHECK(n_launches == 0 && wrong_bytes(1, left, 0, 0, 3000) == 0);
        CHECK(
            strstr(exchange->note, "devices do not pass messages on by themselves: ") &&
                strstr(exchange->note, "too much locked memory"),
            "%s", exchange->note);
        hf_plan_free(plan);
    }
}

/* Blocks of a factorisation go by copies, for inner blocks are computed meanwhile; those of
 * the solution do not. */
static void linpack_test(void) {
    static const char *const params[] = {"sizes", "1024",     "reps", "1", "warmup",
                                         "1",     "deadline", "60",   NULL};
    hf_run run = {.bench = "linpack", .kernel = "linpack_memory"};
    unsigned char *binary = NULL;
    bool right = false;
    OK(world_build(session, "#include \"linpack_memory.cl\"\n", "-I .", &binary,
                   &run.binary_bytes));
    run.binary = binary;
    n_factored = n_launches = 0;
    OK(run_take(&right, session, run, params));
    CHECK(right && n_factored == 0 && n_launches > 0, "%zu of %zu", n_factored,
          n_launches);
    free(binary);
    fill = factor = NULL;
}

/* More ranks of a node, or more messages, than there is room for. */
static void limits_test(void) {
    enum { NODE = 9 };
    static const int nodes[NODE] = {0};
    hf_transport net = *session->net;
    hf_chunks c = *(hf_chunks *)exchange;
    hf_message messages[NODE];
    hf_plan plan = {.exchange = &c.base, .n = 0, .messages = messages};
    c.base.net = &net;
    net.nodes = nodes;
    for (int ranks = NODE - 2; ranks <= NODE; ranks++) {
        net.rank = net.local_rank = 0;
        plan.n = 0;
        net.size = net.local_size = ranks;
        for (int other = 1; other < ranks; other++) {
            CHECK(hf_relay_fits(&c, &plan) ==
                      (ranks < NODE && 2 * (other - 1) <= RELAY_WAYS),
                  "%d ranks, %zu messages each way", ranks, plan.n);
            messages[plan.n++] = (hf_message){other, other, 0, 0, 8, 8};
        }
    }
}

int main(int argc, char **argv) {
    static const size_t lengths[] = {1,    3,    4,     7,     8,      100,
                                     2048, 2049, 65536, 65537, 300001, RELAY_LONGEST};
    MPI_Init(&argc, &argv);
    open_all();
    limits_test();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        ring_test(lengths[i], 64);
        ring_test(lengths[i], 1);
    }
    if (2 * (size - 1) <= RELAY_WAYS)
        all_test();
    one_way_test();
    other_ways_test();
    mixed_test();
    if (size > 1) {
        settled_test();
        linpack_test();
    }
    profile_test();
    close_all();
    open_all();
    refused_test();
    close_all();
    open_all();
    static void (*const failing[])(void) = {late_test, front_test, full_test,
                                            hung_test};
    enum { FAILING = sizeof failing / sizeof *failing };
    for (size_t k = size > 1 ? 0 : FAILING - 1; k < FAILING; k++) {
        failing[k](); /* the transport is of no use afterwards */
        close_all();
        if (k + 1 < FAILING)
            open_all();
    }
    MPI_Finalize();
    return check_failures > 0;
}
