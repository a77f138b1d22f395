/* fft_ndrange.cl - transforms on CPUs and GPUs: a work-group per transform, in two steps.
 *
 * A transform of N = N1 N2 points is a matrix of N1 rows: transforms of its columns, a
 * multiplication by exp(-2 pi i j k / N), and transforms of the rows of the transposed
 * result. Each of these short transforms is 2 or 3 passes of radix 8 or less over a tile
 * that stays in the nearest memory: FFT_LANES columns in the lanes of a vector where
 * the device is a CPU, as many columns as local memory takes on others, where the
 * work-items of the group share the butterflies.
 */
#include "fft_data.h"

#ifndef FFT_LANES
#if defined(__x86_64__) || defined(__aarch64__)
#define FFT_LANES 8
#else
#define FFT_LANES 1
#endif
#endif
#if FFT_LANES != 1 && FFT_LANES != 8
#error "FFT_LANES, the columns in a vector, must be 1 or 8"
#endif

#define LOG1 (HF_LOG_SIZE / 2)
#define LOG2 (HF_LOG_SIZE - LOG1)
#define N1   (1 << LOG1)
#define N2   (1 << LOG2)
#define N    FFT_SIZE

/* Radix of the first pass; a middle one, where there are more than 64 points, and the last
 * have radix 8. */
#if LOG1 == 3
#define FIRST1 1
#elif LOG1 % 3 == 0
#define FIRST1 8
#elif LOG1 % 3 == 1
#define FIRST1 2
#else
#define FIRST1 4
#endif
#if LOG2 == 3
#define FIRST2 1
#elif LOG2 % 3 == 0
#define FIRST2 8
#elif LOG2 % 3 == 1
#define FIRST2 2
#else
#define FIRST2 4
#endif
#define REST1 (N1 / FIRST1)
#define REST2 (N2 / FIRST2)

/** Where frequency k of 2^log is before the last pass's order is undone. */
#define PLACE(log, first, k)                      \
    (((k) % (first)) * ((1 << (log)) / (first)) + \
     ((log) > 6 ? (k) / (first) % 8 * 8 + (k) / ((first)*8) : (k) / (first)))

#if FFT_LANES == 8
typedef float8 lanes;
#define TILE  1 /* vectors */
#define NEAR  __private
#define ITEM  0
#define ITEMS 1
#define ALL_DONE(m)
#define LOAD(p)     vload8(0, p)
#define STORE(x, p) vstore8(x, 0, p)
#else
typedef float lanes;
#define TILE        (N1 < 4096 / N2 ? N1 : 4096 / N2) /* columns */
#define NEAR        __local
#define ITEM        get_local_id(0)
#define ITEMS       get_local_size(0)
#define ALL_DONE(m) barrier(m);
#define LOAD(p)     *(p)
#define STORE(x, p) *(p) = x
#endif

/** A point of each lane. */
typedef struct points {
    lanes re, im;
} points;

/* ---- butterflies ---- */

static inline points twiddled(points x, fft_complex w) {
    const points y = {x.re * w.re - x.im * w.im, x.re * w.im + x.im * w.re};
    return y;
}

/** x times -i. */
static inline points quarter(points x) {
    const points y = {x.im, -x.re};
    return y;
}

static inline void cross(points *a, points *b) {
    const points sum = {a->re + b->re, a->im + b->im};
    const points difference = {a->re - b->re, a->im - b->im};
    *a = sum;
    *b = difference;
}

/** A transform of `radix` points: take(p) is point p, put(k, x) keeps frequency k. */
#define PASS_1(take, put) put(0, take(0));
#define PASS_2(take, put)              \
    points x0 = take(0), x1 = take(1); \
    cross(&x0, &x1);                   \
    put(0, x0);                        \
    put(1, x1);
#define PASS_4(take, put)                                          \
    points x0 = take(0), x1 = take(1), x2 = take(2), x3 = take(3); \
    cross(&x0, &x2);                                               \
    cross(&x1, &x3);                                               \
    x3 = quarter(x3);                                              \
    cross(&x0, &x1);                                               \
    cross(&x2, &x3);                                               \
    put(0, x0);                                                    \
    put(2, x1);                                                    \
    put(1, x2);                                                    \
    put(3, x3);
