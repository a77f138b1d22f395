/* stream_memory.cl - STREAM for FPGAs: one pipeline at a time, through a local buffer.
 *
 * One kernel does all operations: out = scalar * one, and + two where `sum` is set. It
 * fills a buffer of HF_BUFFER_SIZE elements from `one`, adds those of `two`, and writes it
 * out, so that memory sees one long burst after the other. Each loop takes a word, HF_VECTOR
 * x HF_GLOBAL_MEM_UNROLL elements, per clock cycle: with one bank per replication, 64 bytes a
 * cycle are all that a bank gives.
 */
#include "stream_words.h"

#ifndef HF_REPLICATIONS
#define HF_REPLICATIONS 1
#endif
#ifndef HF_BUFFER_SIZE
#define HF_BUFFER_SIZE 4096
#endif
#if HF_BUFFER_SIZE < STREAM_WORD || HF_BUFFER_SIZE % STREAM_WORD != 0
#error "HF_BUFFER_SIZE, the elements of the buffer, must be a multiple of a word's"
#endif
/* In emulation local memory is the stack of a thread, often of 8 MiB. */
#if !defined(HF_INTEL) && !defined(HF_XILINX) && \
    HF_BUFFER_SIZE * HF_REAL_BYTES > 6291456
#error "HF_BUFFER_SIZE: the buffer has 6 MiB in emulation: 786432 elements in double"
#endif

/** Pieces of the buffer. */
#define STREAM_BUFFER (HF_BUFFER_SIZE / STREAM_PIECE)

/** Write the buffer to device memory, by one kind of store. */
#define BUFFER_STORE(STORE)                         \
    for (uint i = 0; i < end; i += STREAM_PIECES) { \
        HF_PIPELINE                                 \
        HF_UNROLL(STREAM_PIECES)                    \
        for (uint l = 0; l < STREAM_PIECES; l++)    \
            STORE(block + i + l, buffer[i + l]);    \
    }
#define STORE_CACHED(at, piece) STREAM_STORE(&to[at], piece)
/** A store past the caches, which meanwhile fetch the next block's input. */
#define STORE_PAST(at, piece)                       \
    {                                               \
        HF_STORE_PAST(&to[at], piece);              \
        HF_PREFETCH_READ(&x[(at) + STREAM_BUFFER]); \
    }

/** out[i] = scalar * one[i] (+ two[i]); `n` is a multiple of STREAM_WORD. `out` is neither
 *  of the others. */
HF_REPLICATED_KERNEL(stream_apply, HF_WRITE(HF_REAL, out), HF_READ(HF_REAL, one),
                     HF_READ(HF_REAL, two), HF_VALUE(float, scalar),
                     HF_VALUE(uint, sum), HF_VALUE(ulong, n)) {
    HF_GLOBAL stream_piece *HF_RESTRICT to = (HF_GLOBAL stream_piece *)out;
    HF_GLOBAL const stream_piece *HF_RESTRICT x = (HF_GLOBAL const stream_piece *)one;
    HF_GLOBAL const stream_piece *HF_RESTRICT y = (HF_GLOBAL const stream_piece *)two;
    const HF_REAL s = (HF_REAL)scalar;
    const ulong pieces = n / STREAM_PIECE;
    for (ulong block = 0; block < pieces; block += STREAM_BUFFER) {
        stream_piece buffer[STREAM_BUFFER] __attribute__((aligned(64)));
        const uint end =
            pieces - block < STREAM_BUFFER ? (uint)(pieces - block) : STREAM_BUFFER;
        for (uint i = 0; i < end; i += STREAM_PIECES) {
            HF_PIPELINE
            HF_UNROLL(STREAM_PIECES)
            for (uint l = 0; l < STREAM_PIECES; l++)
                buffer[i + l] = s * x[block + i + l];
        }
        for (uint i = 0; sum && i < end; i += STREAM_PIECES) {
            HF_PIPELINE
            HF_UNROLL(STREAM_PIECES)
            for (uint l = 0; l < STREAM_PIECES; l++)
                buffer[i + l] += y[block + i + l];
        }
        if (HF_LARGE(n * HF_REAL_BYTES))
            BUFFER_STORE(STORE_PAST)
        else
            BUFFER_STORE(STORE_CACHED)
    }
}

HF_HOST_FILE(stream_memory, HF_HOST_KERNEL(stream_apply))
