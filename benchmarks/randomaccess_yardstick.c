/* randomaccess_yardstick.c - RandomAccess as a plain loop: the rate to compare with.
 *
 * cc -O3 -march=native -pthread -o randomaccess_yardstick benchmarks/randomaccess_yardstick.c
 * randomaccess_yardstick WORDS REPETITIONS THREADS [GENERATORS DISTANCE]
 *
 * Prints the best rate of all threads together [1/s]. Each thread makes its share of the 4
 * updates per word of one table; an update that two threads make at once may get lost, which
 * nobody looks at. With GENERATORS, one thread: they feed one update at a time through a
 * shift register, which they enter DISTANCE slots apart, as in randomaccess_memory.cl.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yardstick.h"

enum { MAX_THREADS = 256, MAX_GENERATORS = 256, MAX_SLOTS = 16384 };

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

/* A number that finds its slot taken waits; 0 is an empty slot. */
static void shifted(size_t n, size_t distance) {
    uint64_t numbers[MAX_GENERATORS], left[MAX_GENERATORS], slots[MAX_SLOTS] = {0};
    size_t n_slots = (n - 1) * distance + 1;
    for (size_t r = 0; r < n; r++) {
        left[r] = 4 * words / n;
        numbers[r] = number(1 + r * left[r]);
    }
    for (uint64_t applied = 0; applied < 4 * words;) {
        memmove(slots, slots + 1, (n_slots - 1) * sizeof *slots);
        slots[n_slots - 1] = 0;
        for (size_t r = 0; r < n; r++)
            if (left[r] > 0 && !slots[r * distance]) {
                slots[r * distance] = numbers[r];
                numbers[r] = next(numbers[r]);
                left[r]--;
            }
        if (slots[0]) {
            table[slots[0] & (words - 1)] ^= slots[0];
            applied++;
        }
    }
}

int main(int argc, char **argv) {
    uint64_t starts[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    int reps = argc > 3 ? atoi(argv[2]) : 0, n = argc > 3 ? atoi(argv[3]) : 0;
    size_t generators = argc > 5 ? strtoull(argv[4], NULL, 10) : 0;
    size_t distance = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
    words = argc > 3 ? strtoull(argv[1], NULL, 10) : 0;
    table = malloc(words * sizeof *table);
    if (words < 2 || words & (words - 1) || reps < 1 || n < 1 || n > MAX_THREADS ||
        generators > MAX_GENERATORS || distance < 1 || distance > 64 || !table) {
        fprintf(stderr,
                "usage: %s WORDS REPETITIONS THREADS [GENERATORS DISTANCE], a power of "
                "two first\n",
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
        for (int i = 1; i < n && !generators; i++)
            if (pthread_create(&threads[i], NULL, share, &starts[i]) != 0)
                return 1;
        if (generators)
            shifted(generators, distance);
        else
            share(&starts[0]);
        for (int i = 1; i < n && !generators; i++)
            pthread_join(threads[i], NULL);
        double rate = (double)updates * n / (now() - start);
        best = rate > best ? rate : best;
    }
    printf("%.6e\n", best);
    free(table);
    return 0;
}
