/* fft.c - model of the transforms: pipelines that take some points per clock cycle.
 *
 * Meyer, Kenter and Plessl's documentation of their suite: 5 LOG r 8 min(f_k, f_m) FLOP/s
 * for r pipelines, and t = (N / 8) / f for a transform of N points.
 */
#include "core/work.h"
#include "model.h"

static const hf_term inputs[] = {
    {"transform_size", "1", "points N of a transform, a power of two", NULL, 4096, NULL,
     false},
    HF_TERM("ranks", "1", "boards, each with transforms of its own"),
    {"replications", "1", "pipelines of a board", "fft.replications", 1, NULL, false},
    {"points_per_cycle", "1", "points that a pipeline takes per cycle", NULL, 8, NULL,
     false},
    {"batch", "1", "transforms of a board in a step", NULL, 1024, NULL, false},
    {"clock", "Hz", "clock of the kernels", "kernel_clock.fft", NAN, NULL, false},
    {"memory_clock", "Hz", "clock of the memory's interface", "memory.clock", NAN, NULL,
     false},
    {0},
};
static const hf_term outputs[] = {
    HF_TERM("time", "s", "one step: all transforms of a board"),
    HF_TERM("flops", "FLOP/s", "5 N log2(N) operations per transform, of all boards"),
    {0},
};

static void device_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], ranks = in[1][i], batch = in[4][i];
        double points = in[2][i] * in[3][i] * fmin(in[5][i], in[6][i]);
        out[0][i] = batch * size / points;
        out[1][i] = ranks * batch * hf_fft_operations(size) / out[0][i];
    }
}

static const hf_formula formulas[] = {
    {HF_EXPECTED, NULL,
     "5 LOG r 8 min(f_k, f_m): a transform's points pass a pipeline 8 per cycle; "
     "counts 5 N log2(N) operations of every transform of all boards",
     inputs, outputs, device_eval},
    {0},
};

const hf_model_ops hf_model_fft = {
    .name = "fft",
    .summary = "transforms at the pace of pipelines that take 8 points per cycle",
    .formulas = formulas,
};
