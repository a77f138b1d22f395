/* b_eff_memory.h - what both tests of kernels/b_eff_memory.cl must find: a naive
 * reference, and one comparison through whatever runs the kernels. */
#ifndef B_EFF_MEMORY_H
#define B_EFF_MEMORY_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b_eff_byte.h"
#include "check_kernel.h"

/** Runs the kernels with `items` work-items. `fill` writes a message, `count` returns
 *  the number of wrong bytes, summed over the work-items. */
typedef struct runner {
    void (*fill)(unsigned char *message, size_t bytes, size_t items, uint32_t key,
                 uint64_t stamp);
    uint64_t (*count)(const unsigned char *message, size_t bytes, size_t items,
                      uint32_t key, uint64_t stamp);
} runner;

/** One flipped bit in byte `i` is one wrong byte. */
static void flip(const runner *run, unsigned char *message, size_t bytes, size_t items,
                 uint32_t key, uint64_t stamp, size_t i) {
    message[i] ^= (unsigned char)(1u << i % 8);
    uint64_t wrong = run->count(message, bytes, items, key, stamp);
    CHECK(wrong == 1, "%zu B, %zu items: flipped bit in byte %zu: %" PRIu64 " wrong",
          bytes, items, i, wrong);
    message[i] ^= (unsigned char)(1u << i % 8);
}

static void comparison(const runner *run, size_t bytes, size_t items, uint32_t key,
                       uint64_t stamp) {
    unsigned char *message = malloc(bytes);
    CHECK(message, "no memory");
    memset(message, 0xA5, bytes);
    run->fill(message, bytes, items, key, stamp);
    for (size_t i = 0; i < bytes; i++)
        CHECK(message[i] == reference_byte(i, key, stamp),
              "%zu B, %zu items: byte %zu is %u, not %u", bytes, items, i, message[i],
              reference_byte(i, key, stamp));
    CHECK(run->count(message, bytes, items, key, stamp) == 0,
          "%zu B, %zu items: a right message is refused", bytes, items);

    size_t stride = bytes < 100 ? 1 : bytes / 61;
    for (size_t i = 0; i < bytes; i += stride)
        flip(run, message, bytes, items, key, stamp, i);
    flip(run, message, bytes, items, key, stamp, bytes - 1);

    for (size_t i = 0; i < bytes; i++)
        message[i] = (unsigned char)~message[i];
    CHECK(run->count(message, bytes, items, key, stamp) == bytes,
          "%zu B, %zu items: inverted message: not all bytes wrong", bytes, items);
    free(message);
}

/** Another key or stamp is caught in nearly every byte of a long message. */
static void comparison_of_others(const runner *run) {
    enum { BYTES = 4096 };
    unsigned char message[BYTES];
    run->fill(message, BYTES, 1, 7, 9);
    CHECK(run->count(message, BYTES, 1, 8, 9) > BYTES * 9 / 10, "another key passes");
    CHECK(run->count(message, BYTES, 1, 7, 0x0A0A0A0A0A0A0A0A) > BYTES * 9 / 10,
          "another stamp passes");
    CHECK(run->count(message + 8, BYTES - 8, 1, 7, 9) > BYTES * 9 / 10,
          "a shifted message passes");
}

static void comparisons(const runner *run) {
    static const size_t sizes[] = {1, 2, 3, 7, 8, 31, 32, 33, 1000, 65537};
    static const size_t items[] = {1, 2, 7, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
            comparison(run, sizes[s], items[i], 0, 0);
            comparison(run, sizes[s], items[i], 0xFFFFFFFF, 0x0123456789ABCDEF);
        }
    comparison_of_others(run);
}

#endif
