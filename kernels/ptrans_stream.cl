/* ptrans_stream.cl - ptrans for kernel-routed schemes: a pair of kernels per channel.
 *
 * Send reads a block of A into one half of its local memory while it sends the other half
 * transposed; receive adds a block of B to what comes and stores it in C. Both move one
 * packet per clock cycle. Blocks come in the order in which the other side wants them;
 * those which this device wants itself may go from kernel to kernel.
 */
#include "hf_channel.h"
#include "hf_pairs.h"
#include "ptrans_tile.h"

typedef union ptrans_packet {
    hf_packet packet;
    HF_REAL lanes[PTRANS_LANES];
} ptrans_packet;

/** The kernels of a pair with the ports `out` and `in`, and the channel `held` between
 *  them for the first `own` of their `blocks` blocks, whose mirrors are here.
 *
 *  Send: blocks sources[k] of A, past the first `own` counted from there. A block ends with
 *  a flush: the other kernel may want its last packet while this one waits for room in the
 *  other channel.
 *
 *  Receive: C = B + what comes, in as many blocks. */
#define PTRANS_PAIR(pair, out, in, held)                                              \
    HF_CHANNEL(held, 16)                                                              \
    HF_PORT_OUT(out, pair)                                                            \
    HF_PORT_IN(in, pair)                                                              \
    HF_STREAM(ptrans_send_##pair,                                                     \
              HF_ARGUMENTS(HF_READ(HF_REAL, a), HF_READ(uint, sources),               \
                           HF_VALUE(uint, blocks), HF_VALUE(uint, own)),              \
              HF_ENDS(HF_OUT(out), HF_OUT(held))) {                                   \
        HF_OPEN_OUT(out)                                                              \
        HF_OPEN_OUT(held)                                                             \
        HF_REAL tiles[2][PTRANS_CHUNKS][PTRANS_LANES];                                \
        uint stays = 0; /* what is sent now */                                        \
        for (uint n = 0; n <= blocks; n++) {                                          \
            const ulong first = n < own ? 0 : own;                                    \
            const ulong source = n < blocks ? (first + sources[n]) * PTRANS_SIZE : 0; \
            for (uint chunk = 0; chunk < PTRANS_CHUNKS; chunk++) {                    \
                HF_PIPELINE                                                           \
                ptrans_packet sent;                                                   \
                HF_UNROLL(PTRANS_LANES)                                               \
                for (uint l = 0; l < PTRANS_LANES; l++) {                             \
                    sent.lanes[l] = PTRANS_TRANSPOSED(tiles[(n + 1) % 2], chunk, l);  \
                    if (n < blocks)                                                   \
                        PTRANS_STORED(tiles[n % 2], chunk, l) =                       \
                            a[source + chunk * PTRANS_LANES + l];                     \
                }                                                                     \
                if (n > 0 && stays)                                                   \
                    HF_SEND(held, sent.packet);                                       \
                if (n > 0 && !stays)                                                  \
                    HF_SEND(out, sent.packet);                                        \
            }                                                                         \
            HF_FLUSH(held);                                                           \
            HF_FLUSH(out);                                                            \
            stays = n < own;                                                          \
        }                                                                             \
    }                                                                                 \
                                                                                      \
    HF_STREAM(ptrans_recv_##pair,                                                     \
              HF_ARGUMENTS(HF_READ(HF_REAL, b), HF_WRITE(HF_REAL, c),                 \
                           HF_VALUE(uint, blocks), HF_VALUE(uint, own)),              \
              HF_ENDS(HF_IN(in), HF_IN(held))) {                                      \
        HF_OPEN_IN(in)                                                                \
        HF_OPEN_IN(held)                                                              \
        for (ulong chunk = 0; chunk < (ulong)blocks * PTRANS_CHUNKS; chunk++) {       \
            HF_PIPELINE                                                               \
            ptrans_packet got;                                                        \
            if (chunk < (ulong)own * PTRANS_CHUNKS)                                   \
                HF_RECV(held, got.packet);                                            \
            else                                                                      \
                HF_RECV(in, got.packet);                                              \
            HF_UNROLL(PTRANS_LANES)                                                   \
            for (uint l = 0; l < PTRANS_LANES; l++)                                   \
                c[chunk * PTRANS_LANES + l] =                                         \
                    b[chunk * PTRANS_LANES + l] + got.lanes[l];                       \
        }                                                                             \
    }

PTRANS_PAIR(0, out_0, in_0, held_0)
#if HF_REPLICATIONS > 1
PTRANS_PAIR(1, out_1, in_1, held_1)
#endif
#if HF_REPLICATIONS > 2
PTRANS_PAIR(2, out_2, in_2, held_2)
#endif
#if HF_REPLICATIONS > 3
PTRANS_PAIR(3, out_3, in_3, held_3)
#endif

HF_HOST_FILE(ptrans_stream, HF_HOST_KERNEL(ptrans_fill), HF_HOST_KERNEL(ptrans_check),
             HF_HOST_KERNEL(ptrans_send_0), HF_HOST_KERNEL(ptrans_recv_0),
             HF_HOST_KERNEL(ptrans_send_1), HF_HOST_KERNEL(ptrans_recv_1),
             HF_HOST_KERNEL(ptrans_send_2), HF_HOST_KERNEL(ptrans_recv_2),
             HF_HOST_KERNEL(ptrans_send_3), HF_HOST_KERNEL(ptrans_recv_3))
