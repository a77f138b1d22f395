/* team.c - threads that stay, for work of the host that is too short to begin threads for.
 *
 * Parts of a job are claimed one by one: the caller waits for parts that have been begun, and for
 * no thread that is late. A thread looks for the next job for a while, and then sleeps.
 */
#include "core/team.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/clock.h"

static const double AWAKE = 5e-4; /* time without a job before a thread sleeps [s] */

/* In one word, so that nobody claims a part of one job by the number of parts of another. */
enum { PARTS_SHIFT = 16, JOB_SHIFT = 2 * PARTS_SHIFT };

struct hf_team {
    pthread_t threads[HF_MAX_TEAM];
    size_t n_threads;
    _Atomic uint64_t
        next; /* number of the job, its parts, and the first that nobody has */
    _Atomic size_t done; /* its parts that are */
    void (*_Atomic work)(void *context, size_t i);
    void *_Atomic context;
    pthread_mutex_t lock;
    pthread_cond_t wakes;
    atomic_size_t asleep;
    atomic_bool ends;
};

/* Claim a part of the job that there is, and do it. While it is not done there is no other job. */
static bool part_do(hf_team *team) {
    uint64_t seen = atomic_load(&team->next);
    do {
        if ((uint16_t)seen == (uint16_t)(seen >> PARTS_SHIFT))
            return false;
    } while (!atomic_compare_exchange_weak(&team->next, &seen, seen + 1));
    atomic_load (&team->work)(atomic_load(&team->context), (uint16_t)seen);
    atomic_fetch_add(&team->done, 1);
    return true;
}

static void nap(hf_team *team) {
    uint64_t seen = atomic_load(&team->next);
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->asleep, 1);
    while (atomic_load(&team->next) >> JOB_SHIFT == seen >> JOB_SHIFT &&
           !atomic_load(&team->ends))
        pthread_cond_wait(&team->wakes, &team->lock);
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->lock);
}

static void *member(void *context) {
    hf_team *team = context;
    double since = hf_clock_now();
    while (!atomic_load(&team->ends)) {
        bool idle = !part_do(team);
        if (idle && hf_clock_now() - since < AWAKE)
            continue;
        if (idle)
            nap(team);
        since = hf_clock_now();
    }
    return NULL;
}

static void wake_all(hf_team *team) {
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->wakes);
    pthread_mutex_unlock(&team->lock);
}

/* Signals are for the threads that there are without us. */
static void threads_begin(hf_team *team, size_t threads) {
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own);
    while (team->n_threads < threads &&
           pthread_create(&team->threads[team->n_threads], NULL, member, team) == 0)
        team->n_threads++;
    pthread_sigmask(SIG_SETMASK, &own, NULL);
}

hf_team *hf_team_new(size_t threads) {
    assert(threads <= HF_MAX_TEAM);
    hf_team *team = threads > 0 ? calloc(1, sizeof *team) : NULL;
    if (!team)
        return NULL;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wakes, NULL);
    threads_begin(team, threads);
    return team;
}

void hf_team_free(hf_team *team) {
    if (!team)
        return;
    atomic_store(&team->ends, true);
    wake_all(team);
    for (size_t i = 0; i < team->n_threads; i++)
        pthread_join(team->threads[i], NULL);
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->wakes);
    free(team);
}

void hf_team_work(hf_team *team, size_t n, void (*work)(void *context, size_t i),
                  void *context) {
    assert(n <= HF_TEAM_PARTS);
    if (!team || n < 2) {
        for (size_t i = 0; i < n; i++)
            work(context, i);
        return;
    }
    atomic_store(&team->work, work);
    atomic_store(&team->context, context);
    atomic_store(&team->done, 0);
    uint64_t job = (atomic_load(&team->next) >> JOB_SHIFT) + 1;
    atomic_store(&team->next, job << JOB_SHIFT | (uint64_t)n << PARTS_SHIFT);
    if (atomic_load(&team->asleep) > 0)
        wake_all(team);
    while (part_do(team))
        ;
    while (atomic_load(&team->done) < n)
        ;
}
