/* graph_packet.h - packets of a ring of devices: what they hold, and the marks that prove it. */
#ifndef GRAPH_PACKET_H
#define GRAPH_PACKET_H

#include "graph_outbox.h"
#include "graph_ring.h"
#include "hf_channel.h"

/** Words of a packet. */
enum {
    GRAPH_WHAT,
    GRAPH_MARK,
    GRAPH_HEAD, /**< words before what it holds */
    GRAPH_WORDS = GRAPH_PAYLOAD(HF_CHANNEL_WIDTH),
    GRAPH_PIECES =
        (GRAPH_COUNT_WORDS + GRAPH_WORDS - 1) / GRAPH_WORDS, /**< of a count */
};

typedef union graph_packet {
    hf_packet packet;
    uint words[GRAPH_HEAD + GRAPH_WORDS];
} graph_packet;

#define GRAPH_IS_BARRIER(p) ((uint)((p).words[GRAPH_WHAT] == GRAPH_BARRIER))

static inline graph_packet graph_packet_of(uint what) {
    graph_packet p;
    for (uint w = 0; w < GRAPH_HEAD + GRAPH_WORDS; w++)
        p.words[w] = 0;
    p.words[GRAPH_WHAT] = what;
    return p;
}

/** Of packet `position` that rank `from` sends in a launch: a packet that is lost, repeated,
 *  late, early or another one has no mark that fits. */
static inline uint graph_mark(graph_packet p, uint seal, uint from, ulong position) {
    uint x = graph_mix(graph_mix_long(seal, position), from);
    x = graph_mix(x, p.words[GRAPH_WHAT]);
    for (uint w = 0; w < GRAPH_WORDS; w++)
        x = graph_mix(x, p.words[GRAPH_HEAD + w]);
    return x;
}

/** As graph_digest, of `words` words. */
static inline uint graph_packet_digest(graph_packet p, uint words, uint superstep) {
    uint x = graph_digest_begin(p.words[GRAPH_WHAT], superstep);
    for (uint w = 0; w < GRAPH_WORDS; w++)
        if (w < words)
            x = graph_mix(x, p.words[GRAPH_HEAD + w]);
    return x;
}

static inline hf_packet graph_update_packet(uint v, hf_update told) {
    enum { WORDS = sizeof(hf_update) / sizeof(uint) };
    union {
        hf_update told;
        uint words[WORDS];
    } u;
    graph_packet p = graph_packet_of(v);
    u.told = told;
    for (uint w = 0; w < WORDS && w < GRAPH_WORDS; w++)
        p.words[GRAPH_HEAD + w] = u.words[w];
    return p.packet;
}

typedef union graph_count_words {
    graph_count count;
    uint words[GRAPH_COUNT_WORDS];
} graph_count_words;

/** Piece `piece` of a count. */
static inline hf_packet graph_barrier_packet(graph_count count, uint piece) {
    graph_count_words c;
    graph_packet p = graph_packet_of(GRAPH_BARRIER);
    c.count = count;
    for (uint w = 0; w < GRAPH_WORDS; w++)
        if (piece * GRAPH_WORDS + w < GRAPH_COUNT_WORDS)
            p.words[GRAPH_HEAD + w] = c.words[piece * GRAPH_WORDS + w];
    return p.packet;
}

static inline void graph_count_take(graph_count *count, graph_packet p, uint piece) {
    graph_count_words c;
    c.count = *count;
    for (uint w = 0; w < GRAPH_WORDS; w++)
        if (piece < GRAPH_PIECES && piece * GRAPH_WORDS + w < GRAPH_COUNT_WORDS)
            c.words[piece * GRAPH_WORDS + w] = p.words[GRAPH_HEAD + w];
    *count = c.count;
}

/** What came from rank `from` becomes part of that of all. */
static inline void graph_came_write(HF_GLOBAL uint *all, graph_came came, uint from) {
    union {
        graph_came came;
        uint words[sizeof(graph_came) / sizeof(uint)];
    } c;
    c.came = came;
    for (uint w = 0; w < sizeof c / sizeof(uint); w++)
        all[from * (sizeof c / sizeof(uint)) + w] = c.words[w];
}

#endif
