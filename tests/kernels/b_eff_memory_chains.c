/* b_eff_memory_chains.c - the comparisons of b_eff_memory.h. */
#include "b_eff_memory.h"

#include <stdlib.h>
#include <string.h>

#include "b_eff_byte.h"
#include "check_kernel.h"

enum { N_CHAINS = 2, MAX_RANKS = 4 };

/** Of chain `chain` of a rank: in every byte another one. */
static uint64_t stamp_of(int rank, int chain) {
    return 0x0101010101010101 * (uint64_t)(1 + 2 * rank + chain) + 0x8877665544332211;
}

/* The chains of all ranks: [ranks, N_CHAINS, bytes]. */
typedef struct ring {
    int ranks;
    uint32_t slide;
    size_t message, steps, bytes;
    unsigned char *chains;
} ring;

static unsigned char *chain_of(const ring *r, int rank, int chain) {
    return r->chains + ((size_t)rank * N_CHAINS + (size_t)chain) * r->bytes;
}

/** What goes wrong at rank 0, in a step: it does not arrive, or a byte of it; or from there on
 *  nothing but as many last bytes as are new in a step, or all but these. NEVER: in none. */
typedef struct wrong {
    size_t lost, hit, head, tail;
} wrong;

static const size_t NEVER = SIZE_MAX;

/** Steps go to the right and to the left in turn. */
static void ring_run(ring *r, const runner *run, size_t items, wrong w) {
    for (int rank = 0; rank < r->ranks; rank++)
        for (int chain = 0; chain < N_CHAINS; chain++)
            run->fill(chain_of(r, rank, chain), r->bytes, items, r->slide,
                      stamp_of(rank, chain));
    unsigned char *before = malloc((size_t)r->ranks * N_CHAINS * r->bytes);
    CHECK(before, "no memory");
    for (size_t k = 0; k < r->steps; k++) {
        int right = k % 2 == 0, from = (int)(k % 2);
        size_t at = (k + 1) << r->slide, hop = (size_t)1 << (r->slide - 1);
        size_t part = r->message > 2 * hop ? r->message - 2 * hop : r->message / 2;
        const unsigned char *sent;
        memcpy(before, r->chains, (size_t)r->ranks * N_CHAINS * r->bytes);
        for (int rank = 0; rank < r->ranks; rank++) {
            int sender = (rank + (right ? -1 : 1) + r->ranks) % r->ranks;
            unsigned char *got = chain_of(r, rank, 1 - from) + at + hop;
            sent = before + ((size_t)sender * N_CHAINS + (size_t)from) * r->bytes + at;
            if (k == w.lost && rank == 0)
                continue;
            for (size_t i = 0; i < r->message; i++)
                if (rank > 0 || ((k < w.head || i >= part) && (k < w.tail || i < part)))
                    got[i] = sent[i];
            if (k == w.hit && rank == 0)
                got[r->message / 2] ^= 1;
        }
    }
    free(before);
}

/** What is right of a chain of a rank. */
static told told_of(const ring *r, int rank, int chain) {
    int sender = (rank + (chain ? r->ranks - 1 : 1)) % r->ranks;
    return (told){r->bytes,
                  r->message,
                  r->steps,
                  r->slide,
                  (uint32_t)chain,
                  a_key,
                  stamp_of(rank, chain),
                  stamp_of(sender, 1 - chain)};
}

/** Wrong bytes of all ranks and chains. */
static uint64_t ring_count(const ring *r, const runner *run, size_t items) {
    uint64_t wrong = 0;
    for (int rank = 0; rank < r->ranks; rank++)
        for (int chain = 0; chain < N_CHAINS; chain++) {
            told what = told_of(r, rank, chain);
            wrong += run->count(chain_of(r, rank, chain), &what, items);
        }
    return wrong;
}

/** A check that is told something wrong finds a right chain wrong: it uses all that it is told. */
static void comparison_of_told(const ring *r, const runner *run) {
    for (int chain = 0; chain < N_CHAINS; chain++) {
        told others[6];
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            others[i] = told_of(r, 0, chain);
        others[0].message =
            r->message > 1 ? r->message / 2 : 1 + ((size_t)1 << r->slide);
        others[1].steps /= 2;
        others[2].slide /= 2;
        others[3].which ^= 1;
        others[4].own /= 2;
        others[5].from /= 2;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            CHECK(run->count(chain_of(r, 0, chain), &others[i], 1) > 0,
                  "%zu B, slide %u: chain %d passes though told %zu is another",
                  r->message, r->slide, chain, i);
    }
}

