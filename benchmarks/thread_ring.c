/* thread_ring.c - packets from one thread to another: the yardstick of live channels.
 *
 * cc -O3 -march=native -pthread thread_ring.c -o thread_ring
 * thread_ring SAMPLES prints, as JSON, packets of 32 B per second through a ring between
 * two threads, and seconds of a hand-over between two threads that share a core.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "yardstick.h"

enum { SLOTS = 8192, BATCH = 512, PACKETS = 1 << 22, TURNS = 100000 };

typedef struct packet {
    _Alignas(32) uint64_t lane[4];
} packet;

static packet slots[SLOTS];
static _Alignas(128) atomic_size_t written;
static _Alignas(128) atomic_size_t read_;
static _Alignas(128) atomic_int turn;

static void *writer(void *unused) {
    (void)unused;
    for (size_t at = 0; at < PACKETS; at += BATCH) {
        while (at + BATCH - atomic_load_explicit(&read_, memory_order_acquire) > SLOTS)
            sched_yield();
        for (size_t i = at; i < at + BATCH; i++)
            slots[i % SLOTS] = (packet){{i, i ^ 1, i ^ 2, i ^ 3}};
        atomic_store_explicit(&written, at + BATCH, memory_order_release);
    }
    return NULL;
}

static void *reader(void *out) {
    packet sum = {{0}};
    for (size_t at = 0; at < PACKETS; at += BATCH) {
        while (atomic_load_explicit(&written, memory_order_acquire) == at)
            sched_yield();
        for (size_t i = at; i < at + BATCH; i++)
            for (int lane = 0; lane < 4; lane++)
                sum.lane[lane] += slots[i % SLOTS].lane[lane];
        atomic_store_explicit(&read_, at + BATCH, memory_order_release);
    }
    *(packet *)out = sum;
    return NULL;
}

static double ring_rate(void) {
    pthread_t a, b;
    packet sum;
    atomic_store(&written, 0);
    atomic_store(&read_, 0);
    double start = now();
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, &sum);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    double seconds = now() - start;
    if (sum.lane[0] != (uint64_t)PACKETS / 2 * (PACKETS - 1))
        exit(1);
    return PACKETS / seconds;
}

static void *player(void *which) {
    int me = which != NULL;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    for (int i = 0; i < TURNS; i++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != me)
            sched_yield();
        atomic_store_explicit(&turn, !me, memory_order_release);
    }
    return NULL;
}

static double hand_over(void) {
    pthread_t a, b;
    atomic_store(&turn, 0);
    double start = now();
    pthread_create(&a, NULL, player, NULL);
    pthread_create(&b, NULL, player, &turn);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return (now() - start) / (2.0 * TURNS);
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 5;
    double rate = 0, turn_time = 1;
    for (int i = 0; i < samples; i++) {
        double r = ring_rate(), t = hand_over();
        rate = r > rate ? r : rate;
        turn_time = t < turn_time ? t : turn_time;
    }
    printf("{\"packets\": %.6e, \"hand_over\": %.6e}\n", rate, turn_time);
    return 0;
}
