/* graph_again.h - a program taken the plainest way, against whose result that of others is held. */
#ifndef GRAPH_AGAIN_H
#define GRAPH_AGAIN_H

#include "graph_at.h"
#include "graph_outbox.h"
#include "hf_finding.h"

enum { GRAPH_RUN = 256 }; /* vertices whose changes are added up by themselves */

/** One work-item; vertices have the numbers of the input. found[0] is whether any told, found[1]
 *  the bits of how much all changed together. */
HF_KERNEL(graph_again, HF_READ(ulong, rows), HF_READ(uint, from),
          HF_READ(uint, weights), HF_READ(uint, degrees), HF_READ(graph_run, run),
          HF_WRITE(hf_vertex, state), HF_READ(uint, active), HF_READ(hf_update, told),
          HF_WRITE(uint, next_active), HF_WRITE(hf_update, next_told),
          HF_WRITE(uint, found), HF_VALUE(uint, superstep)) {
    uint any_told = 0;
    float part = 0;
    union {
        float sum;
        uint bits;
    } all = {0};
    (void)weights;
    for (uint v = 0; v < run->vertices && HF_ITEM == 0; v++) {
        const hf_at at = graph_at(run, v, degrees[v], superstep);
        hf_message got = HF_NOTHING;
        float changed = 0;
        int any = 0, tells = 0;
        hf_vertex s;
        hf_update update;
        if (superstep == 0) {
            tells = hf_start(&s, at, &update);
            state[v] = s;
        } else {
            for (ulong e = rows[v]; e < rows[v + 1]; e++)
                if (active[from[e]]) {
                    const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
                    got = hf_gather(got, hf_scatter(told[from[e]], edge));
                    any = 1;
                }
            if (any || GRAPH_ALL) {
                s = state[v];
                tells = hf_apply(&s, got, at, &update, &changed);
                state[v] = s;
            }
        }
        if (tells)
            next_told[v] = update;
        next_active[v] = (uint)(tells != 0);
        any_told |= (uint)(tells != 0);
        part += changed;
        if (v % GRAPH_RUN + 1 == GRAPH_RUN || v + 1 == run->vertices) {
            all.sum += part;
            part = 0;
        }
    }
    found[0] = any_told;
    found[1] = all.bits;
}

#ifndef HF_SAME
#define HF_SAME(a, b) graph_equal(a, b)
static inline int graph_equal(hf_vertex a, hf_vertex b) {
    union {
        hf_vertex vertex;
        uchar bytes[sizeof(hf_vertex)];
    } x, y;
    x.vertex = a;
    y.vertex = b;
    for (uint i = 0; i < sizeof(hf_vertex); i++)
        if (x.bytes[i] != y.bytes[i])
            return 0;
    return 1;
}
#endif

HF_KERNEL(graph_same, HF_READ(uint, names), HF_READ(graph_run, run),
          HF_READ(hf_vertex, state), HF_READ(hf_vertex, again),
          HF_WRITE(hf_finding, findings), HF_VALUE(uint, seal)) {
    uint wrong = 0;
    ulong seen = 0;
    for (ulong v = HF_ITEM; v < run->own; v += HF_ITEMS) {
        wrong += (uint)!HF_SAME(state[v], again[names[v]]);
        seen++;
    }
    findings[HF_ITEM] = hf_finding_make(wrong, seen, seal);
}

#endif
