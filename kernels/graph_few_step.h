/* graph_few_step.h - a superstep of few vertices: they send along their edges, and who got messages
 * applies them. */
#ifndef GRAPH_FEW_STEP_H
#define GRAPH_FEW_STEP_H

#include "graph_at.h"
#include "graph_hear.h"

/** How far ahead of its turn a vertex's edges are fetched, and then those to whom they lead. */
enum { GRAPH_FEW_ROW_AHEAD = 8, GRAPH_FEW_ENDS_AHEAD = 3 };

/** Is the first message mostly enough? Then a vertex applies it at once. */
#define GRAPH_EAGER (GRAPH_HINTED && !GRAPH_HELPED)

/** What a launch of few vertices works on; a plain value. */
typedef struct graph_few_data {
    HF_GLOBAL const ulong *outs;
    HF_GLOBAL const uint *to, *weights, *names;
    HF_GLOBAL const graph_run *run;
    HF_GLOBAL hf_vertex *state;
    HF_GLOBAL uint
        *got; /**< of who has no message HF_NOTHING; else its place in `sums` */
    uint superstep;
    ulong window;
    graph_lists lists;
} graph_few_data;

static inline uint graph_few_degree(const graph_few_data *few, uint v) {
    return (uint)(few->outs[v + 1] - few->outs[v]);
}

/** At the turn of number i of the front fetch what later ones need: the first ones are not worth a
 *  loop of their own. */
static inline void graph_few_fetch(const graph_few_data *few, uint i) {
    if (i + GRAPH_FEW_ROW_AHEAD < few->lists.n_front) {
        HF_PREFETCH_READ(few->to + few->lists.rows[i + GRAPH_FEW_ROW_AHEAD]);
    }
    i += GRAPH_FEW_ENDS_AHEAD;
    if (i >= few->lists.n_front)
        return;
    const uint begin = few->lists.rows[i], stop = begin + few->lists.degrees[i];
    for (uint e = begin; e < stop; e++) {
        HF_PREFETCH_READ(few->state + few->to[e]);
        if (!GRAPH_EAGER) {
            HF_PREFETCH_READ(few->got + few->to[e]);
        }
    }
}

/** Vertex `v` with state `s` applies `sum`. If it tells, `next` has it. Its state then. */
static inline hf_vertex graph_few_change(graph_few_data *few, uint v, hf_vertex s,
                                         hf_message sum, float *changed) {
    graph_lists *l = &few->lists;
    const hf_at at = graph_at(few->run, graph_id(few->run, few->names, v),
                              graph_few_degree(few, v), few->superstep);
    hf_update told;
    if (hf_apply(&s, sum, at, &told, changed)) {
        l->next[l->n_next] = v;
        l->news[l->n_next++] = told;
        HF_PREFETCH_READ(few->outs + v);
    }
    return s;
}

/** Vertex `v` applies `m`, unless another message could change it then. Did it? */
static inline uint graph_few_at_once(graph_few_data *few, uint v, hf_message m,
                                     float *changed) {
    HF_UNUSED const uint settled = (uint)few->window;
    const uint n_next = few->lists.n_next;
    float more = 0;
    const hf_vertex s = graph_few_change(few, v, few->state[v], m, &more);
    if (HF_WANTS(s, settled)) {
        few->lists.n_next = n_next;
        return 0;
    }
    few->state[v] = s;
    *changed += more;
    return 1;
}

/** The front sends along its edges. Whether two messages are for one vertex is hard to guess for
 *  a CPU, as is whether a message helps: there are no branches on that. */
static inline void graph_few_send(graph_few_data *few, graph_count *count) {
    graph_lists *l = &few->lists;
    HF_UNUSED const uint settled = (uint)few->window;
    const uint none = graph_bits_of(HF_NOTHING);
    uint n = 0;
    for (uint i = 0; i < l->n_front; i++) {
        const uint begin = l->rows[i], stop = begin + l->degrees[i];
        const hf_update told = l->told[i];
        graph_few_fetch(few, i);
        count->known += stop - begin + graph_teller(few->run, l->front[i]);
        for (uint e = begin; e < stop; e++) {
            const uint v = few->to[e], wants = HF_WANTS(few->state[v], settled) != 0;
            if (!GRAPH_HELPED && !wants)
                continue;
            const hf_edge edge = {GRAPH_WEIGHT(few->weights, e)};
            const hf_message m = hf_scatter(told, edge);
            const uint takes = wants & (uint)(HF_HELPS(few->state[v], m) != 0);
            count->messages += takes;
            if (GRAPH_EAGER && HF_ENOUGH(m, settled) &&
                graph_few_at_once(few, v, m, &count->changed))
                continue;
            const uint has = few->got[v], place = (has ^ none) - 1, fresh = place >= n,
                       slot = fresh ? n : place, old = l->sums[slot],
                       sum = graph_bits_of(
                           hf_gather(graph_message_of(fresh ? none : old), m));
            l->sums[slot] = takes ? sum : old;
            l->heard[slot] = v;
            few->got[v] = takes ? none ^ (slot + 1) : has;
            n += fresh & takes;
        }
    }
    l->n_front = 0;
    l->n_heard = n;
}

/** Those who got messages apply them, but for those who have got enough since. */
static inline void graph_few_apply(graph_few_data *few, graph_count *count) {
    HF_UNUSED const uint settled = (uint)few->window;
    graph_lists *l = &few->lists;
    for (uint i = 0; i < l->n_heard; i++) {
        const uint v = l->heard[i];
        few->got[v] = graph_bits_of(HF_NOTHING);
        if (!GRAPH_EAGER || HF_WANTS(few->state[v], settled))
            few->state[v] = graph_few_change(
                few, v, few->state[v], graph_message_of(l->sums[i]), &count->changed);
    }
}

#endif
