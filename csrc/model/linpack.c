/* linpack.c - models of the factorisation: cycles of its four kernels on a torus of boards.
 *
 * `pcie` is the model of the documentation of Meyer, Kenter and Plessl's suite, in which
 * everything comes one after the other. `channel` is that of their evaluation of 2021 (function
 * perf_last): the inner blocks are multiplied beside the next diagonal. It has three constants
 * that were fitted to measurements of one board, the BittWare 520N.
 *
 * `host` is a bound: the rate of products, which is not reached before n is large.
 *
 * A refined run also takes the time of its solutions with L and U and of its products with A. These
 * terms are this project's own: each reads the n^2 elements of a matrix once, a fixed number per
 * cycle of its kernels. In a product all boards work at once. The row blocks of a solution follow
 * each other, so only the boards of one column of the torus work at a time.
 *
 * The first two models count the blocks of a board: on a torus of P x Q boards, of N blocks of a
 * column N / P each, of N blocks of a row N / Q. They were published with P = Q.
 */
#include "core/work.h"
#include "model.h"

static const hf_term outputs[] = {
    HF_TERM("time", "s", "the factorisation; refined: with solution and corrections"),
    HF_TERM("flops", "FLOP/s",
            "2/3 n^3 operations of all boards per second; refined: + 3/2 n^2"),
    {0},
};

/* More are not summed up; the formulas' summaries say so. */
static const double MOST_BLOCKS = 1e7;

/* Blocks in a row of A; 0: too many. */
static size_t blocks_of(double n, double b) {
    double blocks = ceil(n / b);
    return blocks <= MOST_BLOCKS ? (size_t)blocks : 0;
}

/* ---- the solution and its corrections ---- */

#define REFINE_TERMS                                                                  \
    {"classical",        "1", "1: the solution is refined so, else 0", NULL, 0,       \
     "refine:classical", true},                                                       \
        {"gmres",        "1", "1: the solution is refined so, else 0", NULL, 0,       \
         "refine:gmres", true},                                                       \
    {                                                                                 \
        "value_bytes", "B", "of a value of L and U: 4 for float, 8 for double", NULL, \
            4, "data_type:bytes", false                                               \
    }
#define LANES_TERM                                                                     \
    {                                                                                  \
        "lanes", "1", "elements per cycle of kernels that solve, or make A", NULL, 16, \
            NULL, false                                                                \
    }

/* c corrections take c products and 1 + c solutions, with gmres one more of each. REFINE_TERMS
 * begin at input `at`. `solution` and `product` are the times of one [s]. */
static void refined_fill(size_t i, const double *const *in, size_t at, double factor,
                         double solution, double product, double *const *out) {
    double n = in[0][i], gmres = in[at + 1][i] > 0;
    bool refined = in[at][i] > 0 || gmres;
    double corrections = hf_linpack_corrections(in[at + 2][i]);
    double after =
        (1 + corrections + gmres) * solution + (corrections + gmres) * product;
    out[0][i] = factor + (refined ? after : 0);
    out[1][i] =
        (refined ? hf_linpack_refined_operations(n) : hf_linpack_operations(n)) /
        out[0][i];
}

/* n^2 / (l f) cycles' worth of elements: a product on all boards, a solution on one column of
 * `rows` boards. */
static void boards_fill(size_t i, const double *const *in, size_t at, double rows,
                        double factor, double clock, double *const *out) {
    double n = in[0][i], ranks = in[1][i], pass = n * n / (in[at + 3][i] * clock);
    refined_fill(i, in, at, factor, pass / rows, pass / ranks, out);
}

/* ---- one after the other ---- */

static const hf_term serial_inputs[] = {
    HF_TERM("matrix_size", "1", "rows and columns n of A"),
    HF_TERM("ranks", "1", "boards of the torus"),
    {"block_size", "1", "rows and columns b of a block", NULL, 512, NULL, false},
    {"gemm_size", "1", "rows and columns s of a tile, a product per cycle", NULL, 8,
     NULL, false},
    {"replications", "1", "kernels r that multiply inner blocks", NULL, 5, NULL, false},
    {"clock", "Hz", "clock f of the kernels", "kernel_clock.linpack_pcie", NAN, NULL,
     false},
    {"memory_clock", "Hz", "clock of the memory's interface", "memory.clock", NAN, NULL,
     false},
    REFINE_TERMS,
    LANES_TERM,
    {"rows", "1", "P of the torus; 0: as square as can be", NULL, 0, "grid:rows", true},
    {0},
};

/* t_lu = 2 b^2 / (s m) + b^2 / (2 s f) + b (s + 100) / f + b (b / s)^2 / (2 f),
 * t_mm = 2 b^2 / (s m) + (b / s)^3 / f with m = min(f, memory clock), and for N blocks
 * T = sum of i from 1 to N - 1 of i / min(P, Q) t_lu + ceil((i - 1) i / (P Q r)) t_mm +
 * (b / s)^2 / f, + t_lu. */
static void serial_eval(size_t count, const double *const *in, double *const *out) {
    for (size_t i = 0; i < count; i++) {
        double n = in[0][i], ranks = in[1][i], b = in[2][i], s = in[3][i];
        double p = in[11][i] > 0 ? in[11][i] : hf_grid_rows(ranks);
        double r = in[4][i], f = in[5][i], memory = fmin(f, in[6][i]);
        double lu = 2 * b * b / (s * memory) + b * b / (2 * s * f) + b * (s + 100) / f +
                    b * (b / s) * (b / s) / (2 * f);
        double product = 2 * b * b / (s * memory) + pow(b / s, 3) / f, time = lu;
        size_t blocks = blocks_of(n, b);
        for (size_t row = 1; row < blocks; row++) {
            double k = (double)row;
            time += k / fmin(p, ranks / p) * lu +
                    ceil((k - 1) * k / (ranks * r)) * product + (b / s) * (b / s) / f;
        }
        boards_fill(i, in, 7, p, blocks > 0 ? time : NAN, f, out);
    }
}

