/* relay_late.c - plans that devices carry out, of which a rank, its device or a kernel is late, or
 * does not come at all. */
#include <mpi.h>
#include <pthread.h>
#include <time.h>

#include "relay_session.h"

/* A rank comes late: nobody gives up. Then it does not come: the one that waits for it ends by the
 * deadline, and its kernel leaves the device. */
void late_test(void) {
    int left = (rank + size - 1) % size;
    hf_plan *plan = ring_plan(100000);
    buffers_fill();
    if (rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    OK(hf_plan_run(plan));
    CHECK(wrong_bytes(1, left, 0, 0, plan->messages->recv_bytes) == 0);
    session->net->deadline =
        0.5; /* the device has time to end a kernel on a busy machine */
    if (left == 0) {
        CHECK(hf_plan_run(plan) == HF_ECOMM);
        CHECK(strstr(hf_error(), "rank 0"), "%s", hf_error());
        CHECK(!device->broken);
        CHECK(device->ops->idle(device));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    hf_plan_free(plan);
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
void mixed_test(void) {
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
void settled_test(void) {
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
void front_test(void) {
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
void full_test(void) {
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
void hung_test(void) {
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
