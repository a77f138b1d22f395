/* b_eff_stream.c - kernels/b_eff_stream.cl as plain C: pairs of kernels in threads.
 *
 * cc -std=c11 -fsanitize=address,undefined -pthread -Icsrc -Ikernels \
 *    tests/kernels/b_eff_stream.c [-DHF_CHANNEL_WIDTH=8]
 */
#include "b_eff_byte.h"
#include "rings.h"

#include "../../kernels/b_eff_stream.cl"

enum { PAIRS = 2, PORTS = 2 * PAIRS, WIDTH = HF_CHANNEL_WIDTH };

enum { NONE, FLIP, REPEAT, SWAP };

/** What happens to packet number `at` on the way into port 0. */
typedef struct fault {
    int kind;
    ulong at;
} fault;

HF_CHANNEL(in, 1)
HF_CHANNEL(out, 1)

/** Passes packets on, all but one unchanged. */
HF_STREAM(relay, HF_ARGUMENTS(HF_VALUE(ulong, packets), HF_VALUE(fault, f)),
          HF_ENDS(HF_IN(in), HF_OUT(out))) {
    HF_OPEN_IN(in);
    HF_OPEN_OUT(out);
    hf_packet packet, before = {{0}};
    for (ulong i = 0; i < packets; i++) {
        HF_RECV(in, packet);
        hf_packet sent = packet;
        if (i == f.at && f.kind == FLIP)
            ((uint8_t *)&sent)[i % WIDTH] ^= (uint8_t)(1 << i % 8);
        if (i == f.at && f.kind == REPEAT)
            sent = before;
        if (i == f.at && f.kind == SWAP) {
            HF_RECV(in, sent);
            HF_SEND(out, sent);
            sent = packet;
            i++;
        }
        HF_SEND(out, sent);
        HF_FLUSH(out);
        before = packet;
    }
}

static const ulong stamps[PORTS] = {0x0123456789ABCDEF, 0xFEDCBA9876543210,
                                    0x1111111111111111, 0xA0B0C0D0E0F00102};
static const uint key = 0xC0FFEE;

/** Bytes of `last` that are not what came to `port` from `other` and back in turn, bits marked as
 *  wrong, and those of another number of chunks, or of messages of each origin. */
static size_t port_wrong(const unsigned char *last, ulong messages, ulong chunks,
                         int port, int other) {
    size_t wrong = 0;
    ulong number = key, sums[WIDTH / 8] = {0};
    for (ulong chunk = 0; chunk < messages * chunks; chunk++)
        number += 0x9E3779B97F4A7C15;
    for (ulong message = 0; message < messages; message++)
        for (size_t i = 0; i < WIDTH; i++)
            sums[i / 8] +=
                (ulong)reference_byte(i, 64, key, stamps[message % 2 ? port : other])
                << 8 * (i % 8);
    for (ulong chunk = 0; chunk <= chunks + 1; chunk++)
        for (size_t i = 0; i < WIDTH; i++) {
            ulong right =
                chunk == chunks ? 0 : (sums[i / 8] ^ number) >> 8 * (i % 8) & 0xFF;
            if (chunk < chunks)
                right = reference_byte(i, 64, key, stamps[messages % 2 ? other : port]);
            wrong += last[(2 * chunk + (ulong)(port % 2)) * WIDTH + i] != right;
        }
    return wrong;
}

/** Where each port leads: to the other pair; to itself; to the other port of its pair; to the
 *  wrong port of the other pair. */
static const int wirings[][PORTS] = {
    {2, 3, 0, 1}, {0, 1, 2, 3}, {1, 0, 3, 2}, {3, 2, 1, 0}};

/** One board: ports 0 and 1 of pair 0 should be wired to ports 2 and 3 of pair 1, both ways, and
 *  are wired so; with a relay in front of port 0. The bytes that are wrong in the end. */
