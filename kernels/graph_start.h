/* graph_start.h - what goes before the first superstep, and between two windows of priorities. */
#ifndef GRAPH_START_H
#define GRAPH_START_H

#include "graph_push.h"

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

/** The bits of those who got messages, and what they got, are as after a superstep. No superstep
 *  is counted in either box: with one rank they change places. */
HF_KERNEL(graph_start, HF_READ(uint, chunks), HF_READ(uint, degrees),
          HF_READ(uint, names), HF_READ(graph_run, run), HF_WRITE(hf_vertex, state),
          HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting), HF_WRITE(hf_update, later),
          HF_WRITE(uint, got), HF_WRITE(uint, touched), HF_WRITE(uchar, inbox),
          HF_VALUE(uint, pushes), HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    for (uint c = (uint)HF_ITEM; c < run->chunks; c += (uint)HF_ITEMS) {
        GRAPH_AT(graph_count, outbox, 0)[c].superstep = HF_NOBODY;
        GRAPH_AT(graph_count, inbox, 0)[c].superstep = HF_NOBODY;
        graph_out out = graph_open(outbox, run, c, chunks, 0, window);
        for (uint first = chunks[c]; first < chunks[c + 1]; first += 32) {
            const uint end = first + 32 < chunks[c + 1] ? first + 32 : chunks[c + 1];
            graph_word word = {0, 0};
            for (uint v = first; v < end; v++) {
                const uint degree = degrees[v];
                const hf_at at = graph_at(run, names[v], degree, 0);
                hf_vertex s;
                hf_update told;
                const int tells = hf_start(&s, at, &told);
                state[v] = s;
                if (pushes)
                    got[v] = graph_bits_of(HF_NOTHING);
                if (tells && GRAPH_HEARD(degree))
                    graph_update(&out, &word, later, v, told, degree);
            }
            out.bits[first / 32] = word.bits;
            waiting[first / 32] = word.late;
            if (pushes)
                touched[first / 32] = 0;
        }
        graph_wait(&out, waiting, later, chunks[c], chunks[c + 1]);
        graph_close(outbox, &out, c, run->list_words, seal, window);
    }
}

HF_KERNEL(graph_admit, HF_READ(uint, chunks), HF_READ(uint, degrees),
          HF_READ(graph_run, run), HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting),
          HF_WRITE(hf_update, later), HF_VALUE(uint, superstep),
          HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    for (uint c = (uint)HF_ITEM; c < run->chunks; c += (uint)HF_ITEMS) {
        graph_out out = graph_open(outbox, run, c, chunks, superstep, window);
        for (uint first = chunks[c]; first < chunks[c + 1]; first += 32) {
            const uint late = waiting[first / 32];
            graph_word word = {0, late};
            for (uint left = late; left; left &= left - 1) {
                const uint v = first + graph_lowest_bit(left);
                graph_update(&out, &word, later, v, later[v], degrees[v]);
            }
            out.bits[first / 32] = word.bits;
            waiting[first / 32] = word.late;
        }
        graph_wait(&out, waiting, later, chunks[c], chunks[c + 1]);
        graph_close(outbox, &out, c, run->list_words, seal, window);
    }
}

#endif
