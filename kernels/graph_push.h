/* graph_push.h - a superstep in two kernels: those who told make messages along the edges that
 * leave them, then those who got some apply them. */
#ifndef GRAPH_PUSH_H
#define GRAPH_PUSH_H

#include "graph_outbox.h"

/** Messages lie as words, which work-items change by compare-and-swap. */
static inline uint graph_bits_of(hf_message m) {
    union {
        hf_message m;
        uint u;
    } x;
    x.m = m;
    return x.u;
}
static inline hf_message graph_message_of(uint u) {
    union {
        hf_message m;
        uint u;
    } x;
    x.u = u;
    return x.m;
}

/** Gather `m` into *got. Bits are compared: a NaN equals nothing. */
static inline void graph_merge(HF_GLOBAL uint *got, hf_message m) {
    uint old = *got;
    for (;;) {
        const uint both = graph_bits_of(hf_gather(graph_message_of(old), m));
        if (both == old)
            return;
        const uint seen = HF_SWAP(got, old, both);
        if (seen == old)
            return;
        old = seen;
    }
}

/** Piece c of all ranks' vertices; made[c] is how many messages its vertices made. */
HF_KERNEL(graph_push, HF_READ(uint, pieces), HF_READ(ulong, outs), HF_READ(uint, to),
          HF_READ(uint, weights), HF_READ(graph_run, run), HF_READ(uchar, inbox),
          HF_READ(hf_vertex, state), HF_WRITE(uint, got), HF_WRITE(uint, touched),
          HF_WRITE(ulong, made), HF_VALUE(ulong, window)) {
    HF_GLOBAL const uint *active = GRAPH_AT(const uint, inbox, run->in_bits);
    HF_GLOBAL const hf_update *mirror =
        GRAPH_AT(const hf_update, inbox, run->in_updates);
    HF_UNUSED const uint settled = (uint)window;
    (void)weights, (void)state; /* not every program has them, or wants to know */
    for (uint c = (uint)HF_ITEM; c < run->chunks; c += (uint)HF_ITEMS) {
        ulong n = 0;
        for (uint first = pieces[c]; first < pieces[c + 1]; first += 32)
            for (uint left = active[first / 32]; left; left &= left - 1) {
                const uint u = first + graph_lowest_bit(left);
                const hf_update told = mirror[u];
                for (ulong e = outs[u]; e < outs[u + 1]; e++) {
                    const uint v = to[e], bit = 1u << v % 32;
                    if (!HF_WANTS(state[v], settled))
                        continue;
                    const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
                    graph_merge(&got[v], hf_scatter(told, edge));
                    if (!(touched[v / 32] & bit))
                        HF_OR(&touched[v / 32], bit);
                    n++;
                }
            }
        made[c] = n;
    }
}

HF_KERNEL(graph_apply, HF_READ(uint, chunks), HF_READ(uint, degrees),
          HF_READ(uint, names), HF_READ(graph_run, run), HF_READ(ulong, made),
          HF_WRITE(uint, got), HF_WRITE(uint, touched), HF_WRITE(hf_vertex, state),
          HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting), HF_WRITE(hf_update, later),
          HF_VALUE(uint, superstep), HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    for (uint c = (uint)HF_ITEM; c < run->chunks; c += (uint)HF_ITEMS) {
        graph_out out = graph_open(outbox, run, c, chunks, superstep, window);
        out.count.messages = made[c];
        for (uint first = chunks[c]; first < chunks[c + 1]; first += 32) {
            const uint these = touched[first / 32];
            graph_word word = {0, 0};
            if (these) {
                touched[first / 32] = 0;
#ifndef GRAPH_NO_PRIORITIES
                word.late = waiting[first / 32];
#endif
                for (uint left = these; left; left &= left - 1) {
                    const uint v = first + graph_lowest_bit(left), degree = degrees[v];
                    const hf_at at = graph_at(run, names[v], degree, superstep);
                    const hf_message sum = graph_message_of(got[v]);
                    hf_vertex s = state[v];
                    hf_update told;
                    const int tells = hf_apply(&s, sum, at, &told, &out.count.changed);
                    got[v] = graph_bits_of(HF_NOTHING);
                    state[v] = s;
                    if (tells && GRAPH_HEARD(degree))
                        graph_update(&out, &word, later, v, told, degree);
                }
#ifndef GRAPH_NO_PRIORITIES
                waiting[first / 32] = word.late;
#endif
            }
            out.bits[first / 32] = word.bits;
        }
        graph_wait(&out, waiting, later, chunks[c], chunks[c + 1]);
        graph_close(outbox, &out, c, run->list_words, seal, window);
    }
}

#endif
