/* b_eff_stream.cl - b_eff for kernel-routed schemes: a pair of kernels, send and receive.
 *
 * A pair owns two ports. A message travels as chunks of one packet per port, all of them
 * the same: at first the sender's own payload, later the chunk that the pair received.
 * Receive hands it to send over a channel before the next message starts, so both wait
 * for the slower direction, and a damaged chunk travels on. On the wire each chunk is
 * marked with its number in the run: one that is lost, repeated, late or swapped differs
 * from its message's first, and the receiver keeps every bit that ever did. It hands back the
 * last number and the sum of its messages' first chunks, too: so many chunks were received, and
 * as many messages of each origin. The last message alone would not tell: after an even number
 * of them, a port that leads back to itself holds what is right.
 *
 * Both kernels move one packet per port and clock cycle.
 */
#include "b_eff_payload.h"
#include "hf_channel.h"
#include "hf_pairs.h"
#include "hf_slide.h"

static inline hf_packet packet_make(uint key, ulong stamp) {
    hf_packet packet;
    HF_UNROLL(HF_PACKET_WORDS)
    for (uint l = 0; l < HF_PACKET_WORDS; l++)
        packet.word[l] = b_eff_word(l, HF_SLIDE_LOG, key, stamp);
    return packet;
}

static inline hf_packet packet_mark(hf_packet packet, ulong mark) {
    HF_UNROLL(HF_PACKET_WORDS)
    for (uint l = 0; l < HF_PACKET_WORDS; l++)
        packet.word[l] ^= mark;
    return packet;
}

/** Bits of `wrong`, and those in which two packets differ. */
static inline hf_packet packet_differ(hf_packet wrong, hf_packet a, hf_packet b) {
    HF_UNROLL(HF_PACKET_WORDS)
    for (uint l = 0; l < HF_PACKET_WORDS; l++)
        wrong.word[l] |= a.word[l] ^ b.word[l];
    return wrong;
}

/** Word by word. */
static inline hf_packet packet_add(hf_packet a, hf_packet b) {
    HF_UNROLL(HF_PACKET_WORDS)
    for (uint l = 0; l < HF_PACKET_WORDS; l++)
        a.word[l] += b.word[l];
    return a;
}

/** The kernels of a pair with the ports `a` and `b` and the channel `held` between them.
 *
 *  Send: `messages` messages of `chunks` chunks over out_a and out_b, the first one made
 *  from `key` and one stamp for each port.
 *
 *  Receive: as many from in_a and in_b. `last` gets the chunks of the last message, one with
 *  the bits that were ever wrong, and one with the sum of messages, marked with the last number:
 *  [chunks + 2, 2] packets. */
