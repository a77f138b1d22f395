/* gemm.h - what the files of gemm share. */
#ifndef HF_GEMM_H
#define HF_GEMM_H

#include "bench.h"
#include "core/element.h"
#include "gemm_layout.h"

/** Entries of a table of parameters: knobs of gemm_tiles.h. */
/* clang-format off */
#define HF_GEMM_TILE_PARAMS                                                            \
    {"gemm_size", "width of a tile in registers; pipeline only", "8", NULL,            \
     "HF_GEMM_SIZE", 1, 256, HF_INT},                                                  \
    {"global_mem_unroll", "elements read per clock cycle; pipeline only", "16", NULL,  \
     "HF_GLOBAL_MEM_UNROLL", 1, HF_GEMM_STRIP, HF_INT}
/* clang-format on */

enum {
    HF_GEMM_SHIFTS = 8,  /* samples that differ in their input */
    HF_GEMM_VECTORS = 8, /* random vectors that a product is tried with */
};

/** Host copies of the matrices, and room to try a product. */
typedef struct gemm_data {
    const hf_element *type;
    uint64_t seed;            /**< this rank's */
    size_t n, shift;          /**< what `matrix` was made for; its first row in use */
    size_t cores;             /**< that make it */
    unsigned char *matrix[3]; /**< A, B, C0: [n + HF_GEMM_SHIFTS, HF_GEMM_ROW(n)] */
    double *x, *bx, *y;       /**< [n, HF_GEMM_VECTORS] */
} gemm_data;

/** `left`: of the host's memory, for this rank [B]. */
hf_status gemm_data_new(gemm_data *d, const hf_element *type, size_t largest,
                        uint64_t left);
void gemm_data_free(gemm_data *d);
/** Make A, B and C0 for n and this sample; each one differs from the one before. */
void gemm_data_make(gemm_data *d, size_t n, uint64_t sample);
/** Where the rows of matrix 0 to 2 begin. */
const unsigned char *gemm_data_rows(const gemm_data *d, size_t matrix);
/** Largest deviation of `product`, [n, HF_GEMM_ROW(n)], from alpha A B + beta C0, over
 *  what rounding explains; NaN if an element is one. */
double gemm_data_error(const gemm_data *d, const void *product, double alpha,
                       double beta, uint64_t sample);
/** Are elements of alpha A B of size n large beside what rounding explains? */
bool gemm_data_sees(const hf_element *type, size_t n, double alpha, double beta);

#endif
