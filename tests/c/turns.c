/* turns.c - kernels that take turns on a thread: each ends on its own, whichever way.
 *
 * Kernels are threads in a ring of tokens; kernel k ends when it got lives[k] of them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "core/clock.h"
#include "hf_ring.h"
#include "transport.h"
#include "turns.h"

enum { N = 6, FOR_EVER = 1 << 30 };

extern const hf_transport_ops hf_transport_self;

typedef struct player {
    hf_ring *in, *out;
    hf_ring_host *host;
    hf_word life, got;
    pid_t began, ended;
    bool same_cores;
} player;

static hf_ring rings[N];

/* The next token, or false after an abort: what a kernel in OpenCL C does. */
static bool token_take(player *p) {
    while (HF_RING_LOAD(&p->in->writer.at) <= p->got) {
        if (HF_RING_LOAD(&p->in->abort))
            return false;
        p->host->wait(p->host, p->in, &p->in->writer, p->got);
    }
    p->got++;
    return true;
}

static void play(player *p) {
    while (p->got < p->life) {
        if (!token_take(p))
            return;
        HF_RING_STORE(&p->out->writer.at, p->out->writer.at + 1);
    }
}

static void *player_run(void *context) {
    player *p = context;
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    p->began = gettid();
    play(p);
    p->host->leave(p->host);
    p->ended = gettid();
    sched_getaffinity(0, sizeof after, &after);
    p->same_cores = CPU_EQUAL(&before, &after);
    return NULL;
}

/* All kernels, started from `first` on; those that are left get an abort. */
static void run(hf_turns *turns, const hf_word *lives, size_t first, bool aborts) {
    pthread_t threads[N];
    player players[N];
    memset(rings, 0, sizeof rings);
    hf_turns_prepare(turns, N);
    rings[0].writer.at = 1;
    for (size_t n = 0; n < N; n++) {
        size_t i = (first + n) % N;
        players[i] = (player){.in = &rings[i],
                              .out = &rings[(i + 1) % N],
                              .host = (hf_ring_host *)hf_turns_host(turns, i),
                              .life = lives[i]};
        CHECK(pthread_create(&threads[i], NULL, player_run, &players[i]) == 0);
    }
    if (aborts)
        usleep(20000);
    for (size_t i = 0; aborts && i < N; i++)
        HF_RING_STORE(&rings[i].abort, HF_RING_HALT);
    for (size_t i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        CHECK(players[i].began == players[i].ended, "kernel %zu ends on another thread",
              i);
        CHECK(players[i].same_cores, "kernel %zu leaves its thread on other cores", i);
        CHECK(aborts || players[i].got == lives[i], "kernel %zu: %llu tokens", i,
              (unsigned long long)players[i].got);
    }
}

static void runs(int cores) {
    hf_transport *net;
    hf_turns *turns;
    hf_word lives[N];
    cpu_set_t all, some;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&some);
    for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&some) < cores; core++)
        if (CPU_ISSET(core, &all))
            CPU_SET(core, &some);
    sched_setaffinity(0, sizeof some, &some);
    CHECK(hf_transport_self.open(&net, 0, "") == HF_OK);
    CHECK(hf_turns_new(&turns, net) == HF_OK);
    for (size_t first = 0; first < N; first++) {
        for (size_t i = 0; i < N; i++)
            lives[i] = 1000;
        run(turns, lives, first, false);
        for (size_t i = 0; i < N; i++)
            lives[i] = FOR_EVER;
        run(turns, lives, first, true);
        for (size_t i = 0; i < N; i++) /* the ring breaks at the first to end */
            lives[i] = (i * 5 + first) % N * 10;
        run(turns, lives, first, true);
    }
    hf_turns_free(turns);
    hf_transport_self.close(net);
    sched_setaffinity(0, sizeof all, &all);
}

int main(void) {
    runs(1); /* one crew */
    runs(2); /* two, where there are two cores */
    return check_failures != 0;
}
