/* ptrans.c - models of the matrix transposition C = B + A^T.
 *
 * Equations 5 and 6 and the network bound of Meyer, Kenter and Plessl, "Multi-FPGA designs
 * and scaling of HPC Challenge benchmarks via MPI and circuit-switched inter-FPGA networks".
 * Eq. 5 is printed with a product where the clock divides, and the bound without the bytes
 * of a value.
 */
#include "core/work.h"
#include "model.h"

static void rates_fill(double size, double value_bytes, double time, double *flops,
                       double *bandwidth) {
    *flops = hf_ptrans_operations(size) / time;
    *bandwidth = HF_PTRANS_ARRAYS * value_bytes * *flops;
}

/* Eq. 6 and the network bound. */
static const hf_term channel_inputs[] = {
    HF_TERM("matrix_size", "1", "rows and columns n of the matrices"),
    HF_TERM("ranks", "1", "boards, each with its partner"),
    {"replications", "1", "pairs of kernels on a board, a channel each",
     "network.ports", NAN, NULL, false},
    {"width", "B", "bytes that a channel takes per cycle", "network.width", NAN, NULL,
     false},
    {"clock", "Hz", "clock of the channels", "network.clock", NAN, NULL, false},
    {"banks", "1", "memory banks of a board", "memory.banks", NAN, NULL, false},
    {"bank_bandwidth", "B/s", "of a memory bank", "memory.bank_bandwidth", NAN, NULL,
     false},
    {"value_bytes", "B", "of a value: 4 for float, 8 for double", NULL, 4,
     "data_type:bytes", false},
    {"diagonal", "1", "1: the diagonal distribution; 0: pq. It changes nothing here",
     NULL, 0, "distribution:diagonal", true},
    {0},
};
static const hf_term channel_outputs[] = {
    HF_TERM("time", "s", "one step of the slowest rank"),
    HF_TERM("flops", "FLOP/s", "additions of all ranks per second"),
    HF_TERM("bandwidth", "B/s", "bytes of A, B and C per second, of all ranks"),
    HF_TERM("global_bandwidth", "B/s",
            "what the memory of a board must move for its channels to be busy"),
    {0},
};

static void channel_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], ranks = in[1][i], value_bytes = in[7][i];
        double network = in[2][i] * in[3][i] * in[4][i], memory = in[5][i] * in[6][i];
        out[3][i] = 3 * network;
        double rate = fmin(network, memory / 3);
        out[0][i] = size * size * value_bytes / (ranks * rate);
        rates_fill(size, value_bytes, out[0][i], &out[1][i], &out[2][i]);
    }
}

/* Part of the blocks of the fullest exchange that go to another rank. Rank (p, q) keeps
 * some where p = q modulo the grid's common divisor. In the diagonal distribution only the
 * few on the diagonal stay, which do not count here. */
static double moved_share(double ranks, double rows, double diagonal) {
    if (diagonal > 0)
        return ranks > 1;
    double p = rows > 0 ? rows : hf_grid_rows(ranks);
    return hf_common_divisor(p, floor(ranks / p)) > 1 ? 1 : 1 - 1 / ranks;
}

static const hf_term parted_outputs[] = {
    HF_TERM("time", "s", "one step of the slowest rank"),
    HF_TERM("flops", "FLOP/s", "additions of all ranks per second"),
    HF_TERM("bandwidth", "B/s", "bytes of A, B and C per second, of all ranks"),
    HF_TERM("transfer_time", "s", "device to host and back"),
    HF_TERM("exchange_time", "s", "host to host"),
    HF_TERM("kernel_time", "s", "of the kernels"),
    {0},
};

static void parts_sum(size_t i, double size, double value_bytes, double *const *out) {
    out[0][i] = out[3][i] + out[4][i] + out[5][i];
    rates_fill(size, value_bytes, out[0][i], &out[1][i], &out[2][i]);
}

