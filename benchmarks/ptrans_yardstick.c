/* ptrans_yardstick.c - C = B + A^T by tiles on threads: the yardstick of ptrans's kernels.
 *
 * ptrans_yardstick SIZE REPETITIONS THREADS prints the best rate [FLOP/s]: SIZE^2 additions
 * of floats in row-major matrices. The best of the tile widths that were tried is TILE.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef TILE
#define TILE 64
#endif

typedef struct part {
    size_t n, first, last; /* rows of tiles */
    const float *a, *b;
    float *c;
    pthread_t thread;
} part;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tile_add(const part *p, size_t row, size_t column) {
    size_t n = p->n;
    size_t rows = row + TILE < n ? row + TILE : n;
    size_t columns = column + TILE < n ? column + TILE : n;
    for (size_t i = row; i < rows; i++)
        for (size_t j = column; j < columns; j++)
            p->c[i * n + j] = p->b[i * n + j] + p->a[j * n + i];
}

static void *part_run(void *context) {
    const part *p = context;
    for (size_t row = p->first * TILE; row < p->last * TILE && row < p->n; row += TILE)
        for (size_t column = 0; column < p->n; column += TILE)
            tile_add(p, row, column);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return fprintf(stderr, "usage: %s SIZE REPETITIONS THREADS\n", argv[0]), 1;
    size_t n = strtoul(argv[1], NULL, 10), threads = strtoul(argv[3], NULL, 10);
    long reps = strtol(argv[2], NULL, 10);
    float *a = aligned_alloc(4096, (n * n * sizeof *a + 4095) / 4096 * 4096);
    float *b = aligned_alloc(4096, (n * n * sizeof *b + 4095) / 4096 * 4096);
    float *c = aligned_alloc(4096, (n * n * sizeof *c + 4095) / 4096 * 4096);
    part *parts = calloc(threads, sizeof *parts);
    if (!a || !b || !c || !parts)
        return fprintf(stderr, "no memory\n"), 1;
    for (size_t i = 0; i < n * n; i++) {
        a[i] = (float)(i % 1021);
        b[i] = (float)(i % 509);
        c[i] = 0;
    }
    double best = 1e30;
    size_t tiles = (n + TILE - 1) / TILE;
    for (long r = 0; r < reps; r++) {
        double start = now();
        for (size_t t = 0; t < threads; t++) {
            parts[t] =
                (part){n, tiles * t / threads, tiles * (t + 1) / threads, a, b, c, 0};
            pthread_create(&parts[t].thread, NULL, part_run, &parts[t]);
        }
        for (size_t t = 0; t < threads; t++)
            pthread_join(parts[t].thread, NULL);
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    for (size_t i = 0; i < n; i += 97)
        for (size_t j = 0; j < n; j += 89)
            if (c[i * n + j] != b[i * n + j] + a[j * n + i])
                return fprintf(stderr, "wrong at %zu, %zu\n", i, j), 1;
    printf("%.6e\n", (double)n * (double)n / best);
    return 0;
}
