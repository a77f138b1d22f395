/* fft_points.h - what happens to the 8 points of one clock cycle. */
#ifndef FFT_POINTS_H
#define FFT_POINTS_H

#define HF_CHANNEL_WIDTH 64 /* a packet: 8 points */
#include "fft_input.h"
#include "hf_channel.h"

/** 8 points, one for each word of a packet. */
typedef struct fft_points {
    float re[8], im[8];
} fft_points;

typedef union fft_bits {
    fft_complex point;
    ulong bits;
} fft_bits;

static inline fft_points fft_unpack(hf_packet packet, float sign) {
    fft_points x;
    HF_UNROLL(8)
    for (int l = 0; l < 8; l++) {
        fft_bits u;
        u.bits = packet.word[l];
        x.re[l] = u.point.re;
        x.im[l] = u.point.im * sign;
    }
    return x;
}

static inline hf_packet fft_pack(fft_points x, float sign) {
    hf_packet packet;
    HF_UNROLL(8)
    for (int l = 0; l < 8; l++) {
        fft_bits u;
        u.point.re = x.re[l];
        u.point.im = x.im[l] * sign;
        packet.word[l] = u.bits;
    }
    return packet;
}

static inline void fft_butterfly(fft_points *x, int a, int b) {
    const float re = x->re[a] - x->re[b], im = x->im[a] - x->im[b];
    x->re[a] += x->re[b];
    x->im[a] += x->im[b];
    x->re[b] = re;
    x->im[b] = im;
}

/** x[l] times c - i c, that is an eighth of a turn times c sqrt(2). */
static inline void fft_eighth(fft_points *x, int l, float c) {
    const float re = x->re[l], im = x->im[l];
    x->re[l] = c * (re + im);
    x->im[l] = c * (im - re);
}

/** x[l] times -i. */
static inline void fft_quarter(fft_points *x, int l) {
    const float re = x->re[l];
    x->re[l] = x->im[l];
    x->im[l] = -re;
}

/** The 8-point transform; frequency k is left in word k. */
static inline fft_points fft_across(fft_points x) {
    const float c = 0.70710678118654752440f;
    for (int l = 0; l < 4; l++)
        fft_butterfly(&x, l, l + 4);
    fft_eighth(&x, 5, c);
    fft_quarter(&x, 6);
    fft_quarter(&x, 7);
    fft_eighth(&x, 7, c);
    for (int l = 0; l < 8; l += 4) {
        fft_butterfly(&x, l, l + 2);
        fft_butterfly(&x, l + 1, l + 3);
        fft_quarter(&x, l + 3);
        fft_butterfly(&x, l, l + 1);
        fft_butterfly(&x, l + 2, l + 3);
    }
    const fft_points y = {
        {x.re[0], x.re[4], x.re[2], x.re[6], x.re[1], x.re[5], x.re[3], x.re[7]},
        {x.im[0], x.im[4], x.im[2], x.im[6], x.im[1], x.im[5], x.im[3], x.im[7]}};
    return y;
}

/** Each point times a number of its own. */
static inline fft_points fft_twiddled(fft_points x, fft_points w) {
    fft_points y;
    HF_UNROLL(8)
    for (int l = 0; l < 8; l++) {
        y.re[l] = x.re[l] * w.re[l] - x.im[l] * w.im[l];
        y.im[l] = x.re[l] * w.im[l] + x.im[l] * w.re[l];
    }
    return y;
}

/** Each point times the same number. */
static inline fft_points fft_twiddled_alike(fft_points x, fft_complex w) {
    fft_points y;
    HF_UNROLL(8)
    for (int l = 0; l < 8; l++) {
        y.re[l] = x.re[l] * w.re - x.im[l] * w.im;
        y.im[l] = x.re[l] * w.im + x.im[l] * w.re;
    }
    return y;
}

#endif
