/* ptrans_ndrange.cl - ptrans for host-routed schemes on CPUs and GPUs: many work-items.
 *
 * A work-group writes a strip of PTRANS_STRIP rows of a block of C, tile by tile. On CPUs it
 * is one work-item, which transposes in registers; on GPUs any number, through local memory.
 */
#include "ptrans_data.h"
#include "ptrans_strip.h"

#if defined(__x86_64__) || defined(__aarch64__)

enum { TILE = 16 };
#define ROW_OF(real) real##16
#define ROW(real)    ROW_OF(real)
typedef ROW(HF_REAL) tile_row;

/** Unrolled: rows stay in registers. PoCL's LLVM keeps loops of 16 trips, and rows in memory. */
#define EACH(i, n) _Pragma("unroll") for (uint i = 0; i < (n); i++)

/** Rows of B + A^T in a tile: four perfect shuffles of 16 rows are a transposition. The rows of
 *  the next tile are on their way meanwhile: too many for a CPU to see the pattern. */
static inline void tile_sum(HF_GLOBAL const HF_REAL *a, HF_GLOBAL const HF_REAL *b,
                            tile_row rows[TILE]) {
    tile_row mixed[TILE];
    EACH(i, TILE) {
        HF_PREFETCH_READ(a + (TILE + i) * HF_BLOCK);
        HF_PREFETCH_READ(b + i * HF_BLOCK + TILE);
        rows[i] = *(HF_GLOBAL const tile_row *)(a + i * HF_BLOCK);
    }
    EACH(round, 4) {
        EACH(i, TILE / 2) {
            mixed[2 * i].even = rows[i].lo;
            mixed[2 * i].odd = rows[i + TILE / 2].lo;
            mixed[2 * i + 1].even = rows[i].hi;
            mixed[2 * i + 1].odd = rows[i + TILE / 2].hi;
        }
        EACH(i, TILE) rows[i] = mixed[i];
    }
    EACH(i, TILE) rows[i] += *(HF_GLOBAL const tile_row *)(b + i * HF_BLOCK);
}

#define STORE_HERE(address, x)            \
    do {                                  \
        HF_PREFETCH_WRITE((address) + 1); \
        *(address) = (x);                 \
    } while (0)

/** All tiles of a strip, by one kind of store: LLVM turns two kinds in one loop into one. */
#define TILES_ADD(a, b, c, STORE)                                                 \
    for (uint i = 0; i < PTRANS_STRIP; i += TILE)                                 \
        for (uint j = 0; j < HF_BLOCK; j += TILE) {                               \
            tile_row rows[TILE];                                                  \
            tile_sum((a) + j * HF_BLOCK + i, (b) + i * HF_BLOCK + j, rows);       \
            EACH(r, TILE)                                                         \
            STORE((HF_GLOBAL tile_row *)((c) + (i + r) * HF_BLOCK + j), rows[r]); \
        }

/** The strip's part of C. */
#define STRIP_ADD(a, b, c, large)             \
    do {                                      \
        if (large)                            \
            TILES_ADD(a, b, c, HF_STORE_PAST) \
        else                                  \
            TILES_ADD(a, b, c, STORE_HERE)    \
    } while (0);

#else

enum { TILE = PTRANS_STRIP };

#define STRIP_ADD(a, b, c, large)                                                 \
    __local HF_REAL tile[TILE][TILE + 1];                                         \
    const uint item = (uint)get_local_id(0), items = (uint)get_local_size(0);     \
    for (uint j = 0; j < HF_BLOCK; j += TILE) {                                   \
        for (uint i = item; i < TILE * TILE; i += items)                          \
            tile[i / TILE][i % TILE] = (a)[(j + i / TILE) * HF_BLOCK + i % TILE]; \
        barrier(CLK_LOCAL_MEM_FENCE);                                             \
        for (uint i = item; i < TILE * TILE; i += items) {                        \
            const uint at = i / TILE * HF_BLOCK + j + i % TILE;                   \
            (c)[at] = (b)[at] + tile[i % TILE][i / TILE];                         \
        }                                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                             \
    }

#endif

/** As in ptrans_memory.cl; a work-group for each strip, and some that have none. */
HF_KERNEL(ptrans_add, HF_READ(HF_REAL, a), HF_READ(HF_REAL, b), HF_WRITE(HF_REAL, c),
          HF_READ(uint, sources), HF_VALUE(uint, first), HF_VALUE(uint, count)) {
    const uint strips = HF_BLOCK / PTRANS_STRIP, strip = (uint)get_group_id(0);
    const uint block = first + strip / strips, row = strip % strips * PTRANS_STRIP;
    if (strip / strips >= count)
        return;
    a += sources[block] * PTRANS_SIZE + row;
    b += block * PTRANS_SIZE + row * HF_BLOCK;
    c += block * PTRANS_SIZE + row * HF_BLOCK;
    STRIP_ADD(a, b, c, HF_LARGE(count * PTRANS_SIZE * HF_REAL_BYTES))
}
