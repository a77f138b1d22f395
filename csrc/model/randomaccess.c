/* randomaccess.c - model of RandomAccess.
 *
 * Section 3.4 of Meyer, Kenter and Plessl, "Multi-FPGA designs and scaling of HPC Challenge
 * benchmarks via MPI and circuit-switched inter-FPGA networks": an update is a read and a
 * write of a memory bank, each a clock cycle of its kernel.
 */
#include "core/work.h"
#include "model.h"

static const hf_term inputs[] = {
    HF_TERM("words", "1", "words of the whole table"),
    HF_TERM("ranks", "1", "devices that share the table"),
    {"banks", "1", "memory banks of a device", "memory.banks", NAN, NULL, false},
    {"clock", "Hz", "clock of the kernels", "kernel_clock.random_access", NAN, NULL,
     false},
    {"replications", "1", "kernels of a device; 0: one for each bank", NULL, 0, NULL,
     true},
    {0},
};
static const hf_term outputs[] = {
    HF_TERM("time", "s", "4 updates for each word"),
    HF_TERM("updates", "1/s", "updates of all ranks per second"),
    {0},
};

static void device_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double banks = in[2][i], kernels = in[4][i] > 0 ? in[4][i] : banks;
        out[1][i] = in[1][i] * fmin(kernels, banks) * in[3][i] / 2;
        out[0][i] = HF_RANDOMACCESS_UPDATES * in[0][i] / out[1][i];
    }
}

static const hf_formula formulas[] = {
    {HF_EXPECTED, NULL,
     "ranks x banks in use x clock / 2: a read and a write per update", inputs, outputs,
     device_eval},
    {0},
};

const hf_model_ops hf_model_randomaccess = {
    .name = "randomaccess",
    .summary = "random updates, two clock cycles of a memory bank each",
    .formulas = formulas,
};
