/* fft_memory.cl - transforms side by side in time: one pipeline, 8 points a clock cycle. */
#include "fft_pipeline.h"

/** Transform `batch` times FFT_SIZE points: y[k] = sum of x[j] exp(-sign 2 pi i j k / size),
 *  sign 1 forward and -1 inverse. `twiddles` is what `fft_twiddles` wrote. */
HF_KERNEL(fft_transform, HF_READ(hf_packet, in), HF_WRITE(hf_packet, out),
          HF_READ(fft_complex, twiddles), HF_VALUE(uint, batch),
          HF_VALUE(float, sign)) {
    const ulong packets = (ulong)batch * FFT_CYCLES, late = 3 * FFT_CYCLES - 1;
    fft_fetch fetch;
    fft_store store;
    FFT_DECLARE(twiddles)
    hf_packet packet = in[0];
    for (ulong at = 0; at < packets + late; at++) {
        HF_PIPELINE
        const uint cycle = (uint)at;
        if (at < packets)
            packet = in[at];
        fft_points x = fft_unpack(fft_fetched(fetch, packet, cycle), sign);
        FFT_TRANSFORM(x, cycle)
        const hf_packet done = fft_stored(store, fft_pack(x, sign), cycle + 1);
        if (at >= late)
            out[at - late] = done;
    }
}

HF_HOST_FILE(fft_memory, HF_HOST_KERNEL(fft_fill), HF_HOST_KERNEL(fft_check),
             HF_HOST_KERNEL(fft_twiddles), HF_HOST_KERNEL(fft_transform))
