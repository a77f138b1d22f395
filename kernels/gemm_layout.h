/* gemm_layout.h - how matrices lie in memory, for kernels and for the host.
 *
 * A row of n elements is padded with zeros to whole strips, so that wide words of memory
 * are aligned and belong to one row.
 */
#ifndef GEMM_LAYOUT_H
#define GEMM_LAYOUT_H

#define HF_GEMM_STRIP  16
#define HF_GEMM_ROW(n) (((n) + HF_GEMM_STRIP - 1) / HF_GEMM_STRIP * HF_GEMM_STRIP)

/* Kernels: HF_SUM is the type of sums, alpha and beta; in half, sums would lose too much. */
#define HF_GEMM_SUM_float     float
#define HF_GEMM_SUM_double    double
#define HF_GEMM_SUM_half      float
#define HF_GEMM_SUM_OF_(real) HF_GEMM_SUM_##real
#define HF_GEMM_SUM_OF(real)  HF_GEMM_SUM_OF_(real)
#define HF_SUM                HF_GEMM_SUM_OF(HF_REAL)

#endif
