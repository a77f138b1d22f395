/* b_eff_memory.c - kernels/b_eff_memory.cl as plain C against a naive reference.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/b_eff_memory.c [-DHF_CHANNEL_WIDTH=8]
 */
#include "../../kernels/b_eff_memory.cl"

#include "b_eff_memory.h"

static void plain_fill(unsigned char *message, size_t bytes, size_t items, uint32_t key,
                       uint64_t stamp) {
    uint64_t n = bytes;
    void *args[] = {&message, &n, &key, &stamp};
    hf_kernels_b_eff_memory[0].call(args, items);
}

static uint64_t plain_count(const unsigned char *message, size_t bytes, size_t items,
                            uint32_t key, uint64_t stamp) {
    uint64_t n = bytes, sum = 0, *wrong = malloc(items * sizeof *wrong);
    CHECK(wrong, "no memory");
    void *args[] = {&message, &n, &key, &stamp, &wrong};
    hf_kernels_b_eff_memory[1].call(args, items);
    for (size_t i = 0; i < items; i++)
        sum += wrong[i];
    free(wrong);
    return sum;
}

/** The payload beyond 2^31 B, without such a message. */
static void far_bytes(void) {
    for (uint64_t i = (UINT64_C(1) << 31) - 70; i < UINT64_C(1) << 31; i++)
        CHECK(b_eff_payload((uint32_t)i, 5, 0x8877665544332211) ==
                  reference_byte(i, 5, 0x8877665544332211),
              "byte %" PRIu64 " differs", i);
}

int main(void) {
    comparisons(&(runner){plain_fill, plain_count});
    far_bytes();
    return 0;
}
