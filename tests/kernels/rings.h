/* rings.h - rings in plain memory, and kernels as threads that use them. */
#ifndef RINGS_H
#define RINGS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hf_channel.h"

#include "check_kernel.h"

/** A ring for `depth` packets, exactly as long as its slots. */
static hf_ring *ring_new(size_t depth) {
    size_t slots = 1;
    while (slots < depth)
        slots *= 2;
    void *memory;
    size_t bytes = sizeof(hf_ring) + slots * sizeof(hf_packet);
    CHECK(posix_memalign(&memory, 4096, bytes) == 0, "no memory");
    hf_ring *ring = memory;
    memset(ring, 0, sizeof *ring);
    ring->depth = depth;
    ring->mask = slots - 1;
    ring->width = sizeof(hf_packet);
    return ring;
}

/** A kernel and the values that its arguments point at. */
typedef struct task {
    void (*call)(void *const *args, size_t items);
    void *args[20];
    pthread_t thread;
} task;

static void *task_run(void *context) {
    task *t = context;
    t->call(t->args, 1);
    return NULL;
}

static void tasks_start(task *tasks, size_t n) {
    for (size_t i = 0; i < n; i++)
        CHECK(pthread_create(&tasks[i].thread, NULL, task_run, &tasks[i]) == 0,
              "no thread");
}

static void tasks_join(task *tasks, size_t n) {
    for (size_t i = 0; i < n; i++)
        pthread_join(tasks[i].thread, NULL);
}

#endif
