/* linpack_stream.c - kernels/linpack_stream.cl as plain C: kernels in threads, joined by rings
 * that stay from launch to launch.
 *
 * cc -std=c11 -fsanitize=address,undefined -pthread -Icsrc -Ikernels \
 *    tests/kernels/linpack_stream.c [-DHF_CHANNEL_WIDTH=8] [-DHF_REAL=double] -lm
 */
#include <math.h>
#include <stdbool.h>

#include "rings.h"

#define HF_BLOCK 32
#include "../../kernels/linpack_stream.cl"

enum {
    BLOCK = 32,
    WIDTH = 3,
    SIDE = WIDTH * BLOCK,
    SIZE = BLOCK * BLOCK,
    PACKETS = BLOCK * LINPACK_CHUNKS, /* of a block */
    VECTOR = BLOCK / HF_PACKET_WORDS, /* of a block of a vector */
    N_RINGS = 13,
};

/* The rings of a device: its inner channels, then what leaves it, and what comes. */
enum { FACTORED, LOWER, UPPER, LEFTS, TOPS, RIGHT, DOWN, LEFT, UP };
enum { FROM_LEFT = UP + 1, FROM_ABOVE, FROM_RIGHT, FROM_BELOW };

static hf_ring *rings[N_RINGS];
static HF_REAL *a, *left, *top;
static double matrix[SIDE][SIDE];

static void *room(size_t bytes) {
    void *memory;
    CHECK(posix_memalign(&memory, 128, bytes) == 0, "no memory");
    memset(memory, 0xFF, bytes); /* NaN */
    return memory;
}

static void rings_make(size_t depth) {
    for (int i = 0; i < N_RINGS; i++)
        rings[i] = ring_new(depth);
}

static void rings_free(void) {
    for (int i = 0; i < N_RINGS; i++) {
        CHECK(rings[i]->writer.moved == rings[i]->reader.moved,
              "ring %d: packets that nobody wants", i);
        free(rings[i]);
    }
}

/* ---- a factorisation by one device ---- */

static double value_of(size_t i, size_t j) {
    return i == j ? SIDE / 2.0 : (double)((i * 37 + j * 61) % 97) / 97 - 0.5;
}

static HF_REAL *element(size_t i, size_t j) {
    return &a[(i / BLOCK * WIDTH + j / BLOCK) * SIZE + i % BLOCK * BLOCK + j % BLOCK];
}

static void matrix_fill(void) {
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            *element(i, j) = (HF_REAL)value_of(i, j);
            matrix[i][j] = (double)*element(i, j);
        }
    for (size_t k = 0; k < SIDE; k++)
        for (size_t i = k + 1; i < SIDE; i++) {
            matrix[i][k] /= matrix[k][k];
            for (size_t j = k + 1; j < SIDE; j++)
                matrix[i][j] -= matrix[i][k] * matrix[k][j];
        }
}

static void matrix_check(void) {
    const double roundoff = sizeof(HF_REAL) == 4 ? 0x1p-24 : 0x1p-53;
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            CHECK(fabs((double)*element(i, j) - matrix[i][j]) <=
                      16 * roundoff * (i > j ? 1 : SIDE),
                  "(%zu, %zu): %g, not %g", i, j, (double)*element(i, j), matrix[i][j]);
}

/* Iteration `k`: what its panels keep are the blocks beside and below the diagonal. */
static void iterate(uint k) {
    uint block = k * WIDTH + k, next = k + 1, end = WIDTH, columns = WIDTH;
    uint more = next < WIDTH;
    uint ways = LINPACK_MADE_HERE | (more ? LINPACK_TO_TOP | LINPACK_TO_LEFT : 0);
    uint keep = LINPACK_MADE_HERE | LINPACK_TO_MEMORY;
    ulong at = (ulong)next * PACKETS, zero = 0,
          packets = (ulong)(WIDTH - next) * PACKETS;
    task tasks[] = {
        {.call = linpack_lu_call, .args = {&a, &block, &rings[FACTORED]}},
        {.call = linpack_network_call,
         .args = {&ways, &rings[FACTORED], &rings[FROM_LEFT], &rings[FROM_ABOVE],
                  &rings[RIGHT], &rings[DOWN], &rings[LOWER], &rings[UPPER]}},
        {.call = linpack_left_call,
         .args = {&a, &next, &end, &k, &columns, &rings[UPPER], &rings[LEFTS]}},
        {.call = linpack_top_call,
         .args = {&a, &next, &end, &k, &columns, &rings[LOWER], &rings[TOPS]}},
        {.call = linpack_network_left_call,
         .args = {&left, &top, &at, &zero, &packets, &keep, &rings[LEFTS],
                  &rings[FROM_RIGHT], &rings[LEFT]}},
        {.call = linpack_network_top_call,
         .args = {&top, &left, &at, &zero, &packets, &keep, &rings[TOPS],
                  &rings[FROM_BELOW], &rings[UP]}},
    };
    tasks_start(tasks, more ? 6 : 2);
    tasks_join(tasks, more ? 6 : 2);
    for (uint i = next; i < WIDTH; i++)
        CHECK(memcmp(&left[i * SIZE], element(i * BLOCK, k * BLOCK),
                     SIZE * sizeof *a) == 0 &&
                  memcmp(&top[i * SIZE], element(k * BLOCK, i * BLOCK),
                         SIZE * sizeof *a) == 0,
              "iteration %u: panels of block %u", k, i);
    linpack_inner(a, left, top, next, WIDTH, next, WIDTH, WIDTH);
}

