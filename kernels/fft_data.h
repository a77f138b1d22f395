/* fft_data.h - the kernels of every FFT file that write input and check results. */
#ifndef FFT_DATA_H
#define FFT_DATA_H

#include "fft_input.h"
#include "hf_finding.h"
#include "hf_kernel.h"

#ifndef HF_LOG_SIZE
#define HF_LOG_SIZE 12
#endif
#if HF_LOG_SIZE < 6 || HF_LOG_SIZE > 17
#error "HF_LOG_SIZE, the binary logarithm of a transform's points, must be 6 to 17"
#endif
#define FFT_SIZE (1 << HF_LOG_SIZE)

static inline fft_complex fft_times(fft_complex a, fft_complex b) {
    const fft_complex product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return product;
}

/** Write the input of `batch` transforms: [batch, size] complex numbers. */
HF_KERNEL(fft_fill, HF_WRITE(fft_complex, points), HF_VALUE(uint, batch),
          HF_VALUE(uint, key)) {
    for (ulong b = HF_ITEM; b < batch; b += HF_ITEMS) {
        const fft_complex factor = fft_factor((uint)b, key);
        for (uint j = 0; j < FFT_SIZE; j++) {
            HF_PIPELINE
            points[b * FFT_SIZE + j] = fft_times(factor, fft_value(j, key));
        }
    }
}

/** The largest |`scale` x - right|, for x the real and imaginary parts of `points` and right
 *  those of the input. */
HF_KERNEL(fft_check, HF_READ(fft_complex, points), HF_VALUE(uint, batch),
          HF_VALUE(uint, key), HF_VALUE(float, scale), HF_WRITE(hf_finding, findings),
          HF_VALUE(uint, seal)) {
    uint most = 0;
    ulong seen = 0;
    for (ulong b = HF_ITEM; b < batch; b += HF_ITEMS) {
        const fft_complex factor = fft_factor((uint)b, key);
        for (uint j = 0; j < FFT_SIZE; j++) {
            HF_PIPELINE
            const fft_complex is = points[b * FFT_SIZE + j];
            const fft_complex right = fft_times(factor, fft_value(j, key));
            const uint re = hf_magnitude(is.re * scale - right.re);
            const uint im = hf_magnitude(is.im * scale - right.im);
            const uint more = re > im ? re : im;
            most = more > most ? more : most;
            seen++;
        }
    }
    findings[HF_ITEM] = hf_finding_make(most, seen, seal);
}

#endif
