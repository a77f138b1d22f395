/* plans.c - plans of the schemes that move blocks, alone or with mpirun on any number of ranks.
 *
 * plans SCHEME [MODE]: on the device `host`, whose kernels are C functions of this test. Modes of
 * what ranks share memory for:
 *   apart      the last rank is on another node
 *   full       there is no shared memory
 *   unpinned   the device of the last rank does not pin it
 *   little     the node of the last rank has little memory left
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chunks.h"
#include "core/work.h"
#include "plans_session.h"

/* ---- what is refused ---- */

static hf_status plan(hf_message m, size_t n) {
    hf_plan *made;
    hf_status status = hf_plan_new(&made, exchange, recv_buffer, send_buffer, n, &m);
    if (status == HF_OK)
        hf_plan_free(made);
    return status;
}

static void refuse(hf_message m, const char *why) {
    CHECK(plan(m, 1) == HF_EARG && strstr(hf_error(), why), "%s: %s", why, hf_error());
}

static void check_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    OK(plan((hf_message){right, left, 0, 0, 8, 8}, 1));
    OK(plan((hf_message){right, left, 0, 0, 0, 0}, 1));
    OK(plan((hf_message){HF_NOBODY, HF_NOBODY, 0, 0, 0, 0}, 1));
    OK(plan((hf_message){size, -9, 0, 0, 0, 0}, 0));
    refuse((hf_message){size, left, 0, 0, 8, 8}, "names rank");
    refuse((hf_message){right, -2, 0, 0, 8, 8}, "names rank");
    refuse((hf_message){right, HF_NOBODY, 0, 0, 8, 8}, "bytes for nobody");
    refuse((hf_message){right, left, ROOM - 7, 0, 8, 8}, "does not lie in its buffers");
    refuse((hf_message){right, left, 0, ROOM - 7, 8, 8}, "does not lie in its buffers");
    refuse((hf_message){right, HF_NOBODY, 0, 0, 8, 0}, "expects nothing");
    refuse((hf_message){HF_NOBODY, left, 0, 0, 0, 8}, "sends nothing");
    refuse((hf_message){right, left, 0, 0, 8, 9}, "expects 9 B");
    if (size > 1) { /* one rank alone */
        refuse((hf_message){right, left, 0, 0, rank ? 8 : 7, 8}, "sends 7 B");
        refuse((hf_message){rank ? right : size, left, 0, 0, 8, 8}, "names rank");
    }
    if (size > 2)
        refuse((hf_message){right, right, 0, 0, 8, 8}, "expects");
}

/* Several messages for each rank. In rounds, each rank sends to one and receives from another;
 * else each has its own order of peers. */
static hf_message *all_to_all(size_t *n, bool rounds, size_t bytes) {
    enum { EACH = 3 };
    hf_message *m = malloc(EACH * (size_t)size * sizeof *m);
    *n = 0;
    for (int i = 0; i < size; i++)
        for (size_t k = 0; k < EACH; k++) {
            int ahead = (rank + i) % size, behind = (rank + size - i) % size,
                peer = rank % 2 ? ahead : behind;
            int to = rounds ? ahead : peer, from = rounds ? behind : peer;
            m[(*n)++] = (hf_message){.to = to,
                                     .from = from,
                                     .send_at = (EACH * (size_t)to + k) * BLOCK,
                                     .recv_at = (EACH * (size_t)from + k) * BLOCK,
                                     .send_bytes = bytes + k + (size_t)(rank * to),
                                     .recv_bytes = bytes + k + (size_t)(rank * from)};
        }
    return m;
}

/* Seconds of this rank's core that a plan takes. */
static double plan_seconds(size_t n, const hf_message *m) {
    hf_plan *made;
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, n, m));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    hf_plan_free(made);
    return (double)(end.tv_sec - begin.tv_sec) +
           1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

/* A plan of 64 times as many messages takes about 100 times the time, not 64 squared: on one
 * rank, which waits for no other. The best of some tries counts: of more on a busy machine. */
static void large_test(size_t n) {
    double few = INFINITY, many = INFINITY;
    hf_message *m = malloc(n * sizeof *m);
    hf_plan *made;
    for (size_t i = 0; i < n; i++)
        m[i] = (hf_message){(rank + (int)(i % (size_t)size)) % size,
                            (rank + size - (int)(i % (size_t)size)) % size,
                            i,
                            i,
                            i % 5,
                            i % 5};
    for (int i = 0; i < (size > 1 ? 1 : 10) && (i < 3 || many >= 800 * few); i++) {
        few = fmin(few, plan_seconds(n / 64, m));
        many = fmin(many, plan_seconds(n, m));
    }
    CHECK(size > 1 || many < 800 * few, "%g s, and %g s for a 64th", many, few);
    m[n - 1].recv_bytes++;
    CHECK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, n, m) == HF_EARG);
    free(m);
}

