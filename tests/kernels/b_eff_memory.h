/* b_eff_memory.h - what both tests of kernels/b_eff_memory.cl must find: ranks that exchange
 * windows of their chains one byte at a time, and a check through whatever runs the kernels. */
#ifndef B_EFF_MEMORY_H
#define B_EFF_MEMORY_H

#include <stddef.h>
#include <stdint.h>

static const uint32_t a_key = 0x12345;

/** What a check is told of a chain. */
typedef struct told {
    uint64_t bytes, message, steps;
    uint32_t slide, which, key;
    uint64_t own, from;
} told;

/** Runs the kernels with `items` work-items. `fill` writes a chain of `a_key`; `count` returns
 *  the wrong bytes that all work-items found together. */
typedef struct runner {
    void (*fill)(unsigned char *chain, size_t bytes, size_t items, uint32_t slide,
                 uint64_t stamp);
    uint64_t (*count)(const unsigned char *chain, const told *what, size_t items);
} runner;

/** All comparisons, for chains of 1 to 4 ranks. */
void comparisons(const runner *run);

#endif
