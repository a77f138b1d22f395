/* team.c - threads that stay: each part of each job is done once, awake or asleep. */
#include "core/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"

enum { JOBS = 3000, PARTS = 40 };

typedef struct job {
    atomic_int times[PARTS];
    size_t n;
} job;

static void count(void *context, size_t i) {
    job *j = context;
    CHECK(i < j->n);
    atomic_fetch_add(&j->times[i], 1);
}

static void team_test(size_t threads) {
    hf_team *team = hf_team_new(threads);
    CHECK((team != NULL) == (threads > 0));
    for (size_t k = 0; k < JOBS; k++) {
        job j = {.n = k % (PARTS + 1)};
        if (k % 500 == 0) /* all threads go to sleep */
            nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        hf_team_work(team, j.n, count, &j);
        for (size_t i = 0; i < PARTS; i++)
            CHECK(j.times[i] == (i < j.n), "job %zu, part %zu: %d times", k, i,
                  j.times[i]);
    }
    hf_team_free(team);
}

/* The first part waits until another thread has begun one. */
typedef struct meeting {
    pthread_t caller;
    atomic_int done, others;
} meeting;

static void meet(void *context, size_t i) {
    meeting *m = context;
    if (!pthread_equal(pthread_self(), m->caller))
        atomic_fetch_add(&m->others, 1);
    for (int naps = 0; i == 0 && m->others == 0 && naps < 20000; naps++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_fetch_add(&m->done, 1);
}

/* Threads of the team do parts, and who returns finds all done, those of others, too. */
static void shared_test(void) {
    hf_team *team = hf_team_new(7);
    for (int k = 0; k < 5; k++) {
        meeting m = {.caller = pthread_self()};
        if (k > 0) /* they sleep, and are woken */
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        hf_team_work(team, PARTS, meet, &m);
        CHECK(m.done == PARTS, "%d", m.done);
        CHECK(m.others > 0, "the caller did all");
    }
    hf_team_free(team);
}

int main(void) {
    team_test(0);
    team_test(1);
    team_test(3);
    shared_test();
    hf_team_free(NULL);
    return check_failures > 0;
}
