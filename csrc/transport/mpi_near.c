/* mpi_near.c - what all ranks do together, between those of one node: by memory, not by MPI.
 *
 * On a node with more ranks than cores a message of MPI costs several turns of the cores, a
 * look at memory part of one. Each rank has two boxes: one for its parent in the tree, one
 * for its children. A box is written once for each meeting. It has been read before the
 * next: a rank leaves a meeting only after it has read its parent's box, and its parent wrote
 * that after it had read the rank's own. Where there is no such memory, messages do. On a
 * crowded node a rank yields for a few turns of the cores, then it sleeps on the number of
 * the box that it reads. To wake a rank costs several turns, but ranks that only yield take
 * the cores from ranks that work, and beside another program each yield costs its turn.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agree.h"
#include "core/clock.h"
#include "mpi_near.h"
#include "node.h"

enum {
    BOX_ROOM = 16 << 10, /* what is longer goes as a message [B] */
    QUICK = 100,         /* looks before the core is left to others */
    PROGRESS = 16, /* further ones between two calls of MPI: they move other messages */
    BACKOFF = 100, /* waits that sleep at once after a yield of more than AWAKE */
};

/* The longest sleep: who waits has to move other messages, too. */
static const struct timespec nap = {0, 200000};

/* On a crowded node who waits longer than this sleeps [s]. */
static const double AWAKE = 200e-6;

typedef struct box {
    _Atomic uint32_t number;   /* of the meeting that the rest is of: written last */
    _Atomic uint32_t sleepers; /* ranks that wait for another number */
    uint32_t bytes;
    char data[BOX_ROOM];
} box;

struct near {
    hf_shared *shared;
    box **boxes;         /* [size], of each rank its two; NULL: it is on another node */
    uint32_t (*seen)[2]; /* [size], the number that was in each when it was read last */
    bool crowded;
    unsigned backoff; /* waits to come that sleep at once */
};

static void near_free(struct near *near) {
    if (!near)
        return;
    hf_shared_free(near->shared);
    free(near->boxes);
    free(near->seen);
    free(near);
}

void hf_mpi_near_close(mpi *net) {
    near_free(net->near);
    net->near = NULL;
}

static hf_status near_make(struct near **out, const mpi *net) {
    size_t size = (size_t)net->base.size;
    struct near *near = *out = calloc(1, sizeof *near);
    if (near) {
        near->boxes = calloc(size, sizeof(box *));
        near->seen = calloc(size, sizeof *near->seen);
    }
    return near && near->boxes && near->seen
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for %zu ranks", size);
}

hf_status hf_mpi_near_open(mpi *net, mpi *node) {
    struct near *near;
    hf_status status = hf_agree(&node->base, near_make(&near, net));
    if (status == HF_OK)
        status = hf_shared_new(&near->shared, &node->base, 2 * sizeof(box));
    for (int rank = 0; status == HF_OK && rank < node->base.size; rank++)
        near->boxes[hf_mpi_comm_rank(node, rank)] = near->shared->parts[rank];
    if (near)
        near->crowded = hf_node_crowded(node->base.size);
    if (status == HF_OK)
        net->near = near;
    else
        near_free(near);
    return status == HF_ECOMM ? status : HF_OK;
}

static box *box_of(const mpi *net, int rank, bool up) {
    box *boxes = net->near ? net->near->boxes[rank] : NULL;
    return boxes ? boxes + up : NULL;
}

bool hf_mpi_near_put(mpi *net, int to, bool up, size_t bytes) {
    if (!box_of(net, to, up))
        return false;
    box *own = box_of(net, net->base.rank, up);
    if (atomic_load_explicit(&own->number, memory_order_relaxed) != net->number) {
        own->bytes = (uint32_t)bytes;
        memcpy(own->data, net->message, bytes < BOX_ROOM ? bytes : BOX_ROOM);
        atomic_store(&own->number, net->number);
        if (atomic_load(&own->sleepers) > 0)
            syscall(SYS_futex, &own->number, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    } /* else another child has it already */
    return bytes <= BOX_ROOM;
}

/* A look into a box that may have something new. */
typedef struct look {
    const mpi *net;
    box *from;
    uint32_t seen;
    unsigned looks;
    double began;   /* to yield or sleep; 0: not yet [s] */
    double yielded; /* last; INFINITY: it slept [s] */
} look;

static void box_sleep(box *from, uint32_t seen) {
    int before = errno;
    atomic_fetch_add(&from->sleepers, 1);
    syscall(SYS_futex, &from->number, FUTEX_WAIT, seen, &nap, NULL, 0);
    atomic_fetch_sub(&from->sleepers, 1);
    errno = before;
}

/* Shall this look end with a yield, or with a sleep? */
static bool look_yields(look *l) {
    struct near *near = l->net->near;
    double now = hf_clock_now();
    if (l->began == 0) {
        l->began = l->yielded = now;
        near->backoff -= near->backoff > 0;
    }
    if (now - l->yielded > AWAKE)
        near->backoff = BACKOFF;
    bool yields = near->backoff == 0 && now - l->began < AWAKE;
    l->yielded = yields ? now : INFINITY;
    return yields;
}

static hf_status box_look(void *what, bool *done) {
    look *l = what;
    *done = atomic_load_explicit(&l->from->number, memory_order_acquire) != l->seen;
    if (*done || ++l->looks < QUICK)
        return HF_OK;
    if (!l->net->near->crowded || look_yields(l)) {
        sched_yield();
        return l->looks % PROGRESS ? HF_OK : hf_mpi_progress(l->net);
    }
    l->looks = 0; /* one sleep between two looks at the clock */
    box_sleep(l->from, l->seen);
    return hf_mpi_progress(l->net);
}

hf_status hf_mpi_near_get(mpi *net, int from, bool up, int kind, size_t bytes,
                          bool *whole) {
    look l = {.net = net, .from = box_of(net, from, up)};
    *whole = false;
    if (!l.from)
        return HF_OK;
    uint32_t *seen = &net->near->seen[from][up];
    l.seen = *seen;
    HF_TRY(hf_mpi_wait_until(net, box_look, &l, from, kind));
    *seen = atomic_load_explicit(&l.from->number, memory_order_relaxed);
    size_t there = l.from->bytes < bytes ? l.from->bytes : bytes;
    memcpy(net->message, l.from->data, there < BOX_ROOM ? there : BOX_ROOM);
    *whole = l.from->bytes != bytes || bytes <= BOX_ROOM;
    return HF_OK;
}
