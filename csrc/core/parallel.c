/* parallel.c - work of the host on all cores that this process may use. */
#include "core/parallel.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>

typedef struct task {
    void (*work)(void *context, size_t i);
    void *context;
    size_t i;
    pthread_t thread;
} task;

size_t hf_cores(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < HF_MAX_CORES ? (size_t)n : HF_MAX_CORES;
}

/* The C library gives a thread the limit of stacks, and 2 MiB where there is none. In emulation
 * local memory is on the stack of a thread of the runtime. */
enum { STACK_BYTES = 8 << 20 };

void hf_stacks_grow(void) {
#ifdef __GLIBC__
    pthread_attr_t usual;
    size_t bytes;
    if (pthread_getattr_default_np(&usual) != 0)
        return;
    if (pthread_attr_getstacksize(&usual, &bytes) == 0 && bytes < STACK_BYTES &&
        pthread_attr_setstacksize(&usual, STACK_BYTES) == 0)
        pthread_setattr_default_np(&usual);
    pthread_attr_destroy(&usual);
#endif
}

static void *task_run(void *context) {
    task *t = context;
    t->work(t->context, t->i);
    return NULL;
}

void hf_parallel(size_t n, void (*work)(void *context, size_t i), void *context) {
    task tasks[HF_MAX_CORES];
    size_t threads = 1;
    assert(n > 0 && n <= HF_MAX_CORES);
    for (size_t i = 0; i < n; i++)
        tasks[i] = (task){.work = work, .context = context, .i = i};
    while (threads < n &&
           pthread_create(&tasks[threads].thread, NULL, task_run, &tasks[threads]) == 0)
        threads++;
    task_run(&tasks[0]);
    for (size_t i = threads; i < n; i++)
        task_run(&tasks[i]);
    for (size_t i = 1; i < threads; i++)
        pthread_join(tasks[i].thread, NULL);
}
