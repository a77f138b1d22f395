/* turns.c - kernels that take turns on a thread, where cores are fewer than kernels.
 *
 * Of a crew's kernels that wait, one runs, on the thread of the `carrier`: the one that finds
 * nothing to do looks what the others wait for and goes on in one that has it. A kernel
 * boards at its first wait: its thread goes to a bed, a stack of its own, since the kernel's
 * stack goes on without it. It is called up to carry when the carrier's kernel has ended, or
 * to end its own. The carrier stays on one core: where two met, each packet would cost two
 * hand-overs.
 */
#include "turns.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <ucontext.h>

#include "core/error.h"
#include "device.h"
#include "hf_ring.h"

enum {
    BED_BYTES = 1 << 16,
    /* Looks in vain before the core is given away: it is the rank's, or of several. */
    ALONE_ROUNDS = 100,
    SHARED_ROUNDS = 4,
    STARVED_ROUNDS = 200, /* and before what is moved counts */
};

typedef struct turn {
    hf_ring_host base;
    struct crew *crew;
    bool aboard; /* its kernel waits, or runs on the carrier's thread */
    bool called;
    const hf_ring *ring; /* what it waits for: `other` past `still` */
    const hf_ring_side *other;
    hf_word still;
    ucontext_t kernel, bed;
    pthread_cond_t call;
    char *stack;
    cpu_set_t before; /* where its thread may run when it does not carry */
} turn;

typedef struct crew {
    pthread_mutex_t lock;
    turn *turns; /* `size` of them */
    size_t size;
    turn *carrier;    /* whose thread runs; NULL: no kernel is aboard */
    turn *leaver;     /* to be called once its kernel's state is saved */
    size_t idle;      /* looks in vain, one after the other */
    size_t idle_most; /* of them, before the core is given away */
    cpu_set_t core;   /* of the carrier */
} crew;

struct hf_turns {
    size_t n_cores, idle_rounds;
    size_t cores[HF_LANES_MOST];
    turn turns[HF_LANES_MOST];
    crew crews[HF_LANES_MOST];
    char *beds;
};

/* ---- what kernels call ---- */

static void thread_call(turn *t) {
    t->called = true;
    pthread_cond_signal(&t->call);
}

/* Where a thread whose kernel waits goes on; it leaves back into its own kernel. */
static void bed_run(unsigned high, unsigned low) {
    turn *t = (turn *)((uintptr_t)high << 32 | low); /* makecontext passes ints */
    crew *c = t->crew;
    pthread_mutex_lock(&c->lock);
    t->aboard = true;
    if (!c->carrier)
        c->carrier = t;
    while (c->carrier != t && !t->called)
        pthread_cond_wait(&t->call, &c->lock);
    t->called = false;
    bool carries = c->carrier == t;
    pthread_mutex_unlock(&c->lock);
    if (carries && sched_getaffinity(0, sizeof t->before, &t->before) == 0)
        sched_setaffinity(0, sizeof c->core, &c->core);
    setcontext(&t->kernel);
}

static void turn_board(turn *t) {
    uintptr_t self = (uintptr_t)t;
    getcontext(&t->bed);
    t->bed.uc_stack.ss_sp = t->stack;
    t->bed.uc_stack.ss_size = BED_BYTES;
    makecontext(&t->bed, (void (*)(void))bed_run, 2, (unsigned)(self >> 32),
                (unsigned)self);
    swapcontext(&t->kernel, &t->bed);
}

/* To take packets one by one as they are moved is slow, to starve is worse. */
static bool turn_ready(const turn *t, bool starved) {
    return HF_RING_LOAD(&t->other->at) > t->still || HF_RING_LOAD(&t->ring->abort) ||
           (starved && HF_RING_LOAD(&t->other->moved) > t->still);
}

/* The next kernel aboard that may go on, `t` last of all; NULL: none. */
static turn *turn_next(const turn *t) {
    crew *c = t->crew;
    turn *next = NULL;
    bool starved = c->idle >= STARVED_ROUNDS;
    size_t self = (size_t)(t - c->turns);
    pthread_mutex_lock(&c->lock);
    for (size_t i = 1; !next && i <= c->size; i++) {
        turn *other = &c->turns[(self + i) % c->size];
        if (other->aboard && turn_ready(other, starved))
            next = other;
    }
    pthread_mutex_unlock(&c->lock);
    return next;
}

