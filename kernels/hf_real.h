/* hf_real.h - HF_REAL, the type of elements, and what a device must have for it. */
#ifndef HF_REAL_H
#define HF_REAL_H

#include "hf_kernel.h"

#ifndef HF_REAL
#define HF_REAL float
#endif

#define HF_BYTES_float         4
#define HF_BYTES_double        8
#define HF_BYTES_half          2
#define HF_SUM_float           float
#define HF_SUM_double          double
#define HF_SUM_half            float
#define HF_PASTED(what, type)  HF_##what##_##type
#define HF_OF_TYPE(what, type) HF_PASTED(what, type)

/** Bytes of an element, for the preprocessor. */
#define HF_REAL_BYTES HF_OF_TYPE(BYTES, HF_REAL)
/** The type of sums of products, and of their factors: in half they would lose too much. */
#define HF_SUM HF_OF_TYPE(SUM, HF_REAL)

#if defined(HF_HOST) && HF_REAL_BYTES == 2
__extension__ typedef _Float16 half;
#endif
#ifdef __OPENCL_VERSION__
#if HF_REAL_BYTES == 2
#ifndef cl_khr_fp16
#error "data_type: this device does not compute in half precision"
#endif
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#elif HF_REAL_BYTES == 8 && !defined(cl_khr_fp64)
#error "data_type: this device does not compute in double precision"
#endif
#endif

#endif
