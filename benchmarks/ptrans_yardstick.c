/* ptrans_yardstick.c - C = B + A^T by tiles on threads: the yardstick of ptrans's kernels.
 *
 * ptrans_yardstick SIZE REPETITIONS THREADS prints the best rate [FLOP/s]: SIZE^2 additions
 * of floats; SIZE is a multiple of BLOCK.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ptrans_tiles.h"
#include "yardstick.h"

/* Where element (row, column) lies. */
static size_t element_at(size_t n, size_t row, size_t column) {
    size_t block = row / BLOCK * (n / BLOCK) + column / BLOCK;
    return (block * BLOCK + row % BLOCK) * BLOCK + column % BLOCK;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return fprintf(stderr, "usage: %s SIZE REPETITIONS THREADS\n", argv[0]), 1;
    size_t n = strtoul(argv[1], NULL, 10), threads = strtoul(argv[3], NULL, 10);
    long reps = strtol(argv[2], NULL, 10);
    if (n % BLOCK != 0 || threads > MAX_THREADS)
        return fprintf(stderr, "%zu: no multiple of %d, or over %d threads\n", n, BLOCK,
                       MAX_THREADS),
               1;
    float *a = aligned_alloc(4096, (n * n * sizeof *a + 4095) / 4096 * 4096);
    float *b = aligned_alloc(4096, (n * n * sizeof *b + 4095) / 4096 * 4096);
    float *c = aligned_alloc(4096, (n * n * sizeof *c + 4095) / 4096 * 4096);
    if (!a || !b || !c)
        return fprintf(stderr, "no memory\n"), 1;
    for (size_t i = 0; i < n * n; i++) {
        a[i] = (float)(i % 1021);
        b[i] = (float)(i % 509);
        c[i] = 0;
    }
    double best = 1e30;
    for (long r = 0; r < reps; r++) {
        double start = now();
        tiles_add(n, a, b, c, threads);
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    for (size_t i = 0; i < n; i += 97)
        for (size_t j = 0; j < n; j += 89)
            if (c[element_at(n, i, j)] !=
                b[element_at(n, i, j)] + a[element_at(n, j, i)])
                return fprintf(stderr, "wrong at %zu, %zu\n", i, j), 1;
    printf("%.6e\n", (double)n * (double)n / best);
    return 0;
}
