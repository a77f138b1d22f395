/* turns.c - kernels that take turns on a thread, where cores are fewer than kernels.
 *
 * Of a crew's kernels that wait, one runs, on the thread of the `carrier`; the others queue.
 * A kernel boards at its first wait: its thread goes to a bed, a stack of its own, since the
 * kernel's stack goes on without it. It is called up to carry when the carrier's kernel has
 * ended, or to end its own. Only who runs takes from the queue. The carrier stays on one
 * core: where two met, each packet would cost two hand-overs.
 */
#include "turns.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <ucontext.h>

#include "core/error.h"
#include "hf_ring.h"

enum {
    BED_BYTES = 1 << 16,
    IDLE_ROUNDS = 4, /* in vain, before the core is given away */
};

typedef struct turn {
    hf_ring_host base;
    struct crew *crew;
    bool aboard, called;
    ucontext_t kernel, bed;
    pthread_cond_t call;
    struct turn *next;
    char *stack;
} turn;

typedef struct crew {
    pthread_mutex_t lock;
    turn *first, *last;   /* of those that wait */
    turn *carrier;        /* whose thread runs; NULL: no kernel is aboard */
    turn *leaver;         /* to be called once its kernel's state is saved */
    size_t idle;          /* waits in vain, one after the other */
    size_t size;          /* kernels */
    cpu_set_t core, free; /* of the carrier, of other threads */
} crew;

struct hf_turns {
    size_t n, n_crews;
    turn *turns;
    crew crews[];
};

static void queue_push(crew *c, turn *t) {
    t->next = NULL;
    if (c->first)
        c->last->next = t;
    else
        c->first = t;
    c->last = t;
}

static turn *queue_pop(crew *c) {
    turn *t = c->first;
    if (t)
        c->first = t->next;
    return t;
}

static void thread_call(turn *t) {
    t->called = true;
    pthread_cond_signal(&t->call);
}

/* Where a thread whose kernel waits goes on; it leaves back into its own kernel. */
static void bed_run(unsigned high, unsigned low) {
    turn *t = (turn *)((uintptr_t)high << 32 | low); /* makecontext passes ints */
    crew *c = t->crew;
    pthread_mutex_lock(&c->lock);
    if (c->carrier) {
        queue_push(c, t);
        while (!t->called)
            pthread_cond_wait(&t->call, &c->lock);
        t->called = false;
    } else {
        c->carrier = t;
    }
    pthread_mutex_unlock(&c->lock);
    if (c->carrier == t)
        sched_setaffinity(0, sizeof c->core, &c->core);
    setcontext(&t->kernel);
}

static void turn_board(turn *t) {
    uintptr_t self = (uintptr_t)t;
    t->aboard = true;
    getcontext(&t->bed);
    t->bed.uc_stack.ss_sp = t->stack;
    t->bed.uc_stack.ss_size = BED_BYTES;
    makecontext(&t->bed, (void (*)(void))bed_run, 2, (unsigned)(self >> 32),
                (unsigned)self);
    swapcontext(&t->kernel, &t->bed);
}

/* Go on in the next kernel; this one, when its turn comes again. */
static void turn_pass(turn *t) {
    crew *c = t->crew;
    pthread_mutex_lock(&c->lock);
    turn *next = queue_pop(c);
    if (next)
        queue_push(c, t);
    pthread_mutex_unlock(&c->lock);
    if (next)
        swapcontext(&t->kernel, &next->kernel);
}

/* A kernel that ended in a turn before this one may go home now. */
static void leaver_call(crew *c) {
    if (!c->leaver)
        return;
    pthread_mutex_lock(&c->lock);
    thread_call(c->leaver);
    c->leaver = NULL;
    pthread_mutex_unlock(&c->lock);
}

static void turn_wait(hf_ring_host *base, hf_word looks) {
    turn *t = (turn *)base;
    crew *c = t->crew;
    if (c->size == 1) {
        sched_yield();
        return;
    }
    if (t->aboard) {
        c->idle = looks == 0 ? 0 : c->idle + 1;
        if (c->idle >= IDLE_ROUNDS * c->size && c->idle % c->size == 0)
            sched_yield();
        turn_pass(t);
    } else {
        turn_board(t);
    }
    leaver_call(c);
}

/* Back to its own thread, and off the queue: the carrier's thread goes on with another. */
static void turn_leave(hf_ring_host *base) {
    turn *t = (turn *)base;
    crew *c = t->crew;
    if (!t->aboard)
        return;
    t->aboard = false;
    pthread_mutex_lock(&c->lock);
    turn *next = queue_pop(c);
    bool own = c->carrier == t;
    if (own) {
        c->carrier = next;
        if (next)
            thread_call(next);
    }
    pthread_mutex_unlock(&c->lock);
    if (own) {
        sched_setaffinity(0, sizeof c->free, &c->free);
        return;
    }
    c->leaver = t;
    swapcontext(&t->kernel, &next->kernel);
}

void hf_turns_free(hf_turns *turns) {
    for (size_t i = 0; turns && i < turns->n; i++) {
        pthread_cond_destroy(&turns->turns[i].call);
        free(turns->turns[i].stack);
    }
    for (size_t i = 0; turns && i < turns->n_crews; i++)
        pthread_mutex_destroy(&turns->crews[i].lock);
    if (turns)
        free(turns->turns);
    free(turns);
}

/* The crew's core: of those that the process may use, number `at`, round and round. */
static void crew_init(crew *c, const cpu_set_t *cores, size_t at) {
    pthread_mutex_init(&c->lock, NULL);
    c->free = *cores;
    size_t left = at % (size_t)CPU_COUNT(cores);
    for (size_t core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, cores) && left-- == 0)
            CPU_SET(core, &c->core);
}

static hf_status turn_init(turn *t, crew *c) {
    t->base = (hf_ring_host){turn_wait, turn_leave};
    t->crew = c;
    c->size++;
    pthread_cond_init(&t->call, NULL);
    t->stack = malloc(BED_BYTES);
    return t->stack ? HF_OK : hf_fail(HF_ENOMEM, "no memory for a stack");
}

hf_status hf_turns_new(hf_turns **out, size_t n, int rank, int ranks) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        CPU_SET(0, &cores);
    size_t n_crews = (size_t)CPU_COUNT(&cores) / (size_t)ranks;
    n_crews = n_crews < 1 ? 1 : n_crews > n ? n : n_crews;
    hf_turns *turns = calloc(1, sizeof *turns + n_crews * sizeof *turns->crews);
    if (turns)
        turns->turns = calloc(n, sizeof *turns->turns);
    if (!turns || !turns->turns) {
        free(turns);
        return hf_fail(HF_ENOMEM, "no memory for %zu kernels", n);
    }
    for (; turns->n_crews < n_crews; turns->n_crews++)
        crew_init(&turns->crews[turns->n_crews], &cores,
                  (size_t)rank * n_crews + turns->n_crews);
    hf_status status = HF_OK;
    for (; turns->n < n && status == HF_OK; turns->n++)
        status =
            turn_init(&turns->turns[turns->n], &turns->crews[turns->n * n_crews / n]);
    if (status == HF_OK)
        *out = turns;
    else
        hf_turns_free(turns);
    return status;
}

uint64_t hf_turns_host(hf_turns *turns, size_t i) {
    return (uintptr_t)&turns->turns[i].base;
}
