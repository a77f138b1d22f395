/* stream_words.h - what both shapes of STREAM are built from: words of elements. */
#ifndef STREAM_WORDS_H
#define STREAM_WORDS_H

#include "hf_real.h"

#ifndef HF_VECTOR
#define HF_VECTOR 16
#endif
#ifndef HF_GLOBAL_MEM_UNROLL
#define HF_GLOBAL_MEM_UNROLL 1
#endif

#if HF_VECTOR < 1 || HF_VECTOR > 64 || (HF_VECTOR & (HF_VECTOR - 1)) != 0
#error "HF_VECTOR, the elements of a vector, must be a power of two up to 64"
#endif
#if HF_GLOBAL_MEM_UNROLL < 1
#error "HF_GLOBAL_MEM_UNROLL, the vectors of a word, must be at least 1"
#endif

/** Elements of a word, which a pipeline takes per clock cycle; arrays hold whole words. */
#define STREAM_WORD (HF_VECTOR * HF_GLOBAL_MEM_UNROLL)

/** In front of a loop over the elements of a word: all at the same time, or 16 of them
 *  where a CPU's compiler would take minutes. */
#if defined(__OPENCL_VERSION__) && !defined(HF_INTEL)
#define STREAM_UNROLL _Pragma("unroll 16")
#else
#define STREAM_UNROLL HF_UNROLL(STREAM_WORD)
#endif

#endif
