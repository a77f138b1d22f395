/* stream.c - model of STREAM: what the memory banks and the kernels' clock allow.
 *
 * The published suite's model: each replication moves one word per clock cycle to or from a
 * bank of its own, and no bank gives more than its bandwidth. Replications beyond the banks
 * share those.
 */
#include "core/work.h"
#include "model.h"

static const hf_term inputs[] = {
    HF_TERM("operation", "1", "copy, scale, add or triad"),
    HF_TERM("ranks", "1", "boards"),
    {"size", "1", "elements of an array of a board", NULL, 16777216, NULL, false},
    {"value_bytes", "B", "of an element: 4 for float, 8 for double", NULL, 4,
     "data_type:bytes", false},
    {"banks", "1", "memory banks of a board", "memory.banks", NAN, NULL, false},
    {"bank_bandwidth", "B/s", "of a memory bank", "memory.bank_bandwidth", NAN, NULL,
     false},
    {"clock", "Hz", "of the kernels", "kernel_clock.stream", NAN, NULL, false},
    {"word", "B", "that a replication moves per clock cycle", NULL, 64, NULL, false},
    {"replications", "1", "kernels of a board; 0: one for each bank", NULL, 0, NULL,
     true},
    {0},
};
static const hf_term outputs[] = {
    HF_TERM("time", "s", "one operation on all arrays"),
    HF_TERM("bandwidth", "B/s", "bytes read and written by all boards per second"),
    {0},
};

static void device_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double arrays = hf_stream_arrays((size_t)in[0][i]);
        double bytes = in[1][i] * arrays * in[2][i] * in[3][i];
        double banks = in[4][i], kernels = in[8][i] > 0 ? in[8][i] : banks;
        double memory = fmin(kernels, banks) * in[5][i];
        out[1][i] = in[1][i] * fmin(memory, kernels * in[6][i] * in[7][i]);
        out[0][i] = bytes / out[1][i];
    }
}

static const hf_formula formulas[] = {
    {HF_EXPECTED, NULL,
     "min(banks in use x bank bandwidth, replications x clock x word), of all boards; "
     "counts bytes read and written",
     inputs, outputs, device_eval},
    {0},
};

const hf_model_ops hf_model_stream = {
    .name = "stream",
    .summary = "bandwidth of memory banks, each with a kernel of its own",
    .formulas = formulas,
};