/* ---- what moves ---- */

static hf_status messages_move(size_t n, const hf_message *messages) {
    hf_plan *plan;
    HF_TRY(hf_plan_new(&plan, exchange, recv_buffer, send_buffer, n, messages));
    hf_status status = hf_plan_run(plan);
    hf_plan_free(plan);
    return status;
}

static void all_to_all_test(bool rounds, size_t bytes) {
    size_t n;
    hf_message *m = all_to_all(&n, rounds, bytes);
    buffers_fill();
    OK(messages_move(n, m));
    for (size_t i = 0; i < n; i++)
        CHECK(wrong_bytes(m[i].from, (3 * (size_t)rank + i % 3) * BLOCK, m[i].recv_at,
                          bytes < BLOCK ? m[i].recv_bytes : 0) == 0,
              "rounds %d, message %zu", rounds, i);
    free(m);
}

/* From rank 0 to all others, in one direction; and more in one direction than back. */
static void one_sided_test(void) {
    hf_message *m = malloc((size_t)size * sizeof *m);
    size_t n = 0;
    buffers_fill();
    for (int to = 1; rank == 0 && to < size; to++)
        m[n++] = (hf_message){to, HF_NOBODY, (size_t)to * 10, 0, BLOCK, 0};
    if (rank > 0)
        m[n++] = (hf_message){HF_NOBODY, 0, 0, 70, 0, BLOCK};
    OK(messages_move(n, m));
    if (rank > 0)
        CHECK(wrong_bytes(0, (size_t)rank * 10, 70, BLOCK) == 0);
    CHECK(touched_bytes(0, 70) == 0 && touched_bytes(70 + BLOCK, 100) == 0);
    free(m);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message uneven = {
        right, left, 0, 0, BLOCK + 100 * (size_t)rank, BLOCK + 100 * (size_t)left};
    buffers_fill();
    OK(messages_move(1, &uneven));
    CHECK(wrong_bytes(left, 0, 0, uneven.recv_bytes) == 0 &&
          touched_bytes(uneven.recv_bytes, 100) == 0);
}

/* Messages of several chunks, more of them than there are slots; one of them to all, from one
 * read. One rank alone has chunks of the default size. */
static void long_test(void) {
    enum { CHUNKS = 5, SAME = 1 << 20, ODD = 12345 };
    const size_t chunk = size > 1 ? SAME : HF_CHUNK_MAX, all = CHUNKS * chunk;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    hf_buffer *from, *to;
    hf_message *m = malloc((size_t)size * sizeof *m);
    OK(device->ops->alloc(&from, device, all + ODD, NULL));
    OK(device->ops->alloc(&to, device, all + ODD, NULL));
    for (size_t i = 0; i < all + ODD; i++)
        memory_of(from)[i] = byte_of(rank, i / 7);
    hf_plan *made;
    chunks_take(size > 1 ? chunk : 0, 0);
    m[0] = (hf_message){right, left, ODD, 0, all, all};
    OK(hf_plan_new(&made, exchange, to, from, 1, m));
    OK(hf_plan_run(made));
    hf_plan_free(made);
    size_t wrong = 0;
    for (size_t i = 0; i < all; i++)
        wrong += memory_of(to)[i] != byte_of(left, (i + ODD) / 7);
    CHECK(wrong == 0, "%zu B are wrong", wrong);
    chunks_take(SAME / 3, 2); /* another depth: the slots are others */
    for (int i = 0; i < size; i++)
        m[i] = (hf_message){.to = (rank + i) % size,
                            .from = (rank + size - i) % size,
                            .send_at = ODD,
                            .recv_at = (size_t)i * (all / (size_t)size),
                            .send_bytes = SAME,
                            .recv_bytes = SAME};
    OK(hf_plan_new(&made, exchange, to, from, (size_t)size, m));
    OK(hf_plan_run(made));
    hf_plan_free(made);
    for (int k = 0; k < size; k++)
        for (size_t i = 0; i < SAME; i += 61)
            wrong +=
                memory_of(to)[m[k].recv_at + i] != byte_of(m[k].from, (i + ODD) / 7);
    CHECK(wrong == 0, "%zu B of the same block are wrong", wrong);
    chunks_take(0, 0);
    device->ops->free(from);
    device->ops->free(to);
    free(m);
}

