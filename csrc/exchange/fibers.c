/* fibers.c - scheduler `fibers`: kernels share a thread, where cores are fewer than kernels.
 *
 * To hand a core from thread to thread takes microseconds. So a kernel that waits for a
 * packet becomes a fiber: its stack and registers are saved, and the same thread runs another
 * kernel of the rank whose packet is there.
 *
 * A run queue holds the kernels that share a core. One thread at a time, the worker, runs its
 * fibers. It stays on that core: on two, each packet would cost two hand-overs. The runtime
 * gave each kernel a thread. A thread whose kernel has become a fiber parks: it goes on on a
 * spare stack, since the fiber keeps the thread's own, and sleeps. It is woken to become the
 * worker, when the worker's kernel has ended, or to end its own kernel: that must happen on
 * the thread on which the kernel began.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "agree.h"
#include "core/clock.h"
#include "core/error.h"
#include "device.h"
#include "scheduler.h"

enum {
    STACK_BYTES = 1 << 16, /* of a parked thread */
    /* Rounds without a fiber that is ready, before the core is given away: it belongs to
     * this rank alone, or to several. */
    OWN_ROUNDS = 100,
    SHARED_ROUNDS = 4,
};

/* Time since the core was first given away, before unpublished packets count [s]. Rounds do
 * not tell: where others use the core, one takes milliseconds. */
static const double starved_seconds = 5e-5;

/* A kernel that waits longer waits for something slow [s]: between its looks it sleeps. */
static const double patience = 2e-3;
static const struct timespec nap = {0, 50000};

typedef struct fiber {
    hf_ring_host base;
    struct queue *queue;
    hf_ring_side *sides[HF_MAX_ENDS];
    size_t n_sides;
    bool suspended; /* its kernel is a fiber: it waits, or runs on the worker */
    bool woken;
    const hf_ring *ring; /* it waits at this ring until `other` is past `still` */
    const hf_ring_side *other;
    hf_word still;
    double since; /* of a kernel that shares with nobody: when that wait began [s] */
    ucontext_t kernel, parked; /* its kernel; the spare stack of its thread */
    pthread_cond_t wake;
    char *stack;
    cpu_set_t cores; /* of its thread, when it is not the worker */
} fiber;

typedef struct queue {
    pthread_mutex_t lock;
    fiber *fibers; /* [size] */
    size_t size;
    fiber *worker; /* the one whose thread is the worker; NULL: none is suspended */
    fiber *ended;  /* its thread is to be woken once its registers are saved */
    size_t
        max_idle; /* rounds without a fiber that is ready, before the core is given away */
    cpu_set_t core; /* of the worker */
} queue;

struct hf_scheduler {
    size_t n_cores, idle_rounds;
    size_t cores[HF_MAX_QUEUES];
    fiber fibers[HF_MAX_QUEUES];
    queue queues[HF_MAX_QUEUES];
    char *stacks;
};

/* ---- what kernels call ---- */

static void thread_wake(fiber *f) {
    f->woken = true;
    pthread_cond_signal(&f->wake);
}

/* Park the thread of a kernel that has become a fiber; it leaves back into this kernel. */
static void thread_park(unsigned high, unsigned low) {
    fiber *f = (fiber *)((uintptr_t)high << 32 | low); /* makecontext passes ints */
    queue *q = f->queue;
    pthread_mutex_lock(&q->lock);
    f->suspended = true;
    if (!q->worker)
        q->worker = f;
    while (q->worker != f && !f->woken)
        pthread_cond_wait(&f->wake, &q->lock);
    f->woken = false;
    bool works = q->worker == f;
    pthread_mutex_unlock(&q->lock);
    if (works && sched_getaffinity(0, sizeof f->cores, &f->cores) == 0)
        sched_setaffinity(0, sizeof q->core, &q->core);
    setcontext(&f->kernel);
}

/* Make a fiber of the kernel that runs on this thread. */
static void fiber_suspend(fiber *f) {
    uintptr_t self = (uintptr_t)f;
    getcontext(&f->parked);
    f->parked.uc_stack.ss_sp = f->stack;
    f->parked.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->parked, (void (*)(void))thread_park, 2, (unsigned)(self >> 32),
                (unsigned)self);
    swapcontext(&f->kernel, &f->parked);
}