/* ---- inner blocks beside the next diagonal ---- */

static const hf_term overlap_inputs[] = {
    HF_TERM("matrix_size", "1", "rows and columns n of A"),
    HF_TERM("ranks", "1", "boards, as a torus as square as can be"),
    {"block_size", "1", "rows and columns b of a block", NULL, 512, NULL, false},
    {"gemm_size", "1", "rows and columns g of a tile, a product per cycle", NULL, 8,
     NULL, false},
    {"replications", "1", "kernels r that multiply inner blocks", NULL, 5, NULL, false},
    {"clock", "Hz", "clock f of the kernels", "kernel_clock.linpack_channel", NAN, NULL,
     false},
    {"channel_clock", "Hz", "clock of the channels, as fitted to the 520N", NULL, 157e6,
     NULL, false},
    {"product_passes", "1",
     "blocks read and written per product, as fitted to the 520N", NULL, 3.5, NULL,
     false},
    {"row_latency", "1", "cycles between rows of lu, as fitted to the 520N", NULL, 300,
     NULL, false},
    REFINE_TERMS,
    LANES_TERM,
    {0},
};

/* t_mm = 3.5 b^2 / (g f) + (b / g)^3 / f,
 * t_lu = 4 b^2 / (g f) + sum of i below b of 300 / f + (b / g) / channel clock +
 *        b (b - g floor(i / g)) / (g^2 f),
 * and for N blocks a row and P <= Q, T = t_lu + max(N / P - 2, 0) t_lu + sum of i from 1 to N - 1
 * of the longer of (i / P + i / Q - 1) / r t_mm + t_lu + max(ceil(i / P) - 2, 0) t_lu and
 * i^2 / (P Q r) t_mm. */
static void overlap_eval(size_t count, const double *const *in, double *const *out) {
    for (size_t i = 0; i < count; i++) {
        double n = in[0][i], ranks = in[1][i], b = in[2][i], g = in[3][i];
        double p = hf_grid_rows(ranks), q = ranks / p;
        double r = in[4][i], f = in[5][i];
        double product = in[7][i] * b * b / (g * f) + pow(b / g, 3) / f;
        double lu = 4 * b * b / (g * f);
        size_t rows = blocks_of(b, 1), blocks = blocks_of(n, b);
        for (size_t row = 0; row < rows; row++)
            lu += in[8][i] / f + b / g / in[6][i] +
                  b * (b - g * floor((double)row / g)) / (g * g * f);
        double time = lu + fmax((double)blocks / p - 2, 0) * lu;
        for (size_t block = 1; block < blocks; block++) {
            double k = (double)block, down = k / p, across = k / q;
            time += fmax((down + across - 1) / r * product + lu +
                             fmax(ceil(down) - 2, 0) * lu,
                         down * across / r * product);
        }
        boards_fill(i, in, 9, p, rows > 0 && blocks > 0 ? time : NAN, f, out);
    }
}

/* ---- processors ---- */

static const hf_term host_inputs[] = {
    HF_TERM("matrix_size", "1", "rows and columns n of A"),
    HF_TERM("ranks", "1", "of the grid"),
    HF_TERM("product_rate", "FLOP/s", "of products of matrices on a rank"),
    REFINE_TERMS,
    {"memory_bandwidth", "B/s",
     "of a rank, for the elements of L and U in solutions; 0: these take no time", NULL,
     0, NULL, true},
    {"element_rate", "1/s",
     "of elements of A by their formula on a rank; 0: these take no time", NULL, 0,
     NULL, true},
    {0},
};

static void host_eval(size_t count, const double *const *in, double *const *out) {
    for (size_t i = 0; i < count; i++) {
        double n = in[0][i], ranks = in[1][i], bandwidth = in[6][i], rate = in[7][i];
        double solution = bandwidth > 0 ? n * n * in[5][i] / (ranks * bandwidth) : 0;
        double product = rate > 0 ? n * n / (ranks * rate) : 0;
        refined_fill(i, in, 3, hf_linpack_operations(n) / (ranks * in[2][i]), solution,
                     product, out);
    }
}

static const hf_formula formulas[] = {
    {HF_EXPECTED, "channel",
     "the inner blocks beside the next diagonal, with constants fitted to the 520N, up "
     "to 1e7 blocks a row; counts 2/3 n^3 operations, refined 3/2 n^2 more",
     overlap_inputs, outputs, overlap_eval},
    {HF_EXPECTED, "pcie",
     "all kernels one after the other, no time for PCIe and MPI, up to 1e7 blocks a "
     "row; counts 2/3 n^3 operations, refined 3/2 n^2 more",
     serial_inputs, outputs, serial_eval},
    {HF_EXPECTED, "host",
     "products of matrices, and given rates of a refinement; counts 2/3 n^3 "
     "operations, refined 3/2 n^2 more",
     host_inputs, outputs, host_eval},
    {0},
};

const hf_model_ops hf_model_linpack = {
    .name = "linpack",
    .summary = "LU factorisation by the cycles of its kernels, with or without overlap",
    .formulas = formulas,
};
