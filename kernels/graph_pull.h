/* graph_pull.h - a superstep: every vertex gathers along the edges that lead to it. */
#ifndef GRAPH_PULL_H
#define GRAPH_PULL_H

#include "graph_outbox.h"

HF_KERNEL(graph_pull, HF_READ(uint, chunks), HF_READ(ulong, rows), HF_READ(uint, from),
          HF_READ(uint, weights), HF_READ(uint, degrees), HF_READ(uint, names),
          HF_READ(graph_run, run), HF_READ(uchar, inbox), HF_WRITE(hf_vertex, state),
          HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting), HF_VALUE(uint, superstep),
          HF_VALUE(uint, everyone), HF_VALUE(ulong, window), HF_VALUE(uint, seal)) {
    HF_GLOBAL const uint *active = GRAPH_AT(const uint, inbox, run->in_bits);
    HF_GLOBAL const hf_update *mirror =
        GRAPH_AT(const hf_update, inbox, run->in_updates);
    HF_UNUSED const uint settled = (uint)window, until = (uint)(window >> 32);
    (void)weights, (void)waiting; /* not every program has them */
    for (uint c = (uint)HF_ITEM; c < run->chunks; c += (uint)HF_ITEMS) {
        graph_out out = graph_open(outbox, run, c, chunks);
        for (uint word = chunks[c]; word < chunks[c + 1]; word += 32) {
            const uint end = word + 32 < chunks[c + 1] ? word + 32 : chunks[c + 1];
            uint bits = 0;
#ifndef GRAPH_NO_PRIORITIES
            uint late = waiting[word / 32];
#endif
            for (uint v = word; v < end; v++) {
                const uint bit = 1u << (v - word);
                hf_vertex s = state[v];
                hf_message got = HF_NOTHING;
                uint any = 0;
                if (HF_WANTS(s, settled)) {
                    const ulong stop = rows[v + 1];
                    ulong e = rows[v];
                    if (everyone) {
                        any = (uint)(stop - e);
                        for (; e < stop; e++) {
                            const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
                            got = hf_gather(got, hf_scatter(mirror[from[e]], edge));
                            if (HF_ENOUGH(got, settled))
                                break;
                        }
                    } else {
                        for (; e < stop; e++) {
                            const uint u = from[e];
                            if (active[u / 32] >> (u % 32) & 1) {
                                const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
                                got = hf_gather(got, hf_scatter(mirror[u], edge));
                                any++;
                                if (HF_ENOUGH(got, settled))
                                    break;
                            }
                        }
                    }
                }
                out.count.messages += any;
                hf_update told;
                int tells = 0;
#ifndef HF_ALWAYS
                if (any)
#endif
                {
                    const hf_at at = graph_at(run, names[v], degrees[v], superstep);
                    tells = hf_apply(&s, got, at, &told, &out.count.changed) &&
                            GRAPH_HEARD(at.degree);
                    state[v] = s;
                }
                if (tells) {
                    out.told[v] = told;
#ifndef GRAPH_NO_PRIORITIES
                    late &= ~bit;
                    if (GRAPH_LATER(told, until)) {
                        late |= bit;
                        continue;
                    }
#endif
                    bits |= bit;
                    graph_tell(&out, run->first + v, told, degrees[v], run->room,
                               superstep);
                }
            }
            out.bits[word / 32] = bits;
#ifndef GRAPH_NO_PRIORITIES
            waiting[word / 32] = late;
            for (uint left = late; left; left &= left - 1)
                graph_wait(&out, HF_WHEN(out.told[word + graph_lowest_bit(left)]));
#endif
        }
        graph_close(outbox, &out, c, run->list_words, seal, superstep, window);
    }
}

#endif
