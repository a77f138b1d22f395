/* graph_stream.cl - vertex programs for FPGAs whose kernels send: updates go round a ring.
 *
 * A superstep is a launch of three kernels. One makes updates, stores those of this device where
 * the next superstep sees them, and gives them to graph_sender:
 *
 *   graph_pull -> graph_sender -> ring_out      ring_in -> graph_receiver -> graph_sender
 *
 * See graph_ring.h for what goes round. Each kernel that makes updates has a channel of its own:
 * a channel has one writer.
 */
#include "hf_channel.h"

#include "graph_ring.h"

#if HF_CHANNEL_WIDTH < 16 || HF_CHANNEL_WIDTH > 128
#error "HF_CHANNEL_WIDTH, the bytes per clock cycle, must be 16, 32, 64 or 128"
#endif

HF_PORT_OUT(ring_out, 0)
HF_PORT_IN(ring_in, 1)
HF_CHANNEL(graph_start_told, 16)
HF_CHANNEL(graph_pull_told, 16)
HF_CHANNEL(graph_apply_told, 16)
HF_CHANNEL(graph_admit_told, 16)
HF_CHANNEL(graph_share_told, 16)
HF_CHANNEL(passed, GRAPH_HELD)

/* What kernels that make updates do besides; `run`, `out` and `at` are theirs. */
#define GRAPH_KERNEL(kernel, ...) \
    HF_STREAM(kernel, HF_ARGUMENTS(__VA_ARGS__), HF_ENDS(HF_OUT(kernel##_told)))
#define GRAPH_BEGIN(kernel)                            \
    const uint mine = GRAPH_TEAM, teams = GRAPH_TEAMS; \
    HF_OPEN_OUT(kernel##_told)
#define GRAPH_TELL(kernel, bits, begin)                                             \
    for (uint untold = run->ranks > 1 ? (bits) : 0; untold; untold &= untold - 1) { \
        const uint teller = (begin) + graph_lowest_bit(untold);                     \
        const hf_update news = out.told[teller];                                    \
        const uint name = out.first + teller;                                       \
        out.count.digest += graph_digest(name, news, out.superstep);                \
        HF_SEND(kernel##_told, graph_update_packet(name, news));                    \
    }
#define GRAPH_END(kernel, ranks, count)                                \
    for (uint piece = 0; (ranks) > 1 && piece < GRAPH_PIECES; piece++) \
        HF_SEND(kernel##_told, graph_barrier_packet(count, piece));    \
    HF_FLUSH(kernel##_told);

#include "graph_packet.h"

#include "graph_again.h"
#include "graph_apply.h"
#include "graph_pull.h"
#include "graph_push.h"
#include "graph_start.h"
#include "graph_sum.h"

/** Pieces of `words` words from memory to all ranks. They are numbers first .. first + pieces -
 *  1 of all ranks' in `to`. */
HF_STREAM(graph_share,
          HF_ARGUMENTS(HF_READ(uint, from), HF_WRITE(uint, to), HF_VALUE(uint, first),
                       HF_VALUE(uint, pieces), HF_VALUE(uint, words),
                       HF_VALUE(uint, ranks), HF_VALUE(uint, number),
                       HF_VALUE(uint, seal)),
          HF_ENDS(HF_OUT(graph_share_told))) {
    HF_OPEN_OUT(graph_share_told)
    graph_count count = graph_nothing(first, first + pieces, number);
    count.active = pieces;
    for (uint i = 0; i < pieces; i++) {
        HF_PIPELINE
        graph_packet sent = graph_packet_of(first + i);
        for (uint w = 0; w < GRAPH_WORDS; w++)
            if (w < words)
                to[(ulong)(first + i) * words + w] = sent.words[GRAPH_HEAD + w] =
                    from[(ulong)i * words + w];
        count.digest += graph_packet_digest(sent, words, number);
        if (ranks > 1)
            HF_SEND(graph_share_told, sent.packet);
    }
    count.seal = graph_seal(&count, seal, number, 0);
    GRAPH_END(graph_share, ranks, count)
}

/** Own packets, from the channel of maker `maker`, and those that others sent, round the ring. */
HF_STREAM(graph_sender,
          HF_ARGUMENTS(HF_VALUE(uint, maker), HF_VALUE(uint, rank),
                       HF_VALUE(uint, ranks), HF_VALUE(uint, seal)),
          HF_ENDS(HF_IN(graph_start_told), HF_IN(graph_pull_told),
                  HF_IN(graph_apply_told), HF_IN(graph_admit_told),
                  HF_IN(graph_share_told), HF_IN(passed), HF_OUT(ring_out))) {
    HF_OPEN_IN(graph_start_told)
    HF_OPEN_IN(graph_pull_told)
    HF_OPEN_IN(graph_apply_told)
    HF_OPEN_IN(graph_admit_told)
    HF_OPEN_IN(graph_share_told)
    HF_OPEN_IN(passed)
    HF_OPEN_OUT(ring_out)
    const uint slots = graph_slots(ranks);
    uint hop = 0, slot = 0, barriers = 0;
    uint begun = 0;  /* what was sent first comes in */
    uint silent = 0; /* the first packets of this rotation were barriers, so far */
    uint over = 0;   /* of all ranks: only what is still to come is taken */
    ulong position = 0, sent = 0;
    graph_packet last = graph_packet_of(GRAPH_LAST);
    while (!over || slot > 0) {
        HF_PIPELINE
        graph_packet p = graph_packet_of(GRAPH_BARRIER);
        if (begun)
            HF_RECV(passed, p.packet);
        if (slot == 0 && begun)
            silent &= GRAPH_IS_BARRIER(p);
        if (slot == 0 && hop == 0)
            over = silent;
        if (hop == 0 && !over) {
            p = graph_packet_of(GRAPH_BARRIER);
            if (barriers < GRAPH_PIECES) {
                if (maker == GRAPH_STARTS)
                    HF_RECV(graph_start_told, p.packet);
                if (maker == GRAPH_PULLS)
                    HF_RECV(graph_pull_told, p.packet);
                if (maker == GRAPH_APPLIES)
                    HF_RECV(graph_apply_told, p.packet);
                if (maker == GRAPH_ADMITS)
                    HF_RECV(graph_admit_told, p.packet);
                if (maker == GRAPH_SHARES)
                    HF_RECV(graph_share_told, p.packet);
                barriers += GRAPH_IS_BARRIER(p);
            }
            if (slot == 0)
                silent = GRAPH_IS_BARRIER(p);
            p.words[GRAPH_MARK] = graph_mark(p, seal, rank, position + slot);
        }
        if (!over) {
            HF_SEND(ring_out, p.packet);
            sent++;
        }
        if (++slot == slots) {
            slot = 0;
            begun = 1;
            position += hop == 0 ? slots : 0;
            hop = hop + 2 == ranks ? 0 : hop + 1;
        }
    }
    last.words[GRAPH_MARK] = graph_mark(last, seal, rank, sent);
    HF_SEND(ring_out, last.packet);
    HF_FLUSH(ring_out);
}

/** All packets of the other ranks, to memory: what they hold in `words` words each from word
 *  `place` of `to` on, and a bit for each of them, unless `bit_words` is 0. Bits of words
 *  own_word .. own_word + own_words - 1 are another kernel's. `came` gets a graph_came of each
 *  rank. */
HF_STREAM(graph_receiver,
          HF_ARGUMENTS(HF_WRITE(uint, to), HF_WRITE(uint, came), HF_VALUE(ulong, place),
                       HF_VALUE(ulong, bits), HF_VALUE(uint, bit_words),
                       HF_VALUE(uint, own_word), HF_VALUE(uint, own_words),
                       HF_VALUE(uint, words), HF_VALUE(uint, items),
                       HF_VALUE(uint, rank), HF_VALUE(uint, ranks),
                       HF_VALUE(uint, number), HF_VALUE(uint, seal)),
          HF_ENDS(HF_IN(ring_in), HF_OUT(passed))) {
    HF_OPEN_IN(ring_in)
    HF_OPEN_OUT(passed)
    graph_came all[GRAPH_RING_RANKS];
    uint barriers[GRAPH_RING_RANKS];
    const uint slots = graph_slots(ranks), before = (rank + ranks - 1) % ranks;
    uint hop = 0, slot = 0, from = before;
    ulong position = 0, got = 0;
    graph_packet p = graph_packet_of(0);
    for (uint i = 0; i < ranks; i++) {
        all[i].count = graph_nothing(0, 0, HF_NOBODY);
        all[i].taken = 0;
        all[i].digest = all[i].wrong = barriers[i] = 0;
    }
    for (uint w = 0; w < bit_words; w++)
        if (w - own_word >= own_words)
            to[bits + w] = 0;
    for (;;) {
        HF_PIPELINE
        HF_RECV(ring_in, p.packet);
        if (p.words[GRAPH_WHAT] == GRAPH_LAST)
            break;
        const uint what = p.words[GRAPH_WHAT];
        const uint right =
            p.words[GRAPH_MARK] == graph_mark(p, seal, from, position + slot);
        if (right && what == GRAPH_BARRIER) {
            graph_count_take(&all[from].count, p, barriers[from]++);
        } else if (right && what < items) {
            for (uint w = 0; w < GRAPH_WORDS; w++)
                if (w < words)
                    to[place + (ulong)what * words + w] = p.words[GRAPH_HEAD + w];
            if (bit_words > 0)
                to[bits + what / 32] |= 1u << what % 32;
            all[from].digest += graph_packet_digest(p, words, number);
            all[from].taken++;
        } else {
            all[from].wrong++;
        }
        HF_SEND(passed, p.packet);
        got++;
        if (++slot == slots) {
            HF_FLUSH(passed);
            slot = 0;
            position += hop + 2 == ranks ? slots : 0;
            hop = hop + 2 == ranks ? 0 : hop + 1;
            from = (rank + ranks - 1 - hop) % ranks;
        }
    }
    all[before].wrong += p.words[GRAPH_MARK] != graph_mark(p, seal, before, got);
    for (uint i = 0; i < ranks; i++)
        graph_came_write(came, all[i], i);
}

HF_HOST_FILE(graph_stream, HF_HOST_KERNEL(graph_traits), HF_HOST_KERNEL(graph_sum),
             HF_HOST_KERNEL(graph_start), HF_HOST_KERNEL(graph_pull),
             HF_HOST_KERNEL(graph_admit), HF_HOST_KERNEL(graph_push),
             HF_HOST_KERNEL(graph_apply), HF_HOST_KERNEL(graph_share),
             HF_HOST_KERNEL(graph_sender), HF_HOST_KERNEL(graph_receiver),
             HF_HOST_KERNEL(graph_again), HF_HOST_KERNEL(graph_same))
