/* stream_words.h - what both shapes of STREAM are built from: element type and words. */
#ifndef STREAM_WORDS_H
#define STREAM_WORDS_H

#include "hf_kernel.h"

#ifndef HF_REAL
#define HF_REAL float
#endif
#ifndef HF_VECTOR
#define HF_VECTOR 16
#endif
#ifndef HF_MEMORY_UNROLL
#define HF_MEMORY_UNROLL 1
#endif

#if HF_VECTOR < 1 || HF_VECTOR > 64 || (HF_VECTOR & (HF_VECTOR - 1)) != 0
#error "HF_VECTOR, the elements of a vector, must be a power of two up to 64"
#endif
#if HF_MEMORY_UNROLL < 1
#error "HF_MEMORY_UNROLL, the vectors of a word, must be at least 1"
#endif

/** Elements of a word, which a pipeline takes per clock cycle; arrays hold whole words. */
#define STREAM_WORD (HF_VECTOR * HF_MEMORY_UNROLL)

/** Bytes of an element, for the preprocessor. */
#define STREAM_BYTES_half         2
#define STREAM_BYTES_float        4
#define STREAM_BYTES_double       8
#define STREAM_BYTES_PASTED(type) STREAM_BYTES_##type
#define STREAM_BYTES_OF(type)     STREAM_BYTES_PASTED(type)
#define STREAM_BYTES              STREAM_BYTES_OF(HF_REAL)

#if defined(__OPENCL_VERSION__) && STREAM_BYTES == 2
#ifndef cl_khr_fp16
#error "data_type: this device does not compute in half precision"
#endif
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#if defined(__OPENCL_VERSION__) && STREAM_BYTES == 8 && !defined(cl_khr_fp64)
#error "data_type: this device does not compute in double precision"
#endif

#endif
