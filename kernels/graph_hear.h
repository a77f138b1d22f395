/* graph_hear.h - what somebody hears of the vertices that told in a superstep of graph_few.h: they
 * become the front, or wait until they are due. */
#ifndef GRAPH_HEAR_H
#define GRAPH_HEAR_H

#include "graph_lists.h"

/** Look up the rows of the front. Returns how many edges leave it. */
static inline ulong graph_rows_look(const graph_lists *l, HF_GLOBAL const ulong *outs) {
    ulong edges = 0;
    for (uint i = 0; i < l->n_front; i++) {
        const uint begin = (uint)outs[l->front[i]];
        const uint degree = (uint)(outs[l->front[i] + 1] - begin);
        l->rows[i] = begin;
        l->degrees[i] = degree;
        edges += degree;
    }
    return edges;
}

/* Those of `next` whom somebody hears become the front, or wait until they are due. Returns how
 * many edges leave the front. */
#ifdef GRAPH_NO_PRIORITIES

/** Of the front those whom nobody hears go. */
static inline void graph_unheard_go(graph_lists *l) {
    uint n = 0;
    for (uint i = 0; i < l->n_front; i++) {
        l->front[n] = l->front[i];
        l->told[n] = l->told[i];
        l->rows[n] = l->rows[i];
        l->degrees[n] = l->degrees[i];
        n += GRAPH_HEARD(l->degrees[n]);
    }
    l->n_front = n;
}

/** The two lists change places, as mostly all are heard. */
static inline ulong graph_hear(graph_lists *l, HF_GLOBAL const ulong *outs,
                               HF_GLOBAL uint *waiting, HF_GLOBAL hf_update *later,
                               ulong window) {
    HF_GLOBAL uint *next = l->next;
    HF_GLOBAL hf_update *news = l->news;
    uint heard = 0;
    (void)waiting, (void)later, (void)window;
    l->next = l->front;
    l->news = l->told;
    l->front = next;
    l->told = news;
    l->n_front = l->n_next;
    l->n_next = 0;
    const ulong edges = graph_rows_look(l, outs);
    for (uint i = 0; i < l->n_front; i++)
        heard += GRAPH_HEARD(l->degrees[i]);
    if (heard < l->n_front)
        graph_unheard_go(l);
    return edges;
}

#else

static inline ulong graph_hear(graph_lists *l, HF_GLOBAL const ulong *outs,
                               HF_GLOBAL uint *waiting, HF_GLOBAL hf_update *later,
                               ulong window) {
    const uint until = (uint)(window >> 32);
    ulong edges = 0;
    if (l->n_next > GRAPH_FEW_ROOM - l->n_late)
        l->n_late = l->known = 0;
    for (uint i = 0; i < l->n_next; i++) {
        const uint v = l->next[i], degree = (uint)(outs[v + 1] - outs[v]),
                   heard = GRAPH_HEARD(degree);
        const hf_update told = l->news[i];
        const uint late = heard & (uint)GRAPH_LATER(told, until),
                   word = waiting[v / 32], waits = word >> v % 32 & 1;
        waiting[v / 32] = (word & ~(1u << v % 32)) | late << v % 32;
        later[v] = told;
        l->late[l->n_late] = v;
        l->n_late += late & ~waits;
        l->n_pending += late - waits;
        l->front[l->n_front] = v;
        l->told[l->n_front] = told;
        l->rows[l->n_front] = (uint)outs[v];
        l->degrees[l->n_front] = degree;
        l->n_front += heard & ~late;
        edges += late ? 0 : degree;
    }
    l->n_next = 0;
    return edges;
}

#endif

#endif
