/* fft.h - what the files of fft share. */
#ifndef HF_FFT_H
#define HF_FFT_H

#include "bench.h"
#include "fft_input.h"
#include "verdict.h"

enum { N_BLOCKS = 3, N_STREAMS = 3 /* kernels: fetch, transform, store */ };

typedef struct fft {
    hf_env env;
    size_t size, items, group;
    double log_size;
    uint32_t batch, key;
    float sign; /* 1 forward, -1 back */
    uint64_t sample;
    size_t taken; /* steps of this sample */
    hf_buffer *blocks[N_BLOCKS], *from, *to, *twiddles;
    hf_verdict verdict;
    hf_kernel *fill, *check, *transform, *fetch, *store;
    hf_arg fetch_args[2], transform_args[3], store_args[2];
    hf_stream streams[N_STREAMS];
    double *roots;   /* exp(-2 pi i k / size): [size, 2] */
    double *weights; /* of the frequencies in a sum over all of them: [size, 2] */
} fft;

/** Largest error of rounding in the first and the third block. */
double fft_bound(const fft *s);
/** Largest error of the second block, [batch, size], in units of what rounding explains. */
double fft_forward_error(const fft *s, const fft_complex *block);

#endif
