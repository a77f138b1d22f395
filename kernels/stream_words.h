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

/** Elements that an instruction takes. On CPUs they are a vector, up to a cache line:
 *  from single elements LLVM makes gathers and scatters for AVX-512. GPUs coalesce pieces
 *  of 16 bytes. The compilers for FPGAs take a word apart by themselves. */
#if !defined(__OPENCL_VERSION__) || defined(HF_INTEL)
#define STREAM_BYTES HF_REAL_BYTES
#elif defined(__x86_64__) || defined(__aarch64__)
#define STREAM_BYTES 64
#else
#define STREAM_BYTES 16
#endif
#if STREAM_WORD % (STREAM_BYTES / HF_REAL_BYTES) == 0
#define STREAM_PIECE (STREAM_BYTES / HF_REAL_BYTES)
#else
#define STREAM_PIECE HF_VECTOR
#endif
/** A plain store, beside HF_STORE_PAST. Each kind of store has a loop of its own: LLVM turns two
 *  kinds in one loop into one. */
#define STREAM_STORE(address, x) (*(address) = (x))

/** Pieces of a word. */
#define STREAM_PIECES (STREAM_WORD / STREAM_PIECE)

#if STREAM_PIECE == 1
typedef HF_REAL stream_piece;
#else
typedef HF_REAL stream_piece __attribute__((ext_vector_type(STREAM_PIECE)));
#endif

#endif
