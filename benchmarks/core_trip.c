/* core_trip.c - how far apart two cores are: a cache line goes there and back.
 *
 * cc -O2 -pthread core_trip.c -o core_trip
 * core_trip prints the seconds of a round trip between the first two CPUs that it may use,
 * the median of PARTS runs of TRIPS trips; 0 where there is one CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "yardstick.h"

enum { PARTS = 9, TRIPS = 20000, ALL = PARTS * TRIPS };

static _Alignas(128) atomic_int there;
static _Alignas(128) atomic_int back;

static void pin(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void *answer(void *core) {
    pin(*(int *)core);
    for (int trip = 1; trip <= ALL; trip++) {
        while (atomic_load_explicit(&there, memory_order_acquire) < trip)
            ;
        atomic_store_explicit(&back, trip, memory_order_release);
    }
    return NULL;
}

static void trip_go(int trip) {
    atomic_store_explicit(&there, trip, memory_order_release);
    while (atomic_load_explicit(&back, memory_order_acquire) < trip)
        ;
}

static int longer(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    cpu_set_t mine;
    int cores[2], n = 0;
    double seconds[PARTS] = {0};
    pthread_t other;
    sched_getaffinity(0, sizeof mine, &mine);
    for (int core = 0; core < CPU_SETSIZE && n < 2; core++)
        if (CPU_ISSET(core, &mine))
            cores[n++] = core;
    if (n == 2 && pthread_create(&other, NULL, answer, &cores[1]) == 0) {
        pin(cores[0]);
        for (int part = 0, trip = 0; part < PARTS; part++) {
            double start = now();
            for (int i = 0; i < TRIPS; i++)
                trip_go(++trip);
            seconds[part] = (now() - start) / TRIPS;
        }
        pthread_join(other, NULL);
        qsort(seconds, PARTS, sizeof *seconds, longer);
    }
    printf("%.3e\n", seconds[PARTS / 2]);
    return 0;
}