/* Whether a fiber has something to do. Unpublished packets count when all starve: to take
 * them one by one is slow. */
static bool fiber_ready(const fiber *f, bool starved) {
    return HF_RING_LOAD(&f->other->at) > f->still || HF_RING_LOAD(&f->ring->abort) ||
           (starved && HF_RING_LOAD(&f->other->moved) > f->still);
}

/* The next fiber of the run queue that is ready, `f` last of all; NULL: none is. */
static fiber *queue_next(const fiber *f, bool starved) {
    queue *q = f->queue;
    fiber *next = NULL;
    size_t self = (size_t)(f - q->fibers);
    pthread_mutex_lock(&q->lock);
    for (size_t i = 1; !next && i <= q->size; i++) {
        fiber *other = &q->fibers[(self + i) % q->size];
        if (other->suspended && fiber_ready(other, starved))
            next = other;
    }
    pthread_mutex_unlock(&q->lock);
    return next;
}

/* Give the core to others: at first to those that want it now. */
static void core_leave(double waited) {
    if (waited < patience)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* Run the next fiber that is ready, on this thread. */
static void fiber_switch(fiber *f) {
    fiber *next;
    bool starved = false;
    double since = 0;
    for (size_t idle = 1; !(next = queue_next(f, starved)); idle++) {
        if (idle < f->queue->max_idle)
            continue;
        double now = hf_clock_now();
        since = since > 0 ? since : now;
        core_leave(now - since);
        starved = hf_clock_now() - since > starved_seconds;
    }
    if (next != f)
        swapcontext(&f->kernel, &next->kernel);
}

/* Wake the thread of a kernel that ended just before: its registers are saved now. */
static void ended_wake(queue *q) {
    if (!q->ended)
        return;
    pthread_mutex_lock(&q->lock);
    thread_wake(q->ended);
    q->ended = NULL;
    pthread_mutex_unlock(&q->lock);
}

/* A kernel waits at one of its ends, or has ended: who is at the others may wait for it. */
static void sides_publish(const fiber *f) {
    for (size_t i = 0; i < f->n_sides; i++)
        hf_ring_publish(f->sides[i]);
}

static void fiber_wait(hf_ring_host *base, const hf_ring *ring,
                       const hf_ring_side *other, hf_word still) {
    fiber *f = (fiber *)base;
    queue *q = f->queue;
    bool anew = f->other != other || f->still != still;
    f->ring = ring;
    f->other = other;
    f->still = still;
    sides_publish(f);
    if (q->size == 1) {
        double now = hf_clock_now();
        f->since = anew ? now : f->since;
        core_leave(now - f->since);
        return;
    }
    if (f->suspended)
        fiber_switch(f);
    else
        fiber_suspend(f);
    ended_wake(q);
}

/* Another thread becomes the worker, if a fiber is left. */
static void worker_pass(queue *q) {
    q->worker = NULL;
    for (size_t i = 0; !q->worker && i < q->size; i++)
        if (q->fibers[i].suspended)
            q->worker = &q->fibers[i];
    if (q->worker)
        thread_wake(q->worker);
}

/* End a kernel on its own thread. If that is not the worker, the worker goes on with its own
 * kernel meanwhile. */
static void fiber_leave(hf_ring_host *base) {
    fiber *f = (fiber *)base;
    queue *q = f->queue;
    sides_publish(f);
    if (!f->suspended)
        return;
    pthread_mutex_lock(&q->lock);
    fiber *worker = q->worker;
    f->suspended = false;
    if (worker == f)
        worker_pass(q);
    else
        q->ended = f;
    pthread_mutex_unlock(&q->lock);
    if (worker == f)
        sched_setaffinity(0, sizeof f->cores, &f->cores);
    else
        swapcontext(&f->kernel, &worker->kernel);
}

/* ---- cores and run queues ---- */

/* In rounds, each rank takes the least taken of the cores that it may use; after the first
 * round only one that nobody has. */
static void cores_take(hf_scheduler *s, const cpu_set_t *masks, int size, int rank) {
    unsigned taken[CPU_SETSIZE] = {0};
    for (size_t round = 0; round < HF_MAX_QUEUES; round++)
        for (int r = 0; r < size; r++) {
            size_t best = CPU_SETSIZE;
            for (size_t core = 0; core < CPU_SETSIZE; core++)
                if (CPU_ISSET(core, &masks[r]) &&
                    (best == CPU_SETSIZE || taken[core] < taken[best]))
                    best = core;
            if (best == CPU_SETSIZE || (round > 0 && taken[best] > 0))
                continue;
            taken[best]++;
            if (r == rank)
                s->cores[s->n_cores++] = best;
        }
    bool shared = s->n_cores && taken[s->cores[0]] > 1;
    s->idle_rounds = shared ? SHARED_ROUNDS : OWN_ROUNDS;
}

static hf_status fibers_open(hf_scheduler **out, hf_transport *net) {
    cpu_set_t mine, *masks = malloc((size_t)net->size * sizeof *masks);
    hf_scheduler *s = calloc(1, sizeof *s);
    char *stacks = malloc((size_t)HF_MAX_QUEUES * STACK_BYTES);
    hf_status status = masks && s && stacks
                           ? HF_OK
                           : hf_fail(HF_ENOMEM, "no memory for the stacks of kernels");
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        CPU_ZERO(&mine);
    status = hf_agree(net, status);
    if (status == HF_OK)
        status = net->ops->gather(net, masks, &mine, sizeof mine);
    if (status == HF_OK) {
        assert(s && masks); /* else the ranks would have agreed on that */
        s->stacks = stacks;
        cores_take(s, masks, net->size, net->rank);
        for (size_t i = 0; i < HF_MAX_QUEUES; i++) {
            pthread_mutex_init(&s->queues[i].lock, NULL);
            pthread_cond_init(&s->fibers[i].wake, NULL);
        }
        *out = s;
    } else {
        free(s);
        free(stacks);
    }
    free(masks);
    return status;
}

static void fibers_close(hf_scheduler *s) {
    if (!s)
        return;
    for (size_t i = 0; i < HF_MAX_QUEUES; i++) {
        pthread_cond_destroy(&s->fibers[i].wake);
        pthread_mutex_destroy(&s->queues[i].lock);
    }
    free(s->stacks);
    free(s);
}

/* A run queue for each core, or for each kernel if these are fewer: then nobody shares, and
 * no kernel becomes a fiber. */
static void fibers_prepare(hf_scheduler *s, size_t n) {
    assert(n < HF_MAX_QUEUES);
    size_t n_queues = s->n_cores && s->n_cores < n ? s->n_cores : n;
    for (size_t i = 0; i < n_queues; i++) {
        queue *q = &s->queues[i];
        size_t first = i * n / n_queues;
        assert(!q->worker && !q->ended);
        q->fibers = &s->fibers[first];
        q->size = (i + 1) * n / n_queues - first;
        q->max_idle = s->idle_rounds;
        CPU_ZERO(&q->core);
        if (s->n_cores)
            CPU_SET(s->cores[i], &q->core);
        for (size_t k = 0; k < q->size; k++)
            q->fibers[k].queue = q;
    }
    for (size_t i = 0; i < n; i++) {
        s->fibers[i].base = (hf_ring_host){fiber_wait, fiber_leave};
        s->fibers[i].other = NULL;
        s->fibers[i].n_sides = 0;
        s->fibers[i].stack = s->stacks + i * STACK_BYTES;
    }
}

static void fibers_attach(hf_scheduler *s, size_t i, hf_ring_side *side) {
    fiber *f = &s->fibers[i];
    assert(f->n_sides < HF_MAX_ENDS);
    f->sides[f->n_sides++] = side;
}

static const hf_ring_host *fibers_host(const hf_scheduler *s, size_t i) {
    return &s->fibers[i].base;
}

const hf_scheduler_ops hf_scheduler_fibers = {
    .open = fibers_open,
    .prepare = fibers_prepare,
    .attach = fibers_attach,
    .host = fibers_host,
    .close = fibers_close,
};