/* Inputs of every way without channels, at the end. */
/* clang-format off */
#define GRID_TERMS                                                                     \
    {"value_bytes", "B", "of a value: 4 for float, 8 for double", NULL, 4,             \
     "data_type:bytes", false},                                                        \
    {"rows", "1", "P of the grid; 0: as square as can be", NULL, 0, "grid:rows", true}, \
    {"diagonal", "1", "1: the diagonal distribution; 0: pq", NULL, 0,                  \
     "distribution:diagonal", true}
/* clang-format on */

/* Eq. 5 for all blocks of a rank: t_MPI is read, MPI and write, one after the other. */
static const hf_term pcie_inputs[] = {
    HF_TERM("matrix_size", "1", "rows and columns n of the matrices"),
    HF_TERM("ranks", "1", "of the grid"),
    {"block_size", "1", "rows and columns b of a block", NULL, 512, NULL, false},
    {"replications", "1", "kernels on a board, a memory bank each", "memory.banks", 1,
     NULL, false},
    {"width", "B", "bytes that a pipeline takes per cycle", NULL, 64, NULL, false},
    {"clock", "Hz", "clock of the kernels", "kernel_clock.ptrans_pcie", NAN, NULL,
     false},
    {"write_bandwidth", "B/s", "host to device", "pcie.write_bandwidth", NAN, NULL,
     false},
    {"read_bandwidth", "B/s", "device to host", "pcie.read_bandwidth", NAN, NULL,
     false},
    {"network_bandwidth", "B/s", "host to host", "host.bandwidth", NAN, NULL, false},
    GRID_TERMS,
    {0},
};

static void pcie_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], ranks = in[1][i], b = in[2][i], value_bytes = in[9][i];
        double width = ceil(size / b), blocks = ceil(width * width / ranks);
        double moved =
            moved_share(ranks, in[10][i], in[11][i]) * blocks * b * b * value_bytes;
        double lanes = in[4][i] / value_bytes;
        out[3][i] = moved / in[6][i] + moved / in[7][i];
        out[4][i] = moved / in[8][i];
        out[5][i] = ceil(blocks / in[3][i]) * 3 * b * b / (lanes * in[5][i]);
        parts_sum(i, size, value_bytes, out);
    }
}

/* Without a device: the network, and three passes through the memory. */
static const hf_term host_inputs[] = {
    HF_TERM("matrix_size", "1", "rows and columns n of the matrices"),
    HF_TERM("ranks", "1", "of the grid"),
    {"network_bandwidth", "B/s", "host to host", "host.bandwidth", NAN, NULL, false},
    HF_TERM("memory_bandwidth", "B/s", "of the memory of a rank"),
    GRID_TERMS,
    {0},
};

static void host_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], ranks = in[1][i], value_bytes = in[4][i];
        double bytes = size * size * value_bytes / ranks;
        out[3][i] = 0;
        out[4][i] = moved_share(ranks, in[5][i], in[6][i]) * bytes / in[2][i];
        out[5][i] = 3 * bytes / in[3][i];
        parts_sum(i, size, value_bytes, out);
    }
}

static const hf_formula formulas[] = {
    {HF_EXPECTED, "channel",
     "Eq. 6 and the network bound: every block crosses a channel, and three pass the "
     "memory meanwhile; counts n^2 additions",
     channel_inputs, channel_outputs, channel_eval},
    {HF_EXPECTED, "pcie",
     "Eq. 5 with the clock dividing: read, MPI, write and three pipelines one after "
     "the other; counts n^2 additions",
     pcie_inputs, parted_outputs, pcie_eval},
    {HF_EXPECTED, "host",
     "MPI, then three passes through the memory; counts n^2 additions", host_inputs,
     parted_outputs, host_eval},
    {0},
};

const hf_model_ops hf_model_ptrans = {
    .name = "ptrans",
    .summary =
        "matrix transposition over external channels, PCIe and MPI, or MPI alone",
    .formulas = formulas,
};
