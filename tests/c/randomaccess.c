/* randomaccess.c - the hosts' own run of RandomAccess finds every fault, and no other. */
#include "randomaccess.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { WORDS = 1 << 18, STAMP = 12345 };

static uint64_t sequence[4 * WORDS];

/** HPC Challenge's definition, one step after the other. */
static uint64_t step(uint64_t x) {
    return (int64_t)x < 0 ? x * 2 ^ 7 : x * 2;
}

static void sequence_fill(void) {
    uint64_t x = 1;
    for (size_t i = 0; i < 4 * WORDS; i++)
        sequence[i] = x = step(x);
}

static void jumps(void) {
    CHECK(randomaccess_number(0) == 1);
    for (uint64_t k = 1; k <= 4 * WORDS; k += k < 200 ? 1 : 977)
        CHECK(randomaccess_number(k) == sequence[k - 1], "number %u", (unsigned)k);
    /* Far out: one jump is two, and the sequence has no shorter period. */
    uint64_t far = UINT64_C(1) << 60, x = randomaccess_number(far);
    CHECK(randomaccess_number(far + 1) == step(x));
    CHECK(x != 1);
    CHECK(randomaccess_number(UINT64_MAX) != 0);
}

/** A part of a table of `words` after its updates, in `n_tables` pieces of `memory`. */
static randomaccess_part updated(uint64_t *memory, uint64_t words, size_t n_ranks,
                                 size_t rank, size_t n_tables) {
    uint64_t count = words / n_ranks;
    randomaccess_part part = {
        .n_tables = n_tables, .words = words, .first = rank * count, .count = count};
    for (size_t i = 0; i < n_tables; i++)
        part.tables[i] = memory + i * (count / n_tables);
    randomaccess_fill(&part, STAMP);
    for (uint64_t i = 0; i < 4 * words; i++) {
        uint64_t at = sequence[i] % words;
        if (at / count == rank)
            memory[at % count] ^= sequence[i];
    }
    return part;
}

static uint64_t wrong_words(randomaccess_check *check, const randomaccess_part *part) {
    return randomaccess_check_run(check, part, STAMP);
}

/** Nothing is wrong, at any size and in any part; a bit flipped in any piece is. */
static void parts_of_all_sizes(uint64_t *memory) {
    for (uint64_t words = 64; words <= WORDS; words *= 8)
        for (size_t ranks = 1; ranks <= 16; ranks *= 4)
            for (size_t tables = 1; tables <= 4; tables *= 2) {
                randomaccess_check *check;
                size_t rank = words / 64 % ranks;
                CHECK(randomaccess_check_new(&check, words / ranks) == HF_OK);
                randomaccess_part part = updated(memory, words, ranks, rank, tables);
                CHECK(wrong_words(check, &part) == 0, "%u words, part %zu of %zu",
                      (unsigned)words, rank, ranks);
                part = updated(memory, words, ranks, rank, tables);
                memory[part.count - 1] ^= UINT64_C(1) << 63;
                CHECK(wrong_words(check, &part) == 1);
                randomaccess_check_free(check);
            }
}

static void faults(uint64_t *memory) {
    randomaccess_check *check;
    CHECK(randomaccess_check_new(&check, WORDS) == HF_OK);
    randomaccess_part part = updated(memory, WORDS, 1, 0, 1);
    memory[sequence[777777] % WORDS] ^= sequence[777777];
    CHECK(wrong_words(check, &part) == 1, "one lost update in a million");

    part = updated(memory, WORDS, 1, 0, 1);
    for (size_t i = 0; i < 512; i++) {
        uint64_t word = memory[i];
        memory[i] = memory[WORDS / 2 + i];
        memory[WORDS / 2 + i] = word;
    }
    CHECK(wrong_words(check, &part) == 1024, "two blocks changed places");

    part = updated(memory, WORDS, 1, 0, 1);
    for (size_t i = 0; i < WORDS; i++)
        memory[i] ^= STAMP ^ (STAMP + 1);
    CHECK(wrong_words(check, &part) == WORDS, "the table of another sample");

    randomaccess_fill(&part, STAMP);
    CHECK(wrong_words(check, &part) > WORDS / 2, "no updates at all");
    randomaccess_check_free(check);
    randomaccess_check_free(NULL);
}

int main(void) {
    static uint64_t memory[WORDS];
    sequence_fill();
    jumps();
    parts_of_all_sizes(memory);
    faults(memory);
    return check_failures != 0;
}
