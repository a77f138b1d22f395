/* fibers.c - kernels that share a thread: each ends on its own thread, whichever way it ends.
 *
 * Kernels are threads in a ring of tokens; kernel k ends when it got lives[k] of them. Who
 * has waited goes on on the worker of its run queue: one thread, which stays on one core.
 * A kernel publishes no token that it passes on: the scheduler does, once the kernel waits. At
 * last one that waits is given what nobody has published.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "core/clock.h"
#include "hf_ring.h"
#include "scheduler.h"
#include "transport.h"

enum { N = 6, ROUNDS = 60, FOR_EVER = 1 << 30, SKIP = 77 };
enum { LONGEST = 120000 }; /* looks at a ring, 1 ms apart: it is stuck */

extern const hf_transport_ops hf_transport_self;

typedef struct player {
    hf_ring *in, *out;
    hf_ring_host *host;
    hf_word life, got;
    pid_t began, ended;
    pid_t worker; /* which took its tokens, from its first wait on; 0: nobody yet */
    bool waited, changed, roamed, same_cores;
} player;

static hf_ring rings[N];
static atomic_bool
    ending; /* a kernel has ended: another thread may be the worker now */

/* Which thread goes on after a wait, and on how many cores it may. */
static void worker_note(player *p) {
    cpu_set_t cores;
    sched_getaffinity(0, sizeof cores, &cores);
    p->roamed |= CPU_COUNT(&cores) != 1;
    if (ending)
        return;
    p->changed |= p->worker && p->worker != gettid();
    p->worker = gettid();
}

/* The next token, or false after an abort: what a kernel in OpenCL C does. */
static bool token_take(player *p) {
    while (HF_RING_LOAD(&p->in->writer.at) <= p->got) {
        if (HF_RING_LOAD(&p->in->abort))
            return false;
        p->host->wait(p->host, p->in, &p->in->writer, p->got);
        p->waited = true;
    }
    if (p->waited)
        worker_note(p);
    p->got++;
    return true;
}

static void play(player *p) {
    while (p->got < p->life) {
        if (!token_take(p))
            return;
        HF_RING_STORE(&p->out->writer.moved, p->out->writer.moved + 1);
    }
    HF_RING_STORE(&p->out->writer.at, p->out->writer.moved);
}

static void *player_run(void *context) {
    player *p = context;
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    p->began = gettid();
    play(p);
    ending = true;
    p->host->leave(p->host);
    p->ended = gettid();
    sched_getaffinity(0, sizeof after, &after);
    p->same_cores = CPU_EQUAL(&before, &after);
    return NULL;
}

/* How many tokens each takes until one does not pass it on, or after all rounds. */
static void tokens_count(hf_word *tokens, const hf_word *lives) {
    for (size_t n = 0; n < N * ROUNDS && tokens[n % N] < lives[n % N]; n++)
        tokens[n % N]++;
}

/* Until kernel `i` has sent so many; ring 0 held one before all. */
static void tokens_await(size_t i, hf_word tokens) {
    const hf_ring *out = &rings[(i + 1) % N];
    int waits = 0;
    while (HF_RING_LOAD(&out->writer.at) < tokens + (i + 1 == N) && waits++ < LONGEST)
        usleep(1000);
    CHECK(waits <= LONGEST, "kernel %zu has not sent %llu tokens", i,
          (unsigned long long)tokens);
}

/* Kernels share as many threads as there are queues, so some go on in another's. */
static void workers_check(const player *players, size_t queues) {
    size_t workers = 0, guests = 0;
    for (size_t i = 0; i < N; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= players[k].worker == players[i].worker;
        workers += !again;
        guests += players[i].worker != players[i].began;
        CHECK(players[i].worker, "kernel %zu took no token after it had waited", i);
        CHECK(!players[i].changed, "kernel %zu had two workers", i);
    }
    CHECK(workers == queues, "%zu workers on %zu cores", workers, queues);
    CHECK(guests == N - queues, "%zu kernels on another's thread", guests);
}

