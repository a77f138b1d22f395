/* gemm.c - model of the matrix multiplication in blocks: loads, products and stores.
 *
 * Two models of the published suite in one. Its documentation adds up, for each product of
 * blocks of width b, the load of a block of A and of B, b^2 / (u f), the product itself,
 * (b / g)^3 / f_k, and the store of a block, once for n / b products. Its README hides the
 * loads behind the products (`hidden` is 1), and adds to a store the opening of another page
 * of the memory for every 256 elements (`activation`, there 21.6 ns).
 */
#include "core/work.h"
#include "model.h"

enum { PAGE = 256 }; /* elements of a memory page of 1 KiB */

static const hf_term inputs[] = {
    HF_TERM("matrix_size", "1", "width n of the matrices"),
    HF_TERM("ranks", "1", "boards, each with matrices of its own"),
    {"replications", "1", "kernels that share a product", "gemm.replications", NAN,
     NULL, false},
    {"block_size", "1", "width b of a block in local memory", "gemm.block_size", 256,
     NULL, false},
    {"gemm_size", "1", "width g of a tile in registers", "gemm.gemm_size", 8, NULL,
     false},
    {"global_mem_unroll", "1", "elements u read per clock cycle",
     "gemm.global_mem_unroll", 16, NULL, false},
    {"clock", "Hz", "of the kernels, f_k", "kernel_clock.gemm", NAN, NULL, false},
    {"memory_clock", "Hz",
     "of the memory, by default DDR4-2400; f is the lower of both", "memory.clock",
     300e6, NULL, false},
    {"hidden", "1", "part of the loads that products hide, 0 to 1", NULL, 0, NULL,
     true},
    {"activation", "s", "opening another page of the memory", NULL, 0, NULL, true},
    {0},
};
static const hf_term outputs[] = {
    HF_TERM("time", "s", "one multiplication"),
    HF_TERM("flops", "FLOP/s", "2 n^3 of all boards per second"),
    {0},
};

static void device_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], ranks = in[1][i], replications = in[2][i];
        double b = in[3][i], g = in[4][i], u = in[5][i], clock = in[6][i];
        double transfer = b * b / (u * fmin(clock, in[7][i]));
        double load = (1 - in[8][i]) * transfer, product = pow(b / g, 3) / clock;
        double store = transfer + b * b / PAGE * in[9][i];
        double blocks = ceil(size / b);
        double time = pow(blocks, 3) * (load + product) + pow(blocks, 2) * store;
        out[0][i] = time / replications;
        out[1][i] = ranks * hf_gemm_operations(size) / out[0][i];
    }
}

static const hf_formula formulas[] = {
    {HF_EXPECTED, NULL,
     "loads, products and stores of blocks, shared by the replications; counts 2 n^3 "
     "operations of every board",
     inputs, outputs, device_eval},
    {0},
};

const hf_model_ops hf_model_gemm = {
    .name = "gemm",
    .summary = "multiplication in blocks, at the pace of memory and kernels",
    .formulas = formulas,
};
