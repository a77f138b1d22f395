/* gemm_layout.h - how matrices lie in memory, for kernels and for the host.
 *
 * A row of n elements is padded with zeros to whole strips, so that wide words of memory
 * are aligned and belong to one row.
 */
#ifndef GEMM_LAYOUT_H
#define GEMM_LAYOUT_H

#define HF_GEMM_STRIP  16
#define HF_GEMM_ROW(n) (((n) + HF_GEMM_STRIP - 1) / HF_GEMM_STRIP * HF_GEMM_STRIP)

#if defined(HF_KERNEL_H) && !defined(HF_REAL)
#define HF_REAL float
#endif

/* Kernels: HF_SUM is the type of sums, alpha and beta; in half, sums would lose too much. */
#define HF_GEMM_BYTES_float     4
#define HF_GEMM_BYTES_double    8
#define HF_GEMM_BYTES_half      2
#define HF_GEMM_SUM_float       float
#define HF_GEMM_SUM_double      double
#define HF_GEMM_SUM_half        float
#define HF_GEMM_OF_(what, type) HF_GEMM_##what##_##type
#define HF_GEMM_OF(what, type)  HF_GEMM_OF_(what, type)
#define HF_SUM                  HF_GEMM_OF(SUM, HF_REAL)

#ifdef __OPENCL_VERSION__
#if HF_GEMM_OF(BYTES, HF_REAL) == 2
#ifndef cl_khr_fp16
#error "data_type: this device does not compute in half precision"
#endif
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#elif HF_GEMM_OF(BYTES, HF_REAL) == 8 && !defined(cl_khr_fp64)
#error "data_type: this device does not compute in double precision"
#endif
#endif

#endif
