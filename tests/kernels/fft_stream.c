/* fft_stream.c - the three kernels of kernels/fft_stream.cl as threads, against sums by
 * definition. */
#define HF_CHANNEL_WIDTH 64
#include "rings.h"

#include "../../kernels/fft_stream.cl"

#include "fft.h"

static double stream_error(size_t depth, float sign) {
    uint batch = BATCH, key = 99;
    fft_complex *x = block_new(BATCH * SIZE), *y = block_new(BATCH * SIZE);
    fft_complex *roots = roots_new(), *twiddles = block_new(2 * SIZE);
    hf_ring *first = ring_new(depth), *second = ring_new(depth);
    fft_fill_call((void *[]){&x, &batch, &key}, 1);
    fft_twiddles_call((void *[]){&roots, &twiddles}, 1);
    task tasks[] = {
        {.call = fft_fetch_points_call, .args = {&x, &batch, &first}},
        {.call = fft_transform_call,
         .args = {&twiddles, &batch, &sign, &first, &second}},
        {.call = fft_store_points_call, .args = {&y, &batch, &second}},
    };
    tasks_start(tasks, 3);
    tasks_join(tasks, 3);
    CHECK(second->reader.moved == BATCH * SIZE / 8, "packets are missing");
    double error = transform_error(y, x, sign);
    free(first);
    free(second);
    free(x);
    free(y);
    free(roots);
    free(twiddles);
    return error;
}

int main(void) {
    static const size_t depths[] = {1, 3, 64};
    for (int i = 0; i < 3; i++)
        for (int way = 1; way >= -1; way -= 2) {
            double error = stream_error(depths[i], (float)way);
            CHECK(error < 1, "depth %zu, sign %d: error %g", depths[i], way, error);
        }
    return 0;
}
