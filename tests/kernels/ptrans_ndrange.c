/* ptrans_ndrange.c - the GPU's shape of kernels/ptrans_ndrange.cl as plain C: work-items as
 * threads that share local memory, against a naive reference. The CPU's shape has vectors
 * that C lacks; it runs in tests/python/test_ptrans.py.
 *
 * cc -std=c11 -fsanitize=address,undefined -pthread -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/ptrans_ndrange.c [-DHF_REAL=double]
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static _Thread_local size_t local_id, group_id;
static size_t local_size;
static pthread_barrier_t meeting;
#define get_local_id(dimension)   ((void)(dimension), (uint)local_id)
#define get_local_size(dimension) ((void)(dimension), (uint)local_size)
#define get_group_id(dimension)   ((void)(dimension), group_id)
#define barrier(fence)            pthread_barrier_wait(&meeting)
#define __local                   static

#undef __x86_64__
#undef __aarch64__
#define HF_BLOCK 64
#include "../../kernels/ptrans_ndrange.cl"

#include "check_kernel.h"

enum { BLOCK = 64, SIZE = BLOCK * BLOCK, BLOCKS = 5, FIRST = 1, COUNT = 3, MOST = 5 };

static HF_REAL a[BLOCKS * SIZE], b[BLOCKS * SIZE], c[BLOCKS * SIZE];
static const uint sources[BLOCKS] = {0, 3, 1, 4, 2};

/** One work-item of every group, one group after the other; some have nothing to do. */
static void *items_run(void *id) {
    local_id = *(size_t *)id;
    for (group_id = 0; group_id < BLOCKS * BLOCK / PTRANS_STRIP; group_id++)
        ptrans_add(a, b, c, sources, FIRST, COUNT);
    return NULL;
}

static void groups_check(size_t items) {
    pthread_t threads[MOST];
    size_t ids[MOST];
    for (size_t i = 0; i < BLOCKS * SIZE; i++) {
        a[i] = (HF_REAL)(i * 7 % 10007);
        b[i] = (HF_REAL)(i * 3 % 503);
        c[i] = -1;
    }
    local_size = items;
    CHECK(pthread_barrier_init(&meeting, NULL, (unsigned)items) == 0, "no barrier");
    for (size_t i = 0; i < items; i++) {
        ids[i] = i;
        CHECK(pthread_create(&threads[i], NULL, items_run, &ids[i]) == 0, "no thread");
    }
    for (size_t i = 0; i < items; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&meeting);
    for (size_t block = 0; block < BLOCKS; block++)
        for (size_t i = 0; i < BLOCK; i++)
            for (size_t j = 0; j < BLOCK; j++) {
                size_t at = block * SIZE + i * BLOCK + j;
                HF_REAL sum = b[at] + a[sources[block] * SIZE + j * BLOCK + i];
                bool written = block >= FIRST && block < FIRST + COUNT;
                CHECK(c[at] == (written ? sum : -1), "%zu items: block %zu at %zu, %zu",
                      items, block, i, j);
            }
}

int main(void) {
    (void)ptrans_fill_call, (void)ptrans_check_call;
    for (size_t items = 1; items <= MOST; items += 2)
        groups_check(items);
    return 0;
}