static size_t pairs_run(ulong messages, ulong chunks, size_t depth, const int *to,
                        fault f) {
    hf_ring *in[PORTS], *out[PORTS], *held[PAIRS], *wire = ring_new(depth);
    unsigned char *last[PAIRS];
    for (int port = 0; port < PORTS; port++)
        in[port] = ring_new(depth);
    for (int port = 0; port < PORTS; port++)
        out[port] = to[port] == 0 ? wire : in[to[port]];
    for (int i = 0; i < PAIRS; i++) {
        held[i] = ring_new(4);
        last[i] = aligned_alloc(WIDTH, 2 * (chunks + 2) * WIDTH);
        memset(last[i], 0xA5, 2 * (chunks + 2) * WIDTH);
    }
    void *s[PORTS], *k = (void *)&key;
    for (int port = 0; port < PORTS; port++)
        s[port] = (void *)&stamps[port];
    ulong packets = messages * chunks;
    task tasks[] = {
        {.call = b_eff_send_0_call,
         .args = {&messages, &chunks, k, s[0], s[1], &out[0], &out[1], &held[0]}},
        {.call = b_eff_recv_0_call,
         .args = {&messages, &chunks, k, &last[0], &in[0], &in[1], &held[0]}},
        {.call = b_eff_send_1_call,
         .args = {&messages, &chunks, k, s[2], s[3], &out[2], &out[3], &held[1]}},
        {.call = b_eff_recv_1_call,
         .args = {&messages, &chunks, k, &last[1], &in[2], &in[3], &held[1]}},
        {.call = relay_call, .args = {&packets, &f, &wire, &in[0]}},
    };
    tasks_start(tasks, 5);
    tasks_join(tasks, 5);
    size_t wrong = 0;
    for (int port = 0; port < PORTS; port++) {
        wrong += port_wrong(last[port / 2], messages, chunks, port, wirings[0][port]);
        CHECK(in[port]->reader.moved == packets, "port %d: %llu of %llu packets read",
              port, (unsigned long long)in[port]->reader.moved,
              (unsigned long long)packets);
        free(in[port]);
    }
    for (int i = 0; i < PAIRS; i++) {
        CHECK(held[i]->reader.moved == 2 * (messages - 1),
              "pair %d: messages handed back", i);
        free(held[i]);
        free(last[i]);
    }
    free(wire);
    return wrong;
}

int main(void) {
    static const ulong chunks[] = {1, 2, 3, 17, 700};
    static const ulong messages[] = {1, 2, 3, 10};
    static const size_t depths[] = {1, 3, 8192};
    const fault none = {NONE, 0};
    for (int c = 0; c < 5; c++)
        for (int m = 0; m < 4; m++)
            for (int d = 0; d < 3; d++) {
                if (depths[d] < 100 && messages[m] * chunks[c] > 100)
                    continue; /* each packet is a switch of threads */
                CHECK(pairs_run(messages[m], chunks[c], depths[d], wirings[0], none) ==
                          0,
                      "%llu chunks, %llu messages, depth %zu: wrong",
                      (unsigned long long)chunks[c], (unsigned long long)messages[m],
                      depths[d]);
            }
    for (int w = 1; w < 4; w++)
        for (ulong m = 1; m <= 4; m++)
            CHECK(pairs_run(m, 3, 16, wirings[w], none) > 0,
                  "wiring %d passes after %llu messages", w, (unsigned long long)m);
    for (int kind = FLIP; kind <= SWAP; kind++)
        for (ulong at = kind == FLIP ? 0 : 1; at < 3 * 5; at++) {
            if (kind == SWAP && at % 5 == 4)
                continue; /* the next message starts when this one is whole */
            CHECK(pairs_run(3, 5, 16, wirings[0], (fault){kind, at}) > 0,
                  "fault %d at %llu passes", kind, (unsigned long long)at);
        }
    for (ulong at = 0; at < 4; at++)
        CHECK(pairs_run(4, 1, 16, wirings[0], (fault){FLIP, at}) > 0,
              "a flip at %llu passes", (unsigned long long)at);
    return 0;
}