#define PASS_8(take, put)                                          \
    const float s = 0.70710678118654752440f;                       \
    points x0 = take(0), x4 = take(4);                             \
    cross(&x0, &x4);                                               \
    points x2 = take(2), x6 = take(6);                             \
    cross(&x2, &x6);                                               \
    x6 = quarter(x6);                                              \
    points x1 = take(1), x5 = take(5);                             \
    cross(&x1, &x5);                                               \
    points x3 = take(3), x7 = take(7);                             \
    cross(&x3, &x7);                                               \
    x7 = quarter(x7);                                              \
    cross(&x0, &x2);                                               \
    cross(&x1, &x3);                                               \
    x3 = quarter(x3);                                              \
    cross(&x4, &x6);                                               \
    cross(&x5, &x7);                                               \
    const points x8 = {(x5.re + x5.im) * s, (x5.im - x5.re) * s};  \
    const points x9 = {(x7.im - x7.re) * s, -(x7.re + x7.im) * s}; \
    x5 = x8;                                                       \
    x7 = x9;                                                       \
    cross(&x0, &x1);                                               \
    put(0, x0);                                                    \
    put(4, x1);                                                    \
    cross(&x2, &x3);                                               \
    put(2, x2);                                                    \
    put(6, x3);                                                    \
    cross(&x4, &x5);                                               \
    put(1, x4);                                                    \
    put(5, x5);                                                    \
    cross(&x6, &x7);                                               \
    put(3, x6);                                                    \
    put(7, x7);
#define PASS_OF(radix)         PASS_##radix
#define PASS(radix, take, put) PASS_OF(radix)(take, put)

/* ---- in and out ---- */

#if FFT_LANES == 8
#define PICK __builtin_shufflevector

/* Neighbours are taken apart and joined within halves of a vector only, which is quick but
 * leaves them in this order of lanes. */
#define ORDER \
    { 0, 1, 4, 5, 2, 3, 6, 7 }

static inline points numbers_load(HF_GLOBAL const float *from, float sign) {
    const lanes low = LOAD(from), high = LOAD(from + 8);
    const points x = {PICK(low, high, 0, 2, 8, 10, 4, 6, 12, 14),
                      PICK(low, high, 1, 3, 9, 11, 5, 7, 13, 15) * sign};
    return x;
}

static inline void numbers_store(points x, HF_GLOBAL float *to, float sign) {
    const lanes im = x.im * sign;
    STORE(PICK(x.re, im, 0, 8, 1, 9, 4, 12, 5, 13), to);
    STORE(PICK(x.re, im, 2, 10, 3, 11, 6, 14, 7, 15), to + 8);
}

static inline void unpacked(lanes *a, lanes *b) {
    const lanes low = PICK(*a, *b, 0, 8, 1, 9, 4, 12, 5, 13);
    *b = PICK(*a, *b, 2, 10, 3, 11, 6, 14, 7, 15);
    *a = low;
}

static inline void unpacked_pairs(lanes *a, lanes *b) {
    const lanes low = PICK(*a, *b, 0, 1, 8, 9, 4, 5, 12, 13);
    *b = PICK(*a, *b, 2, 3, 10, 11, 6, 7, 14, 15);
    *a = low;
}

static inline void halves_swapped(lanes *a, lanes *b) {
    const lanes low = PICK(*a, *b, 0, 1, 2, 3, 8, 9, 10, 11);
    *b = PICK(*a, *b, 4, 5, 6, 7, 12, 13, 14, 15);
    *a = low;
}

/** Rows k .. k + 7 of 8 columns become parts of 8 rows, `stride` apart, both in ORDER. */
static inline void transposed(HF_GLOBAL float *to, uint stride, lanes a, lanes b,
                              lanes c, lanes d, lanes e, lanes f, lanes g, lanes h) {
    unpacked(&a, &b);
    unpacked(&c, &d);
    unpacked(&e, &f);
    unpacked(&g, &h);
    unpacked_pairs(&a, &c);
    unpacked_pairs(&b, &d);
    unpacked_pairs(&e, &g);
    unpacked_pairs(&f, &h);
    halves_swapped(&a, &e);
    halves_swapped(&b, &f);
    halves_swapped(&c, &g);
    halves_swapped(&d, &h);
    STORE(a, to);
    STORE(c, to + stride);
    STORE(e, to + 2 * stride);
    STORE(g, to + 3 * stride);
    STORE(b, to + 4 * stride);
    STORE(d, to + 5 * stride);
    STORE(f, to + 6 * stride);
    STORE(h, to + 7 * stride);
}

