/* fft_memory.c - kernels/fft_memory.cl as plain C against sums by definition. */
#include "../../kernels/fft_memory.cl"

#include "fft.h"

static uint check(const fft_complex *block, uint key, float scale) {
    uint batch = BATCH, seal = 0xBEEF;
    hf_finding finding, *to = &finding;
    void *args[] = {&block, &batch, &key, &scale, &to, &seal};
    fft_check_call(args, 1);
    CHECK(finding.sealed == hf_finding_seal(finding.bits, BATCH * SIZE, seal), "seal");
    return finding.bits;
}

/** Any damage to one point is larger than what is right, and a NaN is larger still. */
static void damages(fft_complex *block, uint key) {
    uint right = check(block, key, 1);
    CHECK(right == 0, "the input itself differs from the input");
    for (size_t i = 0; i < BATCH * SIZE; i += 7) {
        fft_complex was = block[i];
        block[i].im += 1e-4f;
        CHECK(check(block, key, 1) > hf_magnitude(0.9e-4f), "point %zu is off", i);
        block[i].re = NAN;
        CHECK(check(block, key, 1) > hf_magnitude(INFINITY), "point %zu is NaN", i);
        block[i] = was;
    }
}

int main(void) {
    uint batch = BATCH, key = 12345;
    fft_complex *x = block_new(BATCH * SIZE), *y = block_new(BATCH * SIZE);
    fft_complex *roots = roots_new(), *twiddles = block_new(2 * SIZE);
    fft_fill_call((void *[]){&x, &batch, &key}, 1);
    for (size_t i = 0; i < BATCH * SIZE; i++) {
        double complex right =
            point_of((fft_complex[]){fft_factor((uint)(i / SIZE), key)}, 0) *
            point_of((fft_complex[]){fft_value((uint)(i % SIZE), key)}, 0);
        CHECK(cabs(point_of(x, i) - right) < 1e-6, "point %zu of the input", i);
    }
    damages(x, key);
    fft_twiddles_call((void *[]){&roots, &twiddles}, 1);
    for (int way = 1; way >= -1; way -= 2) {
        float sign = (float)way;
        fft_transform_call((void *[]){&x, &y, &twiddles, &batch, &sign}, 1);
        double error = transform_error(y, x, sign);
        CHECK(error < 1, "sign %d: error %g", way, error);
    }
    free(x);
    free(y);
    free(roots);
    free(twiddles);
    return 0;
}
