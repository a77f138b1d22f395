/* relay.c - plans that devices carry out themselves. PoCL, whose kernels see the host's memory,
 * passes for an accelerator. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "chunks.h"
#include "core/error.h"
#include "core/session.h"
#include "relay.h"
#include "relay_layout.h"
#include "runs.h"
#include "world.h"

enum { ROOM = RELAY_LONGEST + (1 << 16), STEPS = 2 * RELAY_SLOTS + 3 };

static hf_session *session;
static hf_device *device;
static hf_exchange *exchange;
static int rank, size;
static hf_buffer *buffers[2];
static unsigned char *memory;

static const hf_device_ops *own;
static hf_device_ops counting;
static size_t n_launches, n_without, n_factored;
static const hf_kernel *fill, *factor; /* of linpack */

static hf_status seen_kernel(hf_kernel **out, hf_device *of, const char *name,
                             unsigned unit) {
    HF_TRY(own->kernel(out, of, name, unit));
    if (strcmp(name, "linpack_fill") == 0)
        fill = *out;
    if (strcmp(name, "linpack_lu") == 0)
        factor = *out;
    return HF_OK;
}

static hf_status counted_launch(hf_device *of, const hf_launch *launch,
                                const hf_order *order, hf_event **done) {
    bool is = order && order->label && strcmp(order->label, "relay") == 0;
    n_launches = launch->kernel == fill ? 0 : n_launches + is;
    if (launch->kernel == factor)
        n_factored = n_launches;
    n_without += is && order->no_event && !done;
    return own->launch(of, launch, order, done);
}

static void open_all(void) {
    unsigned char *binary = NULL;
    size_t bytes = 0;
    OK(world_open(&session, (hf_options){.device = "cpu",
                                         .exchange = "shared",
                                         .deadline = 20,
                                         .has_comm = true}));
    device = session->device;
    exchange = session->exchange;
    rank = session->net->rank;
    size = session->net->size;
    CHECK(!hf_session_wants_relay(session)); /* a CPU */
    device->info.type = HF_ACCELERATOR;
    CHECK(hf_session_wants_relay(session) ==
          (size == 1)); /* each rank has one of its own */
    OK(world_build(session, "#include \"relay_ndrange.cl\"\n", "-I .", &binary,
                   &bytes));
    for (int k = 0; k < 2; k++) /* the second takes the place of the first */
        OK(hf_session_relay(session, binary, bytes));
    CHECK(!hf_session_wants_relay(session));
    CHECK(device->relay, "%s", hf_error());
    free(binary);
    own = device->ops;
    counting = *own;
    counting.kernel = seen_kernel;
    counting.launch = counted_launch;
    device->ops = &counting;
    for (int i = 0; i < 2; i++)
        OK(device->ops->alloc(&buffers[i], device, ROOM, NULL));
    memory = malloc(ROOM);
}

static void close_all(void) {
    free(memory);
    for (int i = 0; i < 2; i++)
        device->ops->free(buffers[i]);
    hf_session_close(session);
}

static unsigned char byte_of(int of, size_t i) {
    return (unsigned char)(i * 31 + i / 253 + 57 * (size_t)of);
}

static void buffers_fill(void) {
    for (size_t i = 0; i < ROOM; i++)
        memory[i] = byte_of(rank, i);
    OK(device->ops->write(device, buffers[0], 0, memory, ROOM, NULL, NULL));
    memset(memory, 0xEE, ROOM);
    OK(device->ops->write(device, buffers[1], 0, memory, ROOM, NULL, NULL));
}

static size_t wrong_bytes(int buffer, int of, size_t from, size_t at, size_t bytes) {
    size_t wrong = 0;
    OK(device->ops->read(device, buffers[buffer], 0, memory, ROOM, NULL, NULL));
    for (size_t i = 0; i < bytes; i++)
        wrong += memory[at + i] != byte_of(of, from + i);
    return wrong;
}

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

static hf_plan *ring_plan(size_t bytes) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, bytes, bytes};
    hf_plan *plan = NULL;
    OK(hf_plan_new(&plan, exchange, buffers[1], buffers[0], 1, &m));
    return plan;
}