/** A right run has no wrong byte; a lost step or a damaged byte is seen. */
static void comparison(const runner *run, int ranks, uint32_t slide, size_t message,
                       size_t steps, size_t items) {
    ring r = {ranks, slide, message, steps, message + ((steps + 2) << slide), NULL};
    r.chains = malloc((size_t)ranks * N_CHAINS * r.bytes);
    CHECK(r.chains, "no memory");
    ring_run(&r, run, items, (wrong){NEVER, NEVER, NEVER, NEVER});
    CHECK(ring_count(&r, run, items) == 0,
          "%d ranks, %zu B, %zu steps, slide %u, %zu items: refused", ranks, message,
          steps, slide, items);
    if (steps > 2) /* the second step ends in one of the chains alone */
        comparison_of_told(&r, run);
    for (size_t k = 0; k < steps; k += 1 + steps / 5) {
        ring_run(&r, run, items, (wrong){k, NEVER, NEVER, NEVER});
        CHECK(ring_count(&r, run, items) > 0,
              "%d ranks, %zu B, slide %u: step %zu of %zu is lost", ranks, message,
              slide, k, steps);
        ring_run(&r, run, items, (wrong){NEVER, k, NEVER, NEVER});
        CHECK(ring_count(&r, run, items) > 0,
              "%d ranks, %zu B, slide %u: step %zu of %zu is damaged", ranks, message,
              slide, k, steps);
        ring_run(&r, run, items, (wrong){NEVER, NEVER, k, NEVER});
        CHECK(message < 2 || ring_count(&r, run, items) > 0,
              "%d ranks, %zu B, slide %u: step %zu of %zu and later ones bring the end",
              ranks, message, slide, k, steps);
        ring_run(&r, run, items, (wrong){NEVER, NEVER, NEVER, k});
        CHECK(ring_count(&r, run, items) > 0,
              "%d ranks, %zu B, slide %u: step %zu of %zu and later ones lack the end",
              ranks, message, slide, k, steps);
    }
    free(r.chains);
}

/** Each byte of a chain is the reference's, and counts when it is wrong. */
static void bytes_comparison(const runner *run, uint32_t slide, size_t bytes,
                             size_t items) {
    unsigned char *chain = malloc(bytes);
    CHECK(chain, "no memory");
    memset(chain, 0xA5, bytes);
    run->fill(chain, bytes, items, slide, stamp_of(1, 0));
    for (size_t i = 0; i < bytes; i++)
        CHECK(chain[i] ==
                  reference_byte(i, (uint64_t)1 << slide, a_key, stamp_of(1, 0)),
              "%zu B, %zu items: byte %zu", bytes, items, i);
    told what = {bytes, bytes, 0, slide, 0, a_key, stamp_of(1, 0), 0};
    CHECK(run->count(chain, &what, items) == 0, "%zu B, %zu items", bytes, items);
    for (size_t i = 0; i < bytes; i += 1 + bytes / 61) {
        chain[i] ^= (unsigned char)(1u << i % 8);
        CHECK(run->count(chain, &what, items) == 1, "%zu B: flipped byte %zu", bytes,
              i);
        chain[i] ^= (unsigned char)(1u << i % 8);
    }
    for (size_t i = 0; i < bytes; i++)
        chain[i] = (unsigned char)~chain[i];
    CHECK(run->count(chain, &what, items) == bytes, "%zu B inverted", bytes);
    free(chain);
}

/** Another key, stamp or position is seen in nearly every byte. */
static void comparison_of_others(const runner *run, uint32_t slide) {
    const size_t distance = (size_t)1 << slide, windows = 256 * distance,
                 bytes = windows + 40000;
    unsigned char *chain = malloc(bytes);
    CHECK(chain, "no memory");
    const told right = {bytes, bytes, 0, slide, 0, a_key, 9, 0};
    told key = right, stamp = right, cut = right;
    key.key++;
    stamp.own = 0x0A0A0A0A0A0A0A0A;
    run->fill(chain, bytes, 1, slide, 9);
    CHECK(run->count(chain, &right, 1) == 0, "slide %u: refused", slide);
    CHECK(run->count(chain, &key, 1) > bytes * 9 / 10, "another key passes");
    CHECK(run->count(chain, &stamp, 1) > bytes * 9 / 10, "another stamp passes");
    for (size_t shift = distance / 8; shift < windows + 16384;
         shift += shift < distance ? distance / 8 : windows / 16) {
        cut.bytes = bytes - shift;
        CHECK(run->count(chain + shift, &cut, 1) > cut.bytes * 9 / 10,
              "slide %u: a chain shifted by %zu B passes", slide, shift);
    }
    /* A message of one byte, late by up to 255 steps. */
    for (size_t late = 1; late < 256; late++)
        CHECK(chain[0] != chain[late * distance], "late by %zu windows", late);
    free(chain);
}

void comparisons(const runner *run) {
    static const size_t sizes[] = {1, 2, 7, 31, 63, 64, 65, 127, 128, 200, 1000};
    static const size_t items[] = {1, 2, 7, 64};
    static const uint32_t slides[] = {4, 7, 13}; /* 16 B, 128 B, two pages */
    for (size_t l = 0; l < sizeof slides / sizeof *slides; l++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t i = 0; i < sizeof items / sizeof *items; i++)
                bytes_comparison(run, slides[l], sizes[s], items[i]);
        bytes_comparison(run, slides[l], 65537, 7);
        comparison_of_others(run, slides[l]);
    }
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int ranks = 1; ranks <= MAX_RANKS; ranks++) {
            comparison(run, ranks, 7, sizes[s], 1 + s, 1 + s % 3);
            comparison(run, ranks, 7, sizes[s], 8, 7);
            comparison(run, ranks, 4, sizes[s], 8, 7);
        }
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++)
        for (size_t message = 4096; message < 10000; message += 2500)
            comparison(run, ranks, 13, message, 5, 3);
}
