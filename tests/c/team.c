/* team.c - threads that stay: each part of each job is done once, awake or asleep. */
#include "core/team.h"

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

static void slow(void *context, size_t i) {
    (void)i;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_fetch_add((atomic_int *)context, 1);
}

/* Whoever returns finds all parts done, those of others, too; and others do some: they would take
 * the caller 0.8 s. */
static void shared_test(void) {
    struct timespec begin, end;
    atomic_int done = 0;
    hf_team *team = hf_team_new(7);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    hf_team_work(team, PARTS, slow, &done);
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK(done == PARTS, "%d", done);
    double took = (double)(end.tv_sec - begin.tv_sec) +
                  1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    CHECK(took < 0.75, "%g s", took);
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