static void turn_pass(turn *t) {
    crew *c = t->crew;
    turn *next;
    while (!(next = turn_next(t)))
        if (++c->idle >= c->idle_most)
            sched_yield();
    c->idle = 0;
    if (next != t)
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

static void turn_wait(hf_ring_host *base, const hf_ring *ring,
                      const hf_ring_side *other, hf_word still) {
    turn *t = (turn *)base;
    crew *c = t->crew;
    if (c->size == 1) {
        sched_yield();
        return;
    }
    t->ring = ring;
    t->other = other;
    t->still = still;
    if (t->aboard)
        turn_pass(t);
    else
        turn_board(t);
    leaver_call(c);
}

/* Back to its own thread; the carrier's goes on with its own kernel, or has another carry. */
static void turn_leave(hf_ring_host *base) {
    turn *t = (turn *)base;
    crew *c = t->crew;
    if (!t->aboard)
        return;
    pthread_mutex_lock(&c->lock);
    t->aboard = false;
    turn *carrier = c->carrier;
    if (carrier == t) {
        c->carrier = NULL;
        for (size_t i = 0; !c->carrier && i < c->size; i++)
            if (c->turns[i].aboard)
                c->carrier = &c->turns[i];
        if (c->carrier)
            thread_call(c->carrier);
        pthread_mutex_unlock(&c->lock);
        sched_setaffinity(0, sizeof t->before, &t->before);
        return;
    }
    c->leaver = t;
    pthread_mutex_unlock(&c->lock);
    swapcontext(&t->kernel, &carrier->kernel);
}

/* ---- cores and crews ---- */

/* In rounds, each rank takes the least taken of the cores that it may use; after the first
 * round only one that nobody has. */
static void cores_take(hf_turns *turns, const cpu_set_t *masks, int size, int rank) {
    unsigned taken[CPU_SETSIZE] = {0};
    for (size_t round = 0; round < HF_LANES_MOST; round++)
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
                turns->cores[turns->n_cores++] = best;
        }
    bool shared = turns->n_cores && taken[turns->cores[0]] > 1;
    turns->idle_rounds = shared ? SHARED_ROUNDS : ALONE_ROUNDS;
}

hf_status hf_turns_new(hf_turns **out, hf_transport *net) {
    cpu_set_t mine, *masks = malloc((size_t)net->size * sizeof *masks);
    hf_turns *turns = calloc(1, sizeof *turns);
    char *beds = malloc((size_t)HF_LANES_MOST * BED_BYTES);
    hf_status status = masks && turns && beds
                           ? HF_OK
                           : hf_fail(HF_ENOMEM, "no memory for the turns of kernels");
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        CPU_ZERO(&mine);
    status = hf_agree(net, status);
    if (status == HF_OK)
        status = net->ops->gather(net, masks, &mine, sizeof mine);
    if (status == HF_OK) {
        assert(turns && masks); /* else the ranks would have agreed on that */
        turns->beds = beds;
        cores_take(turns, masks, net->size, net->rank);
        for (size_t i = 0; i < HF_LANES_MOST; i++) {
            pthread_mutex_init(&turns->crews[i].lock, NULL);
            pthread_cond_init(&turns->turns[i].call, NULL);
        }
        *out = turns;
    } else {
        free(turns);
        free(beds);
    }
    free(masks);
    return status;
}

void hf_turns_free(hf_turns *turns) {
    if (!turns)
        return;
    for (size_t i = 0; i < HF_LANES_MOST; i++) {
        pthread_cond_destroy(&turns->turns[i].call);
        pthread_mutex_destroy(&turns->crews[i].lock);
    }
    free(turns->beds);
    free(turns);
}

/* A crew for each core, or for each kernel: then nobody shares, nobody boards. */
void hf_turns_prepare(hf_turns *turns, size_t n) {
    assert(n < HF_LANES_MOST);
    size_t n_crews = turns->n_cores && turns->n_cores < n ? turns->n_cores : n;
    for (size_t i = 0; i < n_crews; i++) {
        crew *c = &turns->crews[i];
        size_t first = i * n / n_crews;
        assert(!c->carrier && !c->leaver);
        c->turns = &turns->turns[first];
        c->size = (i + 1) * n / n_crews - first;
        c->idle_most = turns->idle_rounds;
        CPU_ZERO(&c->core);
        if (turns->n_cores)
            CPU_SET(turns->cores[i], &c->core);
        for (size_t k = 0; k < c->size; k++)
            c->turns[k].crew = c;
    }
    for (size_t i = 0; i < n; i++) {
        turns->turns[i].base = (hf_ring_host){turn_wait, turn_leave};
        turns->turns[i].stack = turns->beds + i * BED_BYTES;
    }
}

uint64_t hf_turns_host(const hf_turns *turns, size_t i) {
    return (uintptr_t)&turns->turns[i].base;
}