#define B_EFF_PAIR(pair, out_a, out_b, in_a, in_b, held)                        \
    HF_CHANNEL(held, 4)                                                         \
    HF_STREAM(b_eff_send_##pair,                                                \
              HF_ARGUMENTS(HF_VALUE(ulong, messages), HF_VALUE(ulong, chunks),  \
                           HF_VALUE(uint, key), HF_VALUE(ulong, stamp_a),       \
                           HF_VALUE(ulong, stamp_b)),                           \
              HF_ENDS(HF_OUT(out_a), HF_OUT(out_b), HF_IN(held))) {             \
        HF_OPEN_OUT(out_a)                                                      \
        HF_OPEN_OUT(out_b)                                                      \
        HF_OPEN_IN(held)                                                        \
        hf_packet a = packet_make(key, stamp_a), b = packet_make(key, stamp_b); \
        ulong mark = key;                                                       \
        for (ulong message = 0; message < messages; message++) {                \
            if (message > 0) {                                                  \
                HF_RECV(held, a);                                               \
                HF_RECV(held, b);                                               \
            }                                                                   \
            for (ulong chunk = 0; chunk < chunks; chunk++) {                    \
                HF_PIPELINE                                                     \
                mark += B_EFF_MARK;                                             \
                HF_SEND(out_a, packet_mark(a, mark));                           \
                HF_SEND(out_b, packet_mark(b, mark));                           \
            }                                                                   \
            HF_FLUSH(out_a);                                                    \
            HF_FLUSH(out_b);                                                    \
        }                                                                       \
    }                                                                           \
                                                                                \
    HF_STREAM(b_eff_recv_##pair,                                                \
              HF_ARGUMENTS(HF_VALUE(ulong, messages), HF_VALUE(ulong, chunks),  \
                           HF_VALUE(uint, key), HF_WRITE(hf_packet, last)),     \
              HF_ENDS(HF_IN(in_a), HF_IN(in_b), HF_OUT(held))) {                \
        HF_OPEN_IN(in_a)                                                        \
        HF_OPEN_IN(in_b)                                                        \
        HF_OPEN_OUT(held)                                                       \
        hf_packet wrong_a = {{0}}, wrong_b = wrong_a;                           \
        hf_packet first_a = wrong_a, first_b = wrong_a;                         \
        hf_packet sum_a = wrong_a, sum_b = wrong_a;                             \
        ulong mark = key;                                                       \
        for (ulong message = 0; message < messages; message++) {                \
            for (ulong chunk = 0; chunk < chunks; chunk++) {                    \
                HF_PIPELINE                                                     \
                hf_packet a, b;                                                 \
                mark += B_EFF_MARK;                                             \
                HF_RECV(in_a, a);                                               \
                HF_RECV(in_b, b);                                               \
                a = packet_mark(a, mark);                                       \
                b = packet_mark(b, mark);                                       \
                if (chunk == 0) {                                               \
                    first_a = a;                                                \
                    first_b = b;                                                \
                }                                                               \
                wrong_a = packet_differ(wrong_a, a, first_a);                   \
                wrong_b = packet_differ(wrong_b, b, first_b);                   \
                if (message + 1 == messages) {                                  \
                    last[2 * chunk] = a;                                        \
                    last[2 * chunk + 1] = b;                                    \
                }                                                               \
            }                                                                   \
            sum_a = packet_add(sum_a, first_a);                                 \
            sum_b = packet_add(sum_b, first_b);                                 \
            if (message + 1 < messages) {                                       \
                HF_SEND(held, first_a);                                         \
                HF_SEND(held, first_b);                                         \
                HF_FLUSH(held);                                                 \
            }                                                                   \
        }                                                                       \
        last[2 * chunks] = wrong_a;                                             \
        last[2 * chunks + 1] = wrong_b;                                         \
        last[2 * chunks + 2] = packet_mark(sum_a, mark);                        \
        last[2 * chunks + 3] = packet_mark(sum_b, mark);                        \
    }

HF_PORT_OUT(out_0, 0)
HF_PORT_OUT(out_1, 1)
HF_PORT_IN(in_0, 0)
HF_PORT_IN(in_1, 1)
B_EFF_PAIR(0, out_0, out_1, in_0, in_1, held_0)
#if HF_REPLICATIONS > 1
HF_PORT_OUT(out_2, 2)
HF_PORT_OUT(out_3, 3)
HF_PORT_IN(in_2, 2)
HF_PORT_IN(in_3, 3)
B_EFF_PAIR(1, out_2, out_3, in_2, in_3, held_1)
#endif
#if HF_REPLICATIONS > 2
HF_PORT_OUT(out_4, 4)
HF_PORT_OUT(out_5, 5)
HF_PORT_IN(in_4, 4)
HF_PORT_IN(in_5, 5)
B_EFF_PAIR(2, out_4, out_5, in_4, in_5, held_2)
#endif
#if HF_REPLICATIONS > 3
HF_PORT_OUT(out_6, 6)
HF_PORT_OUT(out_7, 7)
HF_PORT_IN(in_6, 6)
HF_PORT_IN(in_7, 7)
B_EFF_PAIR(3, out_6, out_7, in_6, in_7, held_3)
#endif

HF_HOST_FILE(b_eff_stream, HF_HOST_KERNEL(b_eff_send_0), HF_HOST_KERNEL(b_eff_recv_0),
             HF_HOST_KERNEL(b_eff_send_1), HF_HOST_KERNEL(b_eff_recv_1),
             HF_HOST_KERNEL(b_eff_send_2), HF_HOST_KERNEL(b_eff_recv_2),
             HF_HOST_KERNEL(b_eff_send_3), HF_HOST_KERNEL(b_eff_recv_3))
