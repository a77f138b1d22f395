/* graph_start.h - what goes before the first superstep, and between two windows of priorities. */
#ifndef GRAPH_START_H
#define GRAPH_START_H

#include "graph_outbox.h"

/** Sum of a buffer's words, by which the host sees that they are those that it sent: they are
 *  indices, by which kernels find memory. */
HF_KERNEL(graph_sum, HF_READ(uint, words), HF_WRITE(ulong, sums),
          HF_VALUE(ulong, count)) {
    const ulong first = count / HF_ITEMS * HF_ITEM,
                end = HF_ITEM + 1 == HF_ITEMS ? count : first + count / HF_ITEMS;
    ulong sum = 0;
    for (ulong i = first; i < end; i++)
        sum += (2 * i + 1) * words[i];
    sums[HF_ITEM] = sum;
}

HF_KERNEL(graph_start, HF_READ(uint, chunks), HF_READ(uint, degrees),
          HF_READ(uint, names), HF_READ(graph_run, run), HF_WRITE(hf_vertex, state),
          HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting), HF_VALUE(ulong, window),
          HF_VALUE(uint, seal)) {
    HF_UNUSED const uint until = (uint)(window >> 32);
    for (uint c = (uint)HF_ITEM; c < run->chunks; c += (uint)HF_ITEMS) {
        graph_out out = graph_open(outbox, run, c, chunks);
        for (uint word = chunks[c]; word < chunks[c + 1]; word += 32) {
            const uint end = word + 32 < chunks[c + 1] ? word + 32 : chunks[c + 1];
            uint bits = 0, late = 0;
            for (uint v = word; v < end; v++) {
                const hf_at at = graph_at(run, names[v], degrees[v], 0);
                hf_vertex s;
                hf_update told;
                const int tells = hf_start(&s, at, &told) && GRAPH_HEARD(at.degree);
                state[v] = s;
                out.told[v] = told;
                if (!tells)
                    continue;
                if (GRAPH_LATER(told, until)) {
                    late |= 1u << (v - word);
                    graph_wait(&out, HF_WHEN(told));
                } else {
                    bits |= 1u << (v - word);
                    graph_tell(&out, run->first + v, told, at.degree, run->room, 0);
                }
            }
            out.bits[word / 32] = bits;
            waiting[word / 32] = late;
        }
        graph_close(outbox, &out, c, run->list_words, seal, 0, window);
    }
}

HF_KERNEL(graph_admit, HF_READ(uint, chunks), HF_READ(uint, degrees),
          HF_READ(graph_run, run), HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting),
          HF_VALUE(uint, superstep), HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    HF_UNUSED const uint until = (uint)(window >> 32);
    for (uint c = (uint)HF_ITEM; c < run->chunks; c += (uint)HF_ITEMS) {
        graph_out out = graph_open(outbox, run, c, chunks);
        for (uint word = chunks[c]; word < chunks[c + 1]; word += 32) {
            uint bits = 0, late = waiting[word / 32];
            for (uint left = late; left; left &= left - 1) {
                const uint v = word + graph_lowest_bit(left);
                const hf_update told = out.told[v];
                if (GRAPH_LATER(told, until)) {
                    graph_wait(&out, HF_WHEN(told));
                } else {
                    bits |= left & (0 - left);
                    graph_tell(&out, run->first + v, told, degrees[v], run->room,
                               superstep);
                }
            }
            out.bits[word / 32] = bits;
            waiting[word / 32] = late & ~bits;
        }
        graph_close(outbox, &out, c, run->list_words, seal, superstep, window);
    }
}

#endif
