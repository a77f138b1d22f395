/* randomaccess_yardstick.c - RandomAccess as a plain loop: the rate to compare with.
 *
 * cc -O3 -march=native -pthread -o randomaccess_yardstick benchmarks/randomaccess_yardstick.c
 * randomaccess_yardstick WORDS REPETITIONS THREADS
 *
 * Prints the best rate of all threads together [1/s]. Each thread makes its share of the 4
 * updates per word of one table; an update that two threads make at once may get lost, which
 * nobody looks at.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_THREADS = 256 };

static uint64_t words, updates; /* of the table, of a thread */
static uint64_t *table;

static uint64_t next(uint64_t x) {
    return (x << 1) ^ ((x >> 63) * 7);
}

/* Number k: each bit of k squares, x -> x * x in the field, and may step once. */
static uint64_t number(uint64_t k) {
    uint64_t x = 1;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t square = 0, y = 1;
        for (int i = 0; i < 64; i++, y = next(next(y)))
            square ^= (x >> i & 1) * y;
        x = k >> bit & 1 ? next(square) : square;
    }
    return x;
}

static void *share(void *context) {
    uint64_t x = *(const uint64_t *)context, mask = words - 1;
    for (uint64_t i = 0; i < updates; i++) {
        table[x & mask] ^= x;
        x = next(x);
    }
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    uint64_t starts[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    int reps = argc == 4 ? atoi(argv[2]) : 0, n = argc == 4 ? atoi(argv[3]) : 0;
    words = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
    table = malloc(words * sizeof *table);
    if (words < 2 || words & (words - 1) || reps < 1 || n < 1 || n > MOST_THREADS ||
        !table) {
        fprintf(stderr, "usage: %s WORDS REPETITIONS THREADS, a power of two first\n",
                argv[0]);
        return 2;
    }
    updates = 4 * words / (uint64_t)n;
    for (int i = 0; i < n; i++)
        starts[i] = number(1 + (uint64_t)i * updates);
    for (uint64_t i = 0; i < words; i++)
        table[i] = i;
    double best = 0;
    for (int rep = 0; rep < reps; rep++) {
        double start = now();
        for (int i = 1; i < n; i++)
            if (pthread_create(&threads[i], NULL, share, &starts[i]) != 0)
                return 1;
        share(&starts[0]);
        for (int i = 1; i < n; i++)
            pthread_join(threads[i], NULL);
        double rate = (double)updates * n / (now() - start);
        best = rate > best ? rate : best;
    }
    printf("%.6e\n", best);
    free(table);
    return 0;
}
