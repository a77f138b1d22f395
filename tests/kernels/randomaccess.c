/* randomaccess.c - the kernels of RandomAccess as plain C against a naive reference.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/randomaccess.c [-DNDRANGE] [-DHF_RNG_COUNT_LOG=3] \
 *    [-DHF_BUFFER_SIZE_LOG=4]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef NDRANGE
#include "../../kernels/randomaccess_ndrange.cl"
#define KERNELS hf_kernels_randomaccess_ndrange
#define LOSSY   false
#else
#include "../../kernels/randomaccess_memory.cl"
#define KERNELS hf_kernels_randomaccess_memory
#define LOSSY   (HF_BUFFER_SIZE_LOG > 0)
#endif

#include "check_kernel.h"

enum { MAX_WORDS = 1 << 14, GUARD = 8, MAX_GENERATORS = 256 };

static uint64_t expected[MAX_WORDS];

/** Number k of the sequence by k steps, as HPC Challenge defines them. */
static uint64_t step(uint64_t x) {
    return (int64_t)x < 0 ? x * 2 ^ 7 : x * 2;
}

static void reference(uint64_t words) {
    for (uint64_t i = 0; i < words; i++)
        expected[i] = i;
    uint64_t x = 1;
    for (uint64_t i = 0; i < 4 * words; i++) {
        x = step(x);
        expected[x % words] ^= x;
    }
}

static void starts_fill(uint64_t *starts, uint64_t generators, uint64_t steps) {
    uint64_t x = step(1);
    for (uint64_t i = 0; i < generators * steps; i++, x = step(x))
        if (i % steps == 0)
            starts[i / steps] = x;
}

/** Each of `parts` kernels gets its part of the table; the number of wrong words. */
static uint64_t wrong_words(const hf_kernel_info *kernel, uint64_t words,
                            uint64_t parts, uint64_t generators, size_t items) {
    uint64_t wrong = 0, count = words / parts, steps = 4 * words / generators;
    uint64_t starts[MAX_GENERATORS], *from = starts;
    uint64_t *memory = malloc((count + 2 * GUARD) * sizeof *memory), *table;
    CHECK(memory, "no memory");
    table = memory + GUARD;
    starts_fill(starts, generators, steps);
    for (uint64_t part = 0; part < parts; part++) {
        uint64_t first = part * count;
        for (uint64_t i = 0; i < count + 2 * GUARD; i++)
            memory[i] = first + i - GUARD;
        void *args[] = {&table, &from, &words, &first, &count, &steps};
        kernel->call(args, items);
        for (uint64_t i = 0; i < count + 2 * GUARD; i++) {
            bool inside = i >= GUARD && i < count + GUARD;
            uint64_t is = inside ? expected[first + i - GUARD] : first + i - GUARD;
            CHECK(inside || memory[i] == is, "a word outside of the table changed");
            wrong += memory[i] != is;
        }
    }
    free(memory);
    return wrong;
}

static void comparison(const hf_kernel_info *kernel, uint64_t words, uint64_t parts,
                       uint64_t generators, size_t items) {
    uint64_t wrong = wrong_words(kernel, words, parts, generators, items);
    CHECK(LOSSY ? wrong > 0 && wrong < words / 2 : wrong == 0,
          "%s, %u words in %u parts, %zu items: %u wrong words", kernel->name,
          (unsigned)words, (unsigned)parts, items, (unsigned)wrong);
}

int main(void) {
    for (uint64_t words = 64; words <= MAX_WORDS; words *= 16)
        for (uint64_t parts = 1; parts <= 16; parts *= 4) {
            reference(words);
            comparison(&KERNELS[0], words, parts, HF_RNG_COUNT, 1);
#ifdef NDRANGE
            comparison(&KERNELS[0], words, parts, HF_RNG_COUNT, 3);
            comparison(&KERNELS[0], words, parts, HF_RNG_COUNT, 16);
            comparison(&KERNELS[1], words, parts, 1, 1);
            comparison(&KERNELS[1], words, parts, 64, 64);
#endif
        }
    return 0;
}
