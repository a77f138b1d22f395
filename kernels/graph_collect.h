/* graph_collect.h - architecture gravf: every vertex gathers the messages that came to it. */
#ifndef GRAPH_COLLECT_H
#define GRAPH_COLLECT_H

#include "graph_change.h"
#include "graph_keep.h"
#include "graph_record.h"

/** `heard` is 1 where a message came, and 0 afterwards. The count's digest is that of all that
 *  came. Nothing is gathered by a vertex that no message can change. */
HF_KERNEL(graph_collect, HF_READ(uint, chunks), HF_READ(ulong, rows),
          HF_READ(uint, degrees), HF_READ(uint, names), HF_READ(graph_run, run),
          HF_READ(hf_message, messages), HF_WRITE(uchar, heard),
          HF_WRITE(hf_vertex, state), HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting),
          HF_WRITE(hf_update, later), HF_VALUE(uint, superstep),
          HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    GRAPH_LOCAL graph_team team;
    HF_UNUSED const uint settled = (uint)window;
    for (uint c = GRAPH_TEAM; c < run->chunks; c += GRAPH_TEAMS) {
        const uint end = chunks[c + 1];
        graph_out out = graph_open(&team, outbox, run, c, chunks, superstep, window);
        for (uint first = chunks[c]; first < end; first += GRAPH_BLOCK) {
            const uint at = first + 32 * GRAPH_WORD;
            graph_word word = {0, 0};
#ifndef GRAPH_NO_PRIORITIES
            if (at < end)
                word.late = waiting[at / 32] & GRAPH_MINE;
#endif
            for (uint left = graph_all_bits(at, end) & GRAPH_MINE; left;
                 left &= left - 1) {
                const uint v = at + graph_lowest_bit(left);
                const int wants = HF_WANTS(state[v], settled);
                hf_message got = HF_NOTHING;
                HF_UNUSED uint any = 0;
                for (ulong e = rows[v]; e < rows[v + 1]; e++) {
                    if (!heard[e])
                        continue;
                    heard[e] = 0;
                    out.count.messages++;
                    out.count.digest += graph_record_digest(
                        run->rank, (uint)e, &messages[e], superstep - 1);
                    if (wants) {
                        got = hf_gather(got, messages[e]);
                        any = 1;
                    }
                }
#ifndef HF_ALWAYS
                if (any)
#endif
                    graph_change(&out, &word, run, names, degrees, state, later, v,
                                 got);
            }
            graph_keep(&out, waiting, word, at, end);
        }
        graph_wait(&out, waiting, later, chunks[c], end);
        graph_close(outbox, &out, c, run->list_words, seal, window);
    }
}

#endif
