/* stream_ndrange.cl - STREAM for CPUs and GPUs: stream_memory.cl with many work-items.
 *
 * A work-group owns a contiguous part of the arrays. In it neighbouring work-items take
 * neighbouring pieces, which a GPU coalesces, as many at a time as a word has; one
 * work-item alone runs from end to end, as suits a core of a CPU.
 */
#include "stream_words.h"

#define EACH_PIECE _Pragma("unroll") for (uint k = 0; k < STREAM_PIECES; k++)

/** All trips of the loop, by one kind of store. */
#define TRIPS(STORE)                                              \
    for (; at + (STREAM_PIECES - 1) * stride < end; at += trip) { \
        stream_piece held[STREAM_PIECES];                         \
        EACH_PIECE held[k] = s * x[at + k * stride];              \
        if (sum)                                                  \
            EACH_PIECE held[k] += y[at + k * stride];             \
        EACH_PIECE STORE(&to[at + k * stride], held[k]);          \
    }

/** As in stream_memory.cl. */
HF_KERNEL(stream_apply, HF_WRITE(HF_REAL, out), HF_READ(HF_REAL, one),
          HF_READ(HF_REAL, two), HF_VALUE(float, scalar), HF_VALUE(uint, sum),
          HF_VALUE(ulong, n)) {
    HF_GLOBAL stream_piece *HF_RESTRICT to = (HF_GLOBAL stream_piece *)out;
    HF_GLOBAL const stream_piece *HF_RESTRICT x = (HF_GLOBAL const stream_piece *)one;
    HF_GLOBAL const stream_piece *HF_RESTRICT y = (HF_GLOBAL const stream_piece *)two;
    const HF_REAL s = (HF_REAL)scalar;
    const ulong stride = get_local_size(0), trip = stride * STREAM_PIECES;
    const ulong groups = get_num_groups(0), pieces = n / STREAM_PIECE;
    const ulong part = ((pieces + trip - 1) / trip + groups - 1) / groups * trip;
    const ulong from = get_group_id(0) * part;
    const ulong end = from + part < pieces ? from + part : pieces;
    ulong at = from + get_local_id(0);
    if (HF_LARGE(n * HF_REAL_BYTES))
        TRIPS(HF_STORE_PAST)
    else
        TRIPS(STREAM_STORE)
    for (; at < end; at += stride) /* less than a trip */
        to[at] = sum ? s * x[at] + y[at] : s * x[at];
}
