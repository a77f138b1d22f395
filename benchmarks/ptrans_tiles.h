/* ptrans_tiles.h - C = B + A^T by tiles on threads, in plain C.
 *
 * Matrices of floats are row-major. The best of the tile widths that were tried is TILE.
 */
#ifndef PTRANS_TILES_H
#define PTRANS_TILES_H

#include <pthread.h>
#include <stddef.h>

#ifndef TILE
#define TILE 16
#endif

enum { MOST_THREADS = 256 };

typedef struct part {
    size_t n, first, last; /* rows of tiles */
    const float *a, *b;
    float *c;
    pthread_t thread;
} part;

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

/** C = B + A^T of n x n floats on as many threads, MOST_THREADS at most. */
static void tiles_add(size_t n, const float *a, const float *b, float *c,
                      size_t threads) {
    part parts[MOST_THREADS];
    size_t tiles = (n + TILE - 1) / TILE;
    for (size_t t = 0; t < threads; t++) {
        parts[t] =
            (part){n, tiles * t / threads, tiles * (t + 1) / threads, a, b, c, 0};
        pthread_create(&parts[t].thread, NULL, part_run, &parts[t]);
    }
    for (size_t t = 0; t < threads; t++)
        pthread_join(parts[t].thread, NULL);
}

#endif
