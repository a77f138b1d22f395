/* gemm_layout.h - how matrices lie in memory, for kernels and for the host.
 *
 * A row of n elements is padded with zeros to whole strips, so that wide words of memory
 * are aligned and belong to one row.
 */
#ifndef GEMM_LAYOUT_H
#define GEMM_LAYOUT_H

#define HF_GEMM_STRIP 16
#define HF_GEMM_BLOCK \
    128 /* most rows or columns of a panel, or of an ndrange kernel's block */
#define HF_GEMM_ROW(n) (((n) + HF_GEMM_STRIP - 1) / HF_GEMM_STRIP * HF_GEMM_STRIP)

#endif
