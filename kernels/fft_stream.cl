/* fft_stream.cl - the pipeline of fft_memory.cl as three kernels joined by channels. */
#include "fft_pipeline.h"

HF_CHANNEL(fetched, 64)
HF_CHANNEL(transformed, 64)

/** Send `batch` times FFT_SIZE points in the order of the pipeline. */
HF_STREAM(fft_fetch_points, HF_ARGUMENTS(HF_READ(hf_packet, in), HF_VALUE(uint, batch)),
          HF_ENDS(HF_OUT(fetched))) {
    HF_OPEN_OUT(fetched)
    const ulong packets = (ulong)batch * FFT_CYCLES;
    fft_fetch fetch;
    hf_packet packet = in[0];
    for (ulong at = 0; at < packets + FFT_CYCLES; at++) {
        HF_PIPELINE
        if (at < packets)
            packet = in[at];
        const hf_packet out = fft_fetched(fetch, packet, (uint)at);
        if (at >= FFT_CYCLES)
            HF_SEND(fetched, out);
    }
    HF_FLUSH(fetched);
}

/** Transform what comes: y[k] = sum of x[j] exp(-sign 2 pi i j k / size), sign 1 forward
 *  and -1 inverse. `twiddles` is what `fft_twiddles` wrote. */
HF_STREAM(fft_transform,
          HF_ARGUMENTS(HF_READ(fft_complex, twiddles), HF_VALUE(uint, batch),
                       HF_VALUE(float, sign)),
          HF_ENDS(HF_IN(fetched), HF_OUT(transformed))) {
    HF_OPEN_IN(fetched)
    HF_OPEN_OUT(transformed)
    const ulong packets = (ulong)batch * FFT_CYCLES, late = FFT_CYCLES - 1;
    FFT_DECLARE(twiddles)
    hf_packet packet = {{0}};
    for (ulong at = 0; at < packets + late; at++) {
        HF_PIPELINE
        const uint cycle = (uint)at;
        if (at < packets)
            HF_RECV(fetched, packet);
        fft_points x = fft_unpack(packet, sign);
        FFT_TRANSFORM(x, cycle)
        if (at >= late)
            HF_SEND(transformed, fft_pack(x, sign));
    }
    HF_FLUSH(transformed);
}

/** Write the frequencies of `batch` transforms in their order. */
HF_STREAM(fft_store_points,
          HF_ARGUMENTS(HF_WRITE(hf_packet, out), HF_VALUE(uint, batch)),
          HF_ENDS(HF_IN(transformed))) {
    HF_OPEN_IN(transformed)
    const ulong packets = (ulong)batch * FFT_CYCLES;
    fft_store store;
    hf_packet packet = {{0}};
    for (ulong at = 0; at < packets + FFT_CYCLES; at++) {
        HF_PIPELINE
        if (at < packets)
            HF_RECV(transformed, packet);
        const hf_packet done = fft_stored(store, packet, (uint)at);
        if (at >= FFT_CYCLES)
            out[at - FFT_CYCLES] = done;
    }
}

HF_HOST_FILE(fft_stream, HF_HOST_KERNEL(fft_fill), HF_HOST_KERNEL(fft_check),
             HF_HOST_KERNEL(fft_twiddles), HF_HOST_KERNEL(fft_fetch_points),
             HF_HOST_KERNEL(fft_transform), HF_HOST_KERNEL(fft_store_points))