static void factor_test(size_t depth) {
    rings_make(depth);
    matrix_fill();
    for (uint k = 0; k < WIDTH; k++)
        iterate(k);
    matrix_check();
    rings_free();
}

/* ---- the networks, on the way through a device ---- */

static uint64_t number(size_t packet, size_t word) {
    return packet * 1000003 + word * 97 + 5;
}

static void packets_put(hf_ring *ring, size_t packets) {
    for (size_t n = 0; n < packets; n++) {
        hf_packet *slot = (hf_packet *)(ring + 1) + (ring->writer.moved & ring->mask);
        for (size_t w = 0; w < HF_PACKET_WORDS; w++)
            slot->word[w] = number(n, w);
        ring->writer.at = ++ring->writer.moved;
    }
}

static void packets_get(hf_ring *ring, size_t packets, const char *what) {
    CHECK(ring->writer.moved == packets, "%s: %llu packets, not %zu", what,
          (unsigned long long)ring->writer.moved, packets);
    for (size_t n = 0; n < packets; n++)
        for (size_t w = 0; w < HF_PACKET_WORDS; w++)
            CHECK(((hf_packet *)(ring + 1))[n].word[w] == number(n, w),
                  "%s: packet %zu", what, n);
    ring->reader.moved = packets;
}

/* L comes from the left and U from above, as many packets as the triangles take; each goes on to
 * where it is told. */
static void network_test(void) {
    size_t triangle = 0;
    for (size_t i = 0; i < BLOCK; i++)
        triangle += i / LINPACK_LANES + 1;
    for (uint ways = 0; ways < 16; ways++) {
        uint down = ways & 1, passes = ways & 2, keeps = ways & 4, made = ways & 8;
        uint told = made   ? LINPACK_MADE_HERE
                    : down ? LINPACK_FROM_ABOVE
                           : LINPACK_FROM_LEFT;
        rings_make(2 * PACKETS);
        told |= passes ? down ? LINPACK_TO_BELOW : LINPACK_TO_RIGHT : 0;
        told |= keeps ? down ? LINPACK_TO_LEFT : LINPACK_TO_TOP : 0;
        hf_ring *from = rings[made ? FACTORED : down ? FROM_ABOVE : FROM_LEFT];
        packets_put(from, made ? PACKETS : triangle);
        linpack_network_call((void *[]){&told, &rings[FACTORED], &rings[FROM_LEFT],
                                        &rings[FROM_ABOVE], &rings[RIGHT], &rings[DOWN],
                                        &rings[LOWER], &rings[UPPER]},
                             1);
        CHECK(from->reader.moved == from->writer.moved, "ways %u: packets left", told);
        for (int i = 0; i < 2; i++) {
            hf_ring *out = rings[i ? down ? UPPER : LOWER : down ? DOWN : RIGHT];
            size_t sent = (i ? keeps : passes) ? triangle : 0;
            if (made) {
                CHECK(out->writer.moved == sent, "ways %u: packets sent", told);
                out->reader.moved = sent;
            } else {
                packets_get(out, sent, "the network");
            }
        }
        rings_free();
    }
}

/* Sums of three devices, added up on the way; the last keeps what comes, at a place of its
 * own. */
static void sums_test(void) {
    enum { DEVICES = 3, BLOCKS = 2 };
    static const uint ways[DEVICES] = {LINPACK_FROM_MEMORY | LINPACK_TO_NEXT,
                                       LINPACK_FROM_BEFORE | LINPACK_FROM_MEMORY |
                                           LINPACK_TO_NEXT,
                                       LINPACK_FROM_BEFORE | LINPACK_TO_MEMORY};
    hf_ring *way[DEVICES + 1], *made = ring_new(1);
    double *own = room((BLOCKS + 1) * BLOCK * sizeof *own);
    double *kept = room((BLOCKS + 2) * BLOCK * sizeof *kept), nothing = kept[0];
    ulong kept_at = 2 * VECTOR, own_at = VECTOR, packets = BLOCKS * VECTOR;
    for (size_t i = 0; i < (BLOCKS + 1) * BLOCK; i++)
        own[i] = (double)i;
    for (size_t d = 0; d <= DEVICES; d++)
        way[d] = ring_new(BLOCKS * BLOCK);
    for (size_t d = 0; d < DEVICES; d++)
        (d == 1 ? linpack_network_top_call : linpack_network_left_call)(
            (void *[]){&kept, &own, &kept_at, &own_at, &packets, (void *)&ways[d],
                       &made, &way[d], &way[d + 1]},
            1);
    for (size_t i = 0; i < (BLOCKS + 2) * BLOCK; i++) {
        bool told = i >= 2 * BLOCK;
        double right = told ? 2 * (double)(i - BLOCK) : nothing;
        CHECK(memcmp(&kept[i], &right, sizeof right) == 0, "sum %zu is %g, not %g", i,
              kept[i], right);
    }
    for (size_t d = 0; d <= DEVICES; d++) {
        CHECK(way[d]->writer.moved == (d > 0 && d < DEVICES ? packets : 0), "way %zu",
              d);
        free(way[d]);
    }
    free(made);
    free(own);
    free(kept);
}

int main(void) {
    a = room(WIDTH * WIDTH * SIZE * sizeof *a);
    left = room(WIDTH * SIZE * sizeof *left);
    top = room(WIDTH * SIZE * sizeof *top);
    factor_test(1);
    factor_test(16);
    network_test();
    sums_test();
    free(a);
    free(left);
    free(top);
    return 0;
}
