/* fft_check.c - whether the second block of fft has the transforms of its input.
 *
 * Every transform is compared at a few random frequencies with the sum that defines it, in double
 * precision: the input is one row of values times a factor for each transform (fft_input.h), so
 * that one sum per frequency serves the whole batch. And a sum with random weights over all of
 * its frequencies is compared: some in each other's place come back from where they should not be,
 * and differ there alone.
 */
#include <float.h>
#include <math.h>

#include "core/parallel.h"
#include "core/random.h"
#include "core/stats.h"
#include "fft.h"

enum { N_PROBES = 4 }; /* frequencies per sample */

/* Rounding of a transform and of its inverse grows with log2(size); the numbers are up to
 * 2, those of the second block larger by the square root of the size. */
double fft_bound(const fft *s) {
    return 2 * FLT_EPSILON * s->log_size;
}

/* Frequency `k` of the row of values, by definition: its real and imaginary part. */
static void row_sum(const fft *s, size_t k, double *sum) {
    sum[0] = sum[1] = 0;
    for (size_t j = 0; j < s->size; j++) {
        fft_complex value = fft_value((uint32_t)j, s->key);
        const double *root = s->roots + 2 * (j * k % s->size);
        sum[0] += value.re * root[0] - value.im * root[1];
        sum[1] += value.re * root[1] + value.im * root[0];
    }
}

/* Largest error of a frequency over all transforms. */
static double frequency_error(const fft *s, const fft_complex *block, size_t k) {
    double sum[2], most = 0;
    row_sum(s, k, sum);
    for (uint32_t b = 0; b < s->batch; b++) {
        fft_complex factor = fft_factor(b, s->key), is = block[b * s->size + k];
        most = hf_larger(most, fabs(is.re - (factor.re * sum[0] - factor.im * sum[1])));
        most = hf_larger(most, fabs(is.im - (factor.re * sum[1] + factor.im * sum[0])));
    }
    return most;
}

/* The sum over all frequencies k of transform b, times z^k, for one z on the unit circle. */
typedef struct mix {
    const fft *s;
    const fft_complex *block;
    double right[2]; /* of the row of values */
    size_t parts;
    double worst[HF_MAX_CORES];
} mix;

/* Weights of another z for each sample, and the right sum. With z^n not 1, weights and the right
 * factors of the values are geometric series. z lies between two of the roots, and far from 1, so
 * that no two neighbours have nearly the same weight. */
static void mix_begin(mix *m) {
    const fft *s = m->s;
    double n = (double)s->size,
           drawn = ldexp((double)(hf_random(s->key, s->sample) >> 11), -53),
           beside = 0.25 + 0.5 * drawn, turn = (floor(beside * n) + beside) / n,
           around = 2 * acos(-1),
           end[2] = {1 - cos(around * beside), -sin(around * beside)};
    m->right[0] = m->right[1] = 0;
    for (size_t k = 0; k < s->size; k++) {
        double at = turn * (double)k, angle = around * (at - floor(at)),
               off = around * (turn - (double)k / n),
               under[2] = {1 - cos(off), -sin(off)},
               square = under[0] * under[0] + under[1] * under[1],
               factor[2] = {(end[0] * under[0] + end[1] * under[1]) / square,
                            (end[1] * under[0] - end[0] * under[1]) / square};
        fft_complex value = fft_value((uint32_t)k, s->key);
        s->weights[2 * k] = cos(angle);
        s->weights[2 * k + 1] = sin(angle);
        m->right[0] += value.re * factor[0] - value.im * factor[1];
        m->right[1] += value.re * factor[1] + value.im * factor[0];
    }
}

static void part_mix(void *context, size_t part) {
    mix *m = context;
    const fft *s = m->s;
    double most = 0;
    for (size_t b = s->batch * part / m->parts; b < s->batch * (part + 1) / m->parts;
         b++) {
        const fft_complex *is = m->block + b * s->size,
                          factor = fft_factor((uint32_t)b, s->key);
        double re = 0, im = 0;
        for (size_t k = 0; k < s->size; k++) {
            re += is[k].re * s->weights[2 * k] - is[k].im * s->weights[2 * k + 1];
            im += is[k].re * s->weights[2 * k + 1] + is[k].im * s->weights[2 * k];
        }
        re -= factor.re * m->right[0] - factor.im * m->right[1];
        im -= factor.re * m->right[1] + factor.im * m->right[0];
        most = hf_larger(most, hf_larger(fabs(re), fabs(im)));
    }
    m->worst[part] = most;
}

/* Errors of single frequencies are independent, and so the sum's is larger than the bound of one
 * by the square root of their number at most. */
static double mix_error(const fft *s, const fft_complex *block) {
    mix m = {.s = s, .block = block, .parts = hf_cores()};
    double most = 0;
    mix_begin(&m);
    hf_parallel(m.parts, part_mix, &m);
    for (size_t part = 0; part < m.parts; part++)
        most = hf_larger(most, m.worst[part]);
    return most / (double)s->size / fft_bound(s);
}

double fft_forward_error(const fft *s, const fft_complex *block) {
    double most = mix_error(s, block), scale = sqrt((double)s->size) * fft_bound(s);
    for (uint64_t i = 0; i < N_PROBES; i++) {
        size_t k =
            (size_t)(hf_random(s->env.seed, ~(N_PROBES * s->sample + i)) % s->size);
        most = hf_larger(most, frequency_error(s, block, k) / scale);
    }
    return most;
}