/* All kernels, started from `first` on; those that are left get an abort. */
static void run(hf_scheduler *scheduler, const hf_word *lives, size_t first,
                size_t queues) {
    pthread_t threads[N];
    player players[N];
    hf_word tokens[N] = {0};
    memset(rings, 0, sizeof rings);
    ending = false;
    hf_scheduler_fibers.prepare(scheduler, N);
    tokens_count(tokens, lives);
    rings[0].writer.at = rings[0].writer.moved = 1;
    for (size_t n = 0; n < N; n++) {
        size_t i = (first + n) % N;
        players[i] =
            (player){.in = &rings[i],
                     .out = &rings[(i + 1) % N],
                     .host = (hf_ring_host *)hf_scheduler_fibers.host(scheduler, i),
                     .life = lives[i]};
        hf_scheduler_fibers.attach(scheduler, i, &players[i].out->writer);
        CHECK(pthread_create(&threads[i], NULL, player_run, &players[i]) == 0);
    }
    for (size_t i = 0; i < N; i++)
        tokens_await(i, tokens[i]);
    for (size_t i = 0; i < N; i++)
        if (tokens[i] < lives[i])
            HF_RING_STORE(&rings[i].abort, HF_RING_HALT);
    for (size_t i = 0; i < N; i++) {
        const player *p = &players[i];
        pthread_join(threads[i], NULL);
        CHECK(p->began == p->ended, "kernel %zu ends on another thread", i);
        CHECK(p->same_cores, "kernel %zu leaves its thread on other cores", i);
        CHECK(!p->roamed, "kernel %zu ran as a fiber on several cores", i);
        CHECK(lives[i] == FOR_EVER ? p->got >= tokens[i] : p->got == tokens[i],
              "kernel %zu: %llu tokens, not %llu", i, (unsigned long long)p->got,
              (unsigned long long)tokens[i]);
    }
    if (tokens[0] == ROUNDS) /* all have waited for one another */
        workers_check(players, queues);
}

/* A kernel that waits takes a packet that is never published, as hf_ring_wait does. */
static void *taker_run(void *context) {
    player *p = context;
    hf_ring_side *other = &p->in->writer;
    while (HF_RING_LOAD(&other->moved) == 0 && !HF_RING_LOAD(&p->in->abort))
        p->host->wait(p->host, p->in, other, 0);
    HF_RING_STORE(&p->in->reader.moved, HF_RING_LOAD(&other->moved));
    p->host->leave(p->host);
    return NULL;
}

/* All kernels wait for those of others, which go on and publish nothing. */
static void starved_run(hf_scheduler *scheduler) {
    pthread_t threads[N];
    player players[N];
    int waits = 0;
    memset(rings, 0, sizeof rings);
    hf_scheduler_fibers.prepare(scheduler, N);
    for (size_t i = 0; i < N; i++) {
        hf_ring_host *host = (hf_ring_host *)hf_scheduler_fibers.host(scheduler, i);
        players[i] = (player){.in = &rings[i], .host = host};
        CHECK(pthread_create(&threads[i], NULL, taker_run, &players[i]) == 0);
    }
    usleep(10000); /* most wait now; who does not finds its packet at once */
    for (size_t i = 0; i < N; i++) {
        HF_RING_STORE(&rings[i].writer.moved, 1);
        while (HF_RING_LOAD(&rings[i].reader.moved) == 0 && waits++ < LONGEST / 4)
            usleep(1000);
        CHECK(HF_RING_LOAD(&rings[i].reader.moved) == 1, "kernel %zu starves", i);
        HF_RING_STORE(&rings[i].abort, HF_RING_HALT);
    }
    for (size_t i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
}

static void runs(const cpu_set_t *all, size_t cores) {
    hf_transport *net;
    hf_scheduler *scheduler;
    hf_word lives[N];
    cpu_set_t some;
    CPU_ZERO(&some);
    for (size_t core = 0; core < CPU_SETSIZE && (size_t)CPU_COUNT(&some) < cores;
         core++)
        if (CPU_ISSET(core, all))
            CPU_SET(core, &some);
    sched_setaffinity(0, sizeof some, &some);
    CHECK(hf_transport_self.open(&net, 0, "", 60) == HF_OK);
    CHECK(hf_scheduler_fibers.open(&scheduler, net) == HF_OK);
    for (size_t first = 0; first < N; first++) {
        for (size_t i = 0; i < N; i++)
            lives[i] = ROUNDS;
        run(scheduler, lives, first, cores);
        for (size_t i = 0; i < N; i++)
            lives[i] = FOR_EVER;
        run(scheduler, lives, first, cores);
        for (size_t i = 0; i < N; i++) /* the ring breaks at the first to end */
            lives[i] = (i * 5 + first) % N * 10;
        run(scheduler, lives, first, cores);
    }
    starved_run(scheduler);
    hf_scheduler_fibers.close(scheduler);
    hf_transport_self.close(net);
}

int main(int argc, char **argv) {
    cpu_set_t all;
    int cores = argc == 2 ? atoi(argv[1]) : 0;
    if (cores < 1 || cores > N)
        return fprintf(stderr, "fibers CORES, from 1 to %d\n", N), 2;
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < cores)
        return printf("skipped: %d cores are needed, %d are here\n", cores,
                      CPU_COUNT(&all)),
               SKIP;
    runs(&all, (size_t)cores);
    return check_failures != 0;
}
