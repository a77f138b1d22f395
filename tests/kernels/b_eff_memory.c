/* b_eff_memory.c - kernels/b_eff_memory.cl as plain C against a naive reference.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/b_eff_memory.c tests/kernels/b_eff_memory_chains.c [-DHF_CHANNEL_WIDTH=8]
 */
#include "../../kernels/b_eff_memory.cl"

#include <inttypes.h>
#include <stdlib.h>

#include "b_eff_byte.h"
#include "b_eff_memory.h"
#include "check_kernel.h"

static void plain_fill(unsigned char *chain, size_t bytes, size_t items, uint32_t slide,
                       uint64_t stamp) {
    uint64_t n = bytes;
    uint32_t key = a_key;
    void *args[] = {&chain, &n, &slide, &key, &stamp};
    hf_kernels_b_eff_memory[0].call(args, items);
}

static uint64_t plain_count(const unsigned char *chain, const told *what,
                            size_t items) {
    uint64_t sum = 0, seen = 0;
    told t = *what;
    uint32_t seal = 0xCAFE;
    hf_finding *findings = malloc(items * sizeof *findings);
    CHECK(findings, "no memory");
    void *args[] = {&chain, &t.bytes, &t.message, &t.steps,  &t.slide, &t.which,
                    &t.key, &t.own,   &t.from,    &findings, &seal};
    hf_kernels_b_eff_memory[1].call(args, items);
    for (size_t i = 0; i < items; i++) {
        const hf_finding *f = &findings[i];
        CHECK(f->sealed == hf_finding_seal(f->bits, f->seen, seal), "work-item %zu", i);
        sum += f->bits;
        seen += f->seen;
    }
    CHECK(seen == t.bytes, "%" PRIu64 " B seen of %" PRIu64, seen, t.bytes);
    free(findings);
    return sum;
}

/** The payload beyond 2^31 B, without such a message. */
static void far_bytes(void) {
    for (uint64_t i = (UINT64_C(1) << 31) - 70; i < UINT64_C(1) << 31; i++)
        CHECK(b_eff_payload((uint32_t)i, 6, 5, 0x8877665544332211) ==
                  reference_byte(i, 64, 5, 0x8877665544332211),
              "byte %" PRIu64 " differs", i);
}

int main(void) {
    comparisons(&(runner){plain_fill, plain_count});
    far_bytes();
    return 0;
}