/* A plan that is run again and again, with blocks that move and shrink, down to nothing. */
static void again_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m[] = {{right, left, 0, 0, BLOCK, BLOCK},
                            {left, right, 0, 0, BLOCK, BLOCK}};
    hf_plan *made;
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, 2, m));
    for (size_t step = 0; step < 4; step++) {
        size_t bytes = step == 2 ? 0 : BLOCK - 100 * step;
        made->messages[0].send_at = made->messages[0].recv_at = 5 * step;
        made->messages[0].send_bytes = made->messages[0].recv_bytes = bytes;
        made->messages[1].recv_at = 2 * BLOCK;
        buffers_fill();
        OK(hf_plan_run(made));
        CHECK(wrong_bytes(left, 5 * step, 5 * step, bytes) == 0);
        CHECK(wrong_bytes(right, 0, 2 * BLOCK, BLOCK) == 0);
        CHECK(touched_bytes(5 * step + bytes, BLOCK - bytes) == 0, "step %zu", step);
    }
    hf_plan_free(made);
}

/* ---- what the host sees of it ---- */

enum { SEEN = 150, CHUNK = 100 };

static size_t unseen_bytes(const unsigned char *seen, int of, size_t bytes) {
    size_t wrong = 0;
    for (size_t i = 0; i <= SEEN; i++)
        wrong += seen[i] != (i < bytes && i < SEEN ? byte_of(of, i) : 0xEE);
    return wrong;
}

/* The begin of blocks in chunks, or of shorter ones: of one that goes to all, and of all that
 * come. */
static void glances_test(size_t bytes, bool wait) {
    size_t n = (size_t)size;
    hf_message *m = calloc(n, sizeof *m);
    hf_glance *glances = calloc(n, sizeof *glances);
    unsigned char(*seen)[SEEN + 1] = malloc((n + 1) * sizeof *seen);
    hf_plan *made;
    for (size_t i = 0; i < n; i++) {
        m[i] = (hf_message){.to = (rank + (int)i) % size,
                            .from = (rank + size - (int)i) % size,
                            .recv_at = i * BLOCK,
                            .send_bytes = bytes,
                            .recv_bytes = bytes};
        glances[i] = (hf_glance){i == 0 ? seen[n] : NULL, seen[i], SEEN};
    }
    memset(seen, 0xEE, (n + 1) * sizeof *seen);
    buffers_fill();
    chunks_take(CHUNK, 2);
    OK(hf_plan_new(&made, exchange, recv_buffer, send_buffer, n, m));
    made->glances = glances;
    OK(exchange->ops->blocks->start(made, NULL));
    OK(plan_end(made, wait));
    for (size_t i = 0; i < n; i++)
        CHECK(unseen_bytes(seen[i], m[i].from, bytes) == 0, "from rank %d", m[i].from);
    CHECK(unseen_bytes(seen[n], rank, bytes) == 0, "of this rank");
    hf_plan_free(made);
    chunks_take(0, 0);
    free(seen);
    free(glances);
    free(m);
}

/* Too many chunks, or too long ones, for one rank are refused on all; others go. */
static void little_test(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    CHECK(plan((hf_message){right, left, 0, 0, ROOM, ROOM}, 1) == HF_ENOMEM &&
              strstr(hf_error(), "4 chunks of 1048576 B take"),
          "%s", hf_error());
    again_test();
}

int main(int argc, char **argv) {
    if (argc < 2)
        return fprintf(stderr, "plans SCHEME [MODE]\n"), 2;
    mode = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    open_session(argv[1]);
    mode_begin();
    if (strcmp(mode, "little") == 0) {
        little_test();
        close_session();
        MPI_Finalize();
        return check_failures != 0;
    }
    check_test();
    large_test(size > 1 ? 5000 : 50000);
    for (int cpu = 0; cpu < 2; cpu++) { /* whose copies wait for each other */
        device->info.type = cpu ? HF_CPU : HF_ACCELERATOR;
        all_to_all_test(true, 100);
        one_sided_test();
        again_test();
        long_test();
        for (int wait = 0; wait < 2; wait++) {
            glances_test(BLOCK, wait);
            glances_test(CHUNK - 1, wait);
            glances_test(0, wait);
        }
        run_test();
        early_test();
        change_test();
        after_test(false);
        after_test(true);
    }
    mode_check();
    follow_test();
    if (strcmp(argv[1], "host") == 0) { /* all at once; large ones wait for receivers */
        all_to_all_test(false, 100);
        all_to_all_test(false, 100000);
    }
    endless_test();
    close_session();
    open_session(argv[1]);
    hung_test();
    close_session();
    open_session(argv[1]);
    if (size > 1)
        silent_test();
    close_session();
    MPI_Finalize();
    return check_failures != 0;
}