#define TILE_PART(k, part) tile[PLACE(LOG1, FIRST1, k)].part
#define TILE_ROWS(k, part)                                                      \
    TILE_PART(k, part), TILE_PART(k + 1, part), TILE_PART(k + 4, part),         \
        TILE_PART(k + 5, part), TILE_PART(k + 2, part), TILE_PART(k + 3, part), \
        TILE_PART(k + 6, part), TILE_PART(k + 7, part)

/** The transforms of the columns, to rows of `y`. */
static inline void columns_store(NEAR const points *tile, HF_GLOBAL float *y) {
    for (uint k = 0; k < N1; k += 8) {
        transposed(y + 2 * k, 2 * N1, TILE_ROWS(k, re));
        transposed(y + 2 * k + 8, 2 * N1, TILE_ROWS(k, im));
    }
}

#else
#define ORDER \
    { 0 }

static inline points numbers_load(HF_GLOBAL const float *from, float sign) {
    const points x = {from[0], from[1] * sign};
    return x;
}

static inline void numbers_store(points x, HF_GLOBAL float *to, float sign) {
    to[0] = x.re;
    to[1] = x.im * sign;
}

static inline void columns_store(NEAR const points *tile, HF_GLOBAL float *y) {
    for (uint at = ITEM; at < N1 * TILE; at += ITEMS)
        numbers_store(tile[PLACE(LOG1, FIRST1, at % N1) * TILE + at / N1], y + 2 * at,
                      1);
}
#endif

/** Lanes as columns_store left them, times as many of `twiddles`. */
static inline points lanes_load(HF_GLOBAL const float *from,
                                HF_GLOBAL const float *twiddles) {
    const lanes re = LOAD(from), im = LOAD(from + FFT_LANES);
    const lanes c = LOAD(twiddles), s = LOAD(twiddles + FFT_LANES);
    const points x = {re * c - im * s, re * s + im * c};
    return x;
}

/* ---- the two steps ---- */

/** The pass of radix 8 in the middle of three, in place. */
static inline void middle_pass(NEAR points *tile, HF_GLOBAL const fft_complex *roots,
                               int size) {
    for (uint t = ITEM; t < size / 8 * TILE; t += ITEMS) {
        const uint q = t / TILE % 8;
        NEAR points *at = tile + (t / TILE / 8 * 64 + q) * TILE + t % TILE;
#define TAKE(p)   at[8 * p * TILE]
#define PUT(p, x) at[8 * p * TILE] = twiddled(x, roots[p * q * (N2 / 64)])
        PASS_8(TAKE, PUT)
#undef TAKE
#undef PUT
    }
}

/** Columns from `x`, transform them, and store them as rows of `y`. */
static inline void columns_transform(NEAR points *tile, HF_GLOBAL const float *x,
                                     HF_GLOBAL float *y,
                                     HF_GLOBAL const fft_complex *roots, float sign) {
    for (uint t = ITEM; t < REST1 * TILE; t += ITEMS) {
        const uint q = t / TILE;
        HF_GLOBAL const float *from = x + 2 * (q * N2 + t % TILE);
        NEAR points *to = tile + t;
#define TAKE(p)   numbers_load(from + 2 * N2 * REST1 * p, sign)
#define PUT(p, x) to[REST1 * p * TILE] = twiddled(x, roots[p * q * (N2 / N1)])
        PASS(FIRST1, TAKE, PUT)
#undef TAKE
#undef PUT
    }
    ALL_DONE(CLK_LOCAL_MEM_FENCE)
#if LOG1 > 6
    middle_pass(tile, roots, N1);
    ALL_DONE(CLK_LOCAL_MEM_FENCE)
#endif
    for (uint t = ITEM; t < N1 / 8 * TILE; t += ITEMS) {
        NEAR points *at = tile + t / TILE * 8 * TILE + t % TILE;
#define TAKE(p)   at[p * TILE]
#define PUT(p, x) at[p * TILE] = x
        PASS_8(TAKE, PUT)
#undef TAKE
#undef PUT
    }
    ALL_DONE(CLK_LOCAL_MEM_FENCE)
    columns_store(tile, y);
    ALL_DONE(CLK_LOCAL_MEM_FENCE)
}

