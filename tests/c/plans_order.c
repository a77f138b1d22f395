/* plans_order.c - plans beside kernels and other plans, and ranks and kernels that fail. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "plans_session.h"

/* ---- what happens at the same time ---- */

static volatile int gate_is_open;

static void gate_call(void *const *args, size_t items) {
    (void)items;
    while (!__atomic_load_n(&gate_is_open, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    (*(unsigned char **)args[0])[0] = 77;
}

static hf_event *gate_launch(unsigned queue, hf_buffer *written) {
    static const hf_arg_info words = {
        .name = "words", .kind = HF_ARG_WRITE, .bytes = 1};
    static const hf_kernel_info gate = {
        .name = "gate", .args = &words, .n_args = 1, .call = gate_call};
    const hf_arg arg = {.buffer = written};
    const hf_launch launch = {.kernel = (hf_kernel *)&gate, .args = &arg, .n_args = 1};
    hf_event *event = NULL;
    __atomic_store_n(&gate_is_open, 0, __ATOMIC_RELEASE);
    OK(device->ops->launch(device, &launch, &(hf_order){.queue = queue}, &event));
    return event;
}

/* A plan comes after a kernel of another queue, or of its own; meanwhile the host goes on. */
void after_test(bool same_queue) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, BLOCK, BLOCK};
    const hf_block_ops *ops = exchange->ops->blocks;
    bool done = false;
    hf_plan *made;
    buffers_fill();
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 1, &m));
    hf_event *event = gate_launch(same_queue ? 2 : 1, send_buffer);
    const hf_order order = {
        .queue = 2, .n_after = same_queue ? 0 : 1, .after = &event, .label = "blocks"};
    OK(ops->start(made, &order));
    for (double end = hf_clock_now() + 0.05; hf_clock_now() < end;)
        OK(ops->progress(made, false, &done));
    CHECK(!done && touched_bytes(0, BLOCK) == 0, "it did not wait for the kernel");
    __atomic_store_n(&gate_is_open, 1, __ATOMIC_RELEASE);
    for (double end = hf_clock_now() + 20; !done && hf_clock_now() < end;)
        OK(ops->progress(made, false, &done));
    CHECK(done);
    OK(device->ops->wait(device, event));
    CHECK(memory_of(recv_buffer)[0] == 77 && wrong_bytes(left, 1, 1, BLOCK - 1) == 0);
    hf_plan_free(made);
}

static void *gate_open(void *unused) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    __atomic_store_n(&gate_is_open, 1, __ATOMIC_RELEASE);
    return unused;
}

/* A plan that its caller waits for comes after what is in queue 0. */
void run_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, BLOCK, BLOCK};
    pthread_t opens;
    hf_plan *made;
    buffers_fill();
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 1, &m));
    hf_event *event = gate_launch(0, send_buffer);
    CHECK(pthread_create(&opens, NULL, gate_open, NULL) == 0);
    OK(hf_plan_run(made));
    pthread_join(opens, NULL);
    OK(device->ops->wait(device, event));
    CHECK(memory_of(recv_buffer)[0] == 77, "it did not wait for the kernel");
    CHECK(wrong_bytes(left, 1, 1, BLOCK - 1) == 0);
    hf_plan_free(made);
}

/* Chunks that come before the first read has ended are not written before what is in queue 0. */
void early_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, BLOCK, BLOCK};
    hf_event *event = NULL;
    pthread_t opens;
    hf_plan *made;
    buffers_fill();
    chunks_take(BLOCK / 4, 4);
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 1, &m));
    if (rank == 0) {
        event = gate_launch(0, recv_buffer);
        CHECK(pthread_create(&opens, NULL, gate_open, NULL) == 0);
    }
    OK(hf_plan_run(made));
    if (rank == 0)
        pthread_join(opens, NULL);
    OK(device->ops->wait(device, event));
    CHECK(wrong_bytes(left, 0, 0, BLOCK) == 0);
    hf_plan_free(made);
    chunks_take(0, 0);
}

/* Started by who looks at it, ended by who waits. */
void change_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m[] = {{right, left, 0, 0, ROOM / 2, ROOM / 2},
                            {left, right, ROOM / 2, ROOM / 2, ROOM / 2, ROOM / 2}};
    const hf_block_ops *ops = exchange->ops->blocks;
    bool done;
    hf_plan *made;
    buffers_fill();
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 2, m));
    OK(ops->start(made, NULL));
    OK(ops->progress(made, false, &done));
    OK(plan_end(made, true));
    CHECK(wrong_bytes(left, 0, 0, ROOM / 2) == 0);
    CHECK(wrong_bytes(right, ROOM / 2, ROOM / 2, ROOM / 2) == 0);
    hf_plan_free(made);
}

/* ---- what fails ---- */

/* The last rank never starts: who receives from it gives up by the deadline, who sends to it does
 * or is done, and all can free the plan. The transport is of no use afterwards. */
void silent_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, ROOM, ROOM};
    const hf_block_ops *ops = exchange->ops->blocks;
    hf_status status = HF_OK;
    hf_plan *made;
    exchange->net->deadline = 1000; /* whoever took it then hangs */
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 1, &m));
    exchange->net->deadline = 0.3;
    if (rank < size - 1) {
        OK(ops->start(made, NULL));
        status = plan_end(made, false);
    }
    if (rank < size - 1 && (left == size - 1 || status != HF_OK)) {
        CHECK(status == HF_ECOMM &&
                  strstr(hf_error(), "the deadline of 0.3 s has passed"),
              "%s", hf_error());
    }
    hf_plan_free(made);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A kernel that never ends on rank 0, in front of a plan that is waited for. The deadline of the
 * others passes first; all tell what rank 0 waits for. */
void hung_test(void) {
    hf_message *m = calloc((size_t)size + 1, sizeof *m);
    hf_plan *made;
    for (int i = 0; i <= size; i++) { /* the last is as the first: not one alone */
        int ahead = (rank + i) % size, behind = (rank + size - i % size) % size;
        m[i] = (hf_message){.to = ahead,
                            .from = behind,
                            .recv_at = (size_t)i * BLOCK,
                            .send_bytes = BLOCK,
                            .recv_bytes = BLOCK};
    }
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, (size_t)size + 1, m));
    device->info.type = HF_ACCELERATOR;
    if (size == 1)
        device->deadline = 0.2;
    if (rank > 0)
        exchange->net->deadline = 0.5;
    else
        gate_launch(0, send_buffer);
    hf_status status = hf_plan_run(made);
    CHECK(status != HF_OK &&
              strstr(hf_error(), size > 1 ? "rank 0 waits for kernel \"gate\""
                                          : "kernel \"gate\" has not ended"),
          "%s", hf_error());
    hf_plan_free(made);
    __atomic_store_n(&gate_is_open, 1, __ATOMIC_RELEASE);
    free(m);
}

/* A kernel that never ends in front of a plan: who only looks at it gets an error, too. */
void endless_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, BLOCK, BLOCK};
    const hf_block_ops *ops = exchange->ops->blocks;
    hf_plan *made;
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 1, &m));
    device->deadline = 0.2;
    gate_launch(0, send_buffer);
    OK(ops->start(made, NULL));
    CHECK(plan_end(made, false) == HF_EDEVICE && strstr(hf_error(), "kernel \"gate\""),
          "%s", hf_error());
    hf_plan_free(made);
    __atomic_store_n(&gate_is_open, 1, __ATOMIC_RELEASE);
}
