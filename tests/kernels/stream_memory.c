/* stream_memory.c - kernels/stream_memory.cl as plain C against a naive reference.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/stream_memory.c [-DHF_REAL=double -DHF_VECTOR=4 ...]
 */
#include "../../kernels/stream_memory.cl"

#include "stream.h"

static void launch(HF_REAL *out, const HF_REAL *one, const HF_REAL *two, float scalar,
                   unsigned sum, size_t n) {
    uint32_t add = sum;
    uint64_t length = n;
    void *args[] = {&out, &one, &two, &scalar, &add, &length};
    hf_kernels_stream_memory[0].call(args, 1);
}

int main(void) {
    comparisons();
    return 0;
}
