/* fft_pipeline.h - a transform as a pipeline that takes 8 points per clock cycle.
 *
 * A transform passes in FFT_CYCLES cycles. Point j of the input is in word
 * j / FFT_CYCLES at cycle j % FFT_CYCLES: `fft_fetched` brings it there. An 8-point
 * transform across the words comes first, then each word transforms over time what it
 * holds: butterflies of radix 2 whose first operand waits in a delay, two of them with
 * one multiplication, so that each pair is one of radix 4. Frequencies leave in
 * bit-reversed order, 8 neighbours at a time, and `fft_stored` puts them right.
 *
 * Each part takes a packet and gives one in the same cycle, some cycles later than it came:
 * FFT_CYCLES for the first and the last, FFT_CYCLES - 1 for the transform.
 */
#ifndef FFT_PIPELINE_H
#define FFT_PIPELINE_H

#include "fft_data.h"
#include "fft_points.h"

#define FFT_STAGES (HF_LOG_SIZE - 3)
#define FFT_CYCLES (1 << FFT_STAGES)

/** Bits 0 .. FFT_STAGES - 1 of `t` in reverse. */
static inline uint fft_reversed(uint t) {
    uint r = 0;
    HF_UNROLL(FFT_STAGES)
    for (int i = 0; i < FFT_STAGES; i++)
        r |= (t >> i & 1) << (FFT_STAGES - 1 - i);
    return r;
}

/* ---- order ---- */

typedef hf_packet fft_fetch[2][8][FFT_CYCLES / 8];
typedef hf_packet fft_store[2][FFT_CYCLES];

/** Word `cycle` goes in as it is in memory; one comes out for the transform. */
static inline hf_packet fft_fetched(fft_fetch buffer, hf_packet packet, uint cycle) {
    const uint t = cycle % FFT_CYCLES, turn = cycle / FFT_CYCLES % 2;
    hf_packet out;
    HF_UNROLL(8)
    for (int l = 0; l < 8; l++)
        out.word[l] = buffer[1 - turn][l][t / 8].word[t % 8];
    buffer[turn][t / (FFT_CYCLES / 8)][t % (FFT_CYCLES / 8)] = packet;
    return out;
}

/** Word `cycle` goes in as the transform gives it; one comes out as memory takes it. */
static inline hf_packet fft_stored(fft_store buffer, hf_packet packet, uint cycle) {
    const uint t = cycle % FFT_CYCLES, turn = cycle / FFT_CYCLES % 2;
    buffer[turn][fft_reversed(t)] = packet;
    return buffer[1 - turn][t];
}

/* ---- over time ---- */

/* Stages are numbered by the binary logarithm of their delay. A multiplication follows the second
 * stage of each pair, but for the last stage of all. */
#define FFT_EACH(X) \
    X(13) X(12) X(11) X(10) X(9) X(8) X(7) X(6) X(5) X(4) X(3) X(2) X(1) X(0)
#define FFT_EXISTS(d)   ((d) < FFT_STAGES)
#define FFT_SECOND(d)   ((FFT_STAGES - (d)) % 2 == 0)
#define FFT_TWIDDLES(d) (FFT_EXISTS(d) && FFT_SECOND(d) && (d) > 0)

/** Butterflies of radix 2 between points 2^d cycles apart: sums leave at once, differences when
 *  the sums have left. The first stage of a pair multiplies differences by quarter turns. */
static inline fft_points fft_stage(fft_points *delay, fft_points x, uint cycle, int d) {
    const uint i = cycle % (1u << d);
    const int sums = cycle >> d & 1;
    const fft_points before = delay[i];
    fft_points y, next;
    HF_UNROLL(8)
    for (int l = 0; l < 8; l++) {
        y.re[l] = sums ? before.re[l] + x.re[l] : before.re[l];
        y.im[l] = sums ? before.im[l] + x.im[l] : before.im[l];
        next.re[l] = sums ? before.re[l] - x.re[l] : x.re[l];
        next.im[l] = sums ? before.im[l] - x.im[l] : x.im[l];
    }
    delay[i] = next;
    if (!FFT_SECOND(d) && d > 0 && !sums && i >> (d - 1))
        for (int l = 0; l < 8; l++)
            fft_quarter(&y, l);
    return y;
}

/* Delays, which start with any numbers, and roots of unity, in memories of their own. */
#define FFT_DECLARE_STAGE(d)                          \
    fft_points delay_##d[FFT_EXISTS(d) ? 1 << d : 1]; \
    fft_complex factors_##d[FFT_TWIDDLES(d) ? 4 << d : 1];
#define FFT_LOAD_STAGE(d)                                   \
    for (uint i = 0; FFT_EXISTS(d) && i < 1u << d; i++) {   \
        HF_PIPELINE                                         \
        delay_##d[i] = factors[0];                          \
    }                                                       \
    for (uint i = 0; FFT_TWIDDLES(d) && i < 4u << d; i++) { \
        HF_PIPELINE                                         \
        factors_##d[i] = *next++;                           \
    }
#define FFT_STAGE(d)                           \
    if (FFT_EXISTS(d))                         \
        x = fft_stage(delay_##d, x, cycle, d); \
    if (FFT_TWIDDLES(d))                       \
        x = fft_twiddled_alike(x, factors_##d[(cycle + (1u << d)) % (4u << d)]);

/** What the transform remembers, and its roots of unity from `twiddles`. */
#define FFT_DECLARE(twiddles)                     \
    HF_GLOBAL const fft_complex *next = twiddles; \
    fft_points factors[FFT_CYCLES];               \
    FFT_EACH(FFT_DECLARE_STAGE)                   \
    for (uint t = 0; t < FFT_CYCLES; t++)         \
        for (int l = 0; l < 8; l++) {             \
            HF_PIPELINE                           \
            factors[t].re[l] = next->re;          \
            factors[t].im[l] = next++->im;        \
        }                                         \
    FFT_EACH(FFT_LOAD_STAGE)

/** The points `x` of a cycle become those that leave the pipeline. */
#define FFT_TRANSFORM(x, cycle)                                   \
    x = fft_twiddled(fft_across(x), factors[cycle % FFT_CYCLES]); \
    FFT_EACH(FFT_STAGE)

/** Put the roots exp(-2 pi i k / size) in the order in which FFT_DECLARE takes them: for
 *  cycle t and word l the power t l; for each multiplication the four quarters of a
 *  block, frequencies 0, 2, 1 and 3 modulo 4. */
HF_KERNEL(fft_twiddles, HF_READ(fft_complex, roots), HF_WRITE(fft_complex, twiddles)) {
    uint at = 0;
    for (uint t = 0; t < FFT_CYCLES; t++)
        for (uint l = 0; l < 8; l++)
            twiddles[at++] = roots[t * l];
    for (int d = FFT_STAGES - 2; d > 0; d -= 2)
        for (uint quarter = 0; quarter < 4; quarter++)
            for (uint i = 0; i < 1u << d; i++)
                twiddles[at++] = roots[(i * (quarter >> 1 | (quarter & 1) << 1))
                                       << (HF_LOG_SIZE - 2 - d)];
}

#endif