/* A rank comes late: nobody gives up. Then it does not come: the one that waits for it ends by the
 * deadline, and its kernel leaves the device. */
static void late_test(void) {
    int left = (rank + size - 1) % size;
    hf_plan *plan = ring_plan(100000);
    buffers_fill();
    if (rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    OK(hf_plan_run(plan));
    CHECK(wrong_bytes(1, left, 0, 0, plan->messages->recv_bytes) == 0);
    session->net->deadline = device->deadline = 0.5;
    if (left == 0) {
        CHECK(hf_plan_run(plan) == HF_ECOMM);
        CHECK(strstr(hf_error(), "rank 0"), "%s", hf_error());
        CHECK(!device->broken);
        CHECK(device->ops->idle(device));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    hf_plan_free(plan);
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

/* A kernel that waits for a word of the host. */
static _Alignas(64) volatile uint32_t nothing[1024], stop, begun;

static hf_status front_launch(hf_event **event) {
    const relay_job job = {.ways = {{.slot = (unsigned long)nothing,
                                     .bytes = 4,
                                     .number = 1,
                                     .groups = 1}},
                           .stop = (unsigned long)&stop,
                           .begun = (unsigned long)&begun};
    const hf_arg args[] = {
        {.buffer = buffers[0]}, {.buffer = buffers[1]}, HF_VALUE(job)};
    const hf_launch launch = {device->relay, args, 3, RELAY_GROUP, RELAY_GROUP};
    stop = 0;
    return own->launch(device, &launch, NULL, event);
}

static void *front_end(void *unused) {
    nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    stop = 1;
    return unused;
}

/* A rank is late, and its kernel too. */
static void late_begin(pthread_t *thread, hf_event **event) {
    OK(front_launch(event));
    CHECK(pthread_create(thread, NULL, front_end, NULL) == 0);
}

static void late_end(pthread_t thread, hf_event *event) {
    pthread_join(thread, NULL);
    OK(own->wait(device, event));
}

/* Plans that are relayed and plans of copies follow each other: what was left in the queue is ended
 * by the next one that is waited for, whichever it is. The last rank's device is late each time. */
static void mixed_test(void) {
    enum { A, B, KINDS, LONG = RELAY_LONGEST + 1, SHORT = 3000 };
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    static const int orders[][4] = {
        {A, B, A, B}, {B, A, B, A}, {A, A, B, B}, {B, B, A, A}};
    const size_t bytes[KINDS] = {SHORT, LONG};
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        hf_plan *plans[KINDS];
        hf_event *event = NULL;
        pthread_t thread = pthread_self();
        buffers_fill();
        for (int kind = 0; kind < KINDS; kind++) {
            const hf_message m = {right, left, 0, 0, bytes[kind], bytes[kind]};
            OK(hf_plan_new(&plans[kind], exchange, buffers[1], buffers[0], 1, &m));
        }
        for (size_t step = 0; step < 4; step++) {
            hf_plan *plan = plans[orders[k][step]];
            plan->messages->send_at = step + 1;
            plan->messages->recv_at = 64 * step;
            if (rank == size - 1 && step % 2 == 0)
                late_begin(&thread, &event);
            OK(step % 2 == 0 ? hf_plan_enqueue(plan) : hf_plan_run(plan));
            if (rank == size - 1 && step % 2 == 1)
                late_end(thread, event);
            if (step % 2 == 1)
                CHECK(wrong_bytes(1, left, step + 1, 64 * step,
                                  plan->messages->recv_bytes) == 0,
                      "order %zu, step %zu", k, step);
            if (step == 1) /* no slot is in use */
                hf_plan_free(ring_plan(SHORT));
        }
        for (int kind = 0; kind < KINDS; kind++)
            hf_plan_free(plans[kind]);
    }
}

/* A plan of copies, in which most ranks have nothing, ends the launches before it, also one that
 * waits for the last rank. Nobody makes it leave: not who frees a plan, nor who makes one. */
static void settled_test(void) {
    enum { SHORT = 3000 };
    int left = (rank + size - 1) % size;
    hf_message m = {HF_NOBODY, HF_NOBODY, 0, 0, 0, 0};
    if (rank == 1) /* to itself: that is not relayed */
        m = (hf_message){1, 1, 0, ROOM / 2, 100, 100};
    hf_plan *relayed = ring_plan(SHORT), *copies = NULL;
    hf_event *event = NULL;
    pthread_t thread = pthread_self();
    OK(hf_plan_new(&copies, exchange, buffers[1], buffers[0], 1, &m));
    buffers_fill();
    if (rank == size - 1)
        late_begin(&thread, &event);
    OK(hf_plan_enqueue(relayed));
    OK(hf_plan_run(copies));
    CHECK(((hf_chunks *)exchange)->in_oldest == ((hf_chunks *)exchange)->in_next);
    hf_plan_free(copies);
    hf_plan *made = ring_plan(SHORT);
    if (rank == size - 1)
        late_end(thread, event);
    CHECK(wrong_bytes(1, left, 0, 0, SHORT) == 0);
    buffers_fill();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    OK(hf_plan_run(relayed));
    CHECK(wrong_bytes(1, left, 0, 0, SHORT) == 0);
    hf_plan_free(relayed);
    hf_plan_free(made);
}

/* A kernel in front ends, but the sender does not come: that is told, and the device is of use. */
static void front_test(void) {
    int left = (rank + size - 1) % size;
    hf_event *event = NULL;
    pthread_t thread;
    hf_plan *plan = ring_plan(3000);
    session->net->deadline = device->deadline = 1;
    if (left == 0) {
        late_begin(&thread, &event);
        CHECK(hf_plan_run(plan) == HF_ECOMM);
        CHECK(strstr(hf_error(), "rank 0"), "%s", hf_error());
        CHECK(!device->broken);
        late_end(thread, event);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    hf_plan_free(plan);
}

/* One rank alone sends, the other does not take: the sender names it when its slots are full. */
static void full_test(void) {
    hf_message m = {HF_NOBODY, HF_NOBODY, 0, 0, 0, 0};
    hf_status status = HF_OK;
    hf_plan *plan = NULL;
    if (rank == 0)
        m = (hf_message){1, HF_NOBODY, 0, 0, 100, 0};
    else if (rank == 1)
        m = (hf_message){HF_NOBODY, 0, 0, 0, 0, 100};
    OK(hf_plan_new(&plan, exchange, buffers[1], buffers[0], 1, &m));
    session->net->deadline = 0.5;
    size_t steps = 0;
    while (rank == 0 && status == HF_OK && steps < 1000) {
        status = hf_plan_enqueue(plan);
        steps += status == HF_OK;
    }
    CHECK(rank != 0 || (steps >= RELAY_SLOTS && steps <= RELAY_SLOTS + 4), "%zu",
          steps);
    CHECK(rank != 0 || strstr(hf_error(), "rank 1"), "%s", hf_error());
    MPI_Barrier(MPI_COMM_WORLD);
    hf_plan_free(plan);
}

/* A kernel that does not end, on rank 0, keeps the launch from its device: all tell of that. */
static void hung_test(void) {
    int left = (rank + size - 1) % size;
    hf_event *event = NULL;
    hf_plan *plan = ring_plan(3000);
    session->net->deadline = device->deadline = rank == 0 ? 20 : 0.5;
    if (size == 1)
        device->deadline = 0.5;
    if (rank == 0)
        OK(front_launch(&event));
    hf_status status = hf_plan_run(plan);
    bool waits = rank == 0 || left == 0;
    CHECK(waits == (status != HF_OK));
    CHECK(!waits || strstr(hf_error(), size > 1 ? "rank 0 waits for kernel \"relay\""
                                                : "kernel \"relay\" has not ended"),
          "%s", hf_error());
    stop = 1;
    hf_plan_free(plan);
    MPI_Barrier(MPI_COMM_WORLD);
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