/** Columns of `y` times `twiddles`, transformed in place. */
static inline void rows_transform(NEAR points *tile, HF_GLOBAL float *y,
                                  HF_GLOBAL const float *twiddles,
                                  HF_GLOBAL const fft_complex *roots, float sign) {
    for (uint t = ITEM; t < REST2 * TILE; t += ITEMS) {
        const uint q = t / TILE, at = 2 * (q * N1 + t % TILE);
        NEAR points *to = tile + t;
#define TAKE(p) \
    lanes_load(y + at + 2 * N1 * REST2 * p, twiddles + at + 2 * N1 * REST2 * p)
#define PUT(p, x) to[REST2 * p * TILE] = twiddled(x, roots[p * q])
        PASS(FIRST2, TAKE, PUT)
#undef TAKE
#undef PUT
    }
    ALL_DONE(CLK_LOCAL_MEM_FENCE)
#if LOG2 > 6
    middle_pass(tile, roots, N2);
    ALL_DONE(CLK_LOCAL_MEM_FENCE)
#endif
    for (uint t = ITEM; t < N2 / 8 * TILE; t += ITEMS) {
        const uint g = t / TILE, k = LOG2 > 6 ? g / 8 + g % 8 * FIRST2 : g;
        NEAR points *at = tile + g * 8 * TILE + t % TILE;
        HF_GLOBAL float *to = y + 2 * (k * N1 + t % TILE);
#define TAKE(p)   at[p * TILE]
#define PUT(p, x) numbers_store(x, to + 2 * N1 * (N2 / 8) * p, sign)
        PASS_8(TAKE, PUT)
#undef TAKE
#undef PUT
    }
    ALL_DONE(CLK_LOCAL_MEM_FENCE)
}

/** Transform `batch` times FFT_SIZE points: y[k] = sum of x[j] exp(-sign 2 pi i j k / size),
 *  sign 1 forward and -1 inverse. `twiddles` is what `fft_twiddles` wrote. */
HF_KERNEL(fft_transform, HF_READ(float, in), HF_WRITE(float, out),
          HF_READ(float, twiddles), HF_VALUE(uint, batch), HF_VALUE(float, sign)) {
    HF_GLOBAL const fft_complex *roots = (HF_GLOBAL const fft_complex *)twiddles + N;
    NEAR points tile[N2 * TILE];
    for (uint b = get_group_id(0); b < batch; b += get_num_groups(0)) {
        HF_GLOBAL const float *x = in + (ulong)b * 2 * N;
        HF_GLOBAL float *y = out + (ulong)b * 2 * N;
        for (uint c = 0; c < N2; c += TILE * FFT_LANES)
            columns_transform(tile, x + 2 * c, y + 2 * c * N1, roots, sign);
        ALL_DONE(CLK_GLOBAL_MEM_FENCE)
        for (uint k = 0; k < N1; k += TILE * FFT_LANES)
            rows_transform(tile, y + 2 * k, twiddles + 2 * k, roots, sign);
    }
}

/** Put the roots exp(-2 pi i k / size) in the order of the multiplication between the two
 *  steps: row j, column k the power j k, as lanes; and after them those of N2. */
HF_KERNEL(fft_twiddles, HF_READ(fft_complex, roots), HF_WRITE(fft_complex, twiddles)) {
    const uint order[FFT_LANES] = ORDER;
    HF_GLOBAL float *to = (HF_GLOBAL float *)twiddles;
    for (uint at = HF_ITEM; at < N; at += HF_ITEMS) {
        const uint j = at / N1, k = at % N1, lane = order[k % FFT_LANES];
        const fft_complex root = roots[j * k % N];
        to[2 * (at - k % FFT_LANES) + lane] = root.re;
        to[2 * (at - k % FFT_LANES) + lane + FFT_LANES] = root.im;
    }
    for (uint k = HF_ITEM; k < N2; k += HF_ITEMS)
        twiddles[N + k] = roots[k * N1];
}
