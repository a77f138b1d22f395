/* ptrans_tiles.h - C = B + A^T by tiles on threads, in plain C.
 *
 * Matrices of floats lie in memory block by block, as in ptrans: that is more than twice as
 * fast as whole rows, whose tiles compete for the same lines of a cache. The best of the tile
 * widths 8, 16 and 32 is TILE.
 */
#ifndef PTRANS_TILES_H
#define PTRANS_TILES_H

#include <pthread.h>
#include <stddef.h>

enum { BLOCK = 512, TILE = 8, MAX_THREADS = 256 };

typedef struct part {
    size_t width, first, last; /* in blocks: a row, and what this thread writes */
    const float *a, *b;
    float *c;
    pthread_t thread;
} part;

static void block_add(const float *restrict a, const float *restrict b,
                      float *restrict c) {
    for (size_t row = 0; row < BLOCK; row += TILE)
        for (size_t column = 0; column < BLOCK; column += TILE)
            for (size_t i = row; i < row + TILE; i++)
                for (size_t j = column; j < column + TILE; j++)
                    c[i * BLOCK + j] = b[i * BLOCK + j] + a[j * BLOCK + i];
}

static void *part_run(void *context) {
    const part *p = context;
    size_t size = (size_t)BLOCK * BLOCK;
    for (size_t k = p->first; k < p->last; k++) {
        size_t mirror = k % p->width * p->width + k / p->width;
        block_add(p->a + mirror * size, p->b + k * size, p->c + k * size);
    }
    return NULL;
}

/** C = B + A^T of n x n floats, n a multiple of BLOCK, on at most MAX_THREADS threads. */
static void tiles_add(size_t n, const float *a, const float *b, float *c,
                      size_t threads) {
    part parts[MAX_THREADS];
    size_t width = n / BLOCK, all = width * width;
    for (size_t t = 0; t < threads; t++) {
        parts[t] =
            (part){width, all * t / threads, all * (t + 1) / threads, a, b, c, 0};
        pthread_create(&parts[t].thread, NULL, part_run, &parts[t]);
    }
    for (size_t t = 0; t < threads; t++)
        pthread_join(parts[t].thread, NULL);
}

#endif
