/* graph_led.h - a pull of vertices whose first edge brings all that they need. Most do, where the
 * neighbours with most edges are first. These loops of 32 go by vectors. */
#ifndef GRAPH_LED_H
#define GRAPH_LED_H

#include "graph_along.h"
#include "graph_at.h"

/** Tell those of the updates told[i] of own vertices first + i, for each bit i of `tell`, that are
 *  due; the others wait in `later`. */
static inline void graph_led_tell(graph_out *out, graph_word *word,
                                  HF_GLOBAL const uint *degrees,
                                  HF_GLOBAL hf_update *later, uint first, uint tell,
                                  const hf_update *told) {
    uint late = 0, n = out->count.active;
    ulong edges = 0;
    (void)later;
    GRAPH_EACH(i)
        late |= (uint)(GRAPH_LATER(told[i], out->until) != 0) << i;
    late &= tell;
    tell &= ~late;
    GRAPH_EACH(i)
        out->told[first + i] = tell >> i & 1 ? told[i] : out->told[first + i];
#ifndef GRAPH_NO_PRIORITIES
    GRAPH_EACH(i)
        later[first + i] = late >> i & 1 ? told[i] : later[first + i];
#endif
    GRAPH_EACH(i)
        edges += degrees[first + i] & (0 - (tell >> i & 1));
    word->bits |= tell;
    word->late = (word->late & ~tell) | late;
    out->count.active = n + graph_bit_count(tell);
    out->count.edges += edges;
    for (uint left = out->digests ? tell : 0; left; left &= left - 1) {
        const uint i = graph_lowest_bit(left);
        graph_list(out, n++, first + i, told[i]);
    }
}

/** Own vertices first .. first + 31 that have a bit in `led`, which is not 0, apply what their
 *  first edges bring, where that is enough. Returns their bits. In place of each
 *  other the first of them does so again, and nothing of it is kept: a program sees no vertex with
 *  a message that is not its own. */
static inline uint
graph_led_change(graph_out *out, graph_word *word, HF_GLOBAL const graph_run *run,
                 HF_GLOBAL const uint *names, HF_GLOBAL const uint *degrees,
                 HF_UNUSED HF_GLOBAL const ulong *rows, HF_GLOBAL const uint *leads,
                 HF_GLOBAL const uint *weights, HF_GLOBAL const hf_update *mirror,
                 HF_GLOBAL hf_vertex *state, HF_GLOBAL hf_update *later, uint first,
                 uint led, HF_UNUSED uint settled) {
    const uint any = first + graph_lowest_bit(led);
    hf_at at = graph_at(run, 0, 0, out->superstep);
    const hf_vertex first_led = state[any];
    const uint lead_led = leads[any], degree_led = degrees[any],
               id_led = graph_id(run, names, any);
    hf_update told[32];
    uint ids[32], enough = 0, tell = 0;
    GRAPH_EACH(i)
        ids[i] = graph_id(run, names, first + i);
    GRAPH_EACH(i) {
        const uint v = first + i, mine = led >> i & 1, lead = leads[v],
                   degree = degrees[v], u = mine ? lead : lead_led;
        const hf_message got =
            graph_along_from(u, weights, mirror, GRAPH_EDGE(rows[mine ? v : any]));
        const uint takes = mine & (uint)(HF_ENOUGH(got, settled) != 0);
        const hf_vertex old = state[v];
        hf_vertex s = mine ? old : first_led;
        float changed = 0; /* programs with HF_ALWAYS alone are held against it */
        at.id = mine ? ids[i] : id_led;
        at.degree = mine ? degree : degree_led;
        told[i] = mirror[u]; /* anything, of who tells nothing */
        const uint tells = hf_apply(&s, got, at, &told[i], &changed) != 0;
        state[v] = takes ? s : old;
        enough |= takes << i;
        tell |= (takes & tells & GRAPH_HEARD(degree)) << i;
    }
    graph_led_tell(out, word, degrees, later, first, tell, told);
    out->count.messages += graph_bit_count(enough);
    return enough;
}

#endif
