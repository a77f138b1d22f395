/* graph_hear.h - those who told in a superstep of graph_few.h: who has edges becomes the front, or
 * waits until it is due.
 *
 * Which one does is hard to guess for a CPU: each is written behind the list that it may belong to,
 * and counted there if it does.
 */
#ifndef GRAPH_HEAR_H
#define GRAPH_HEAR_H

#include "graph_lists.h"

/** Look up the row of vertex `v`, number i of the front. Returns how long it is. */
static inline uint graph_row_look(const graph_lists *l, HF_GLOBAL const ulong *outs,
                                  uint i, uint v) {
    const uint begin = (uint)outs[v], degree = (uint)outs[v + 1] - begin;
    l->rows[i] = begin;
    l->degrees[i] = degree;
    return degree;
}

/** Look up the rows of the front. Returns how many edges leave it. */
static inline ulong graph_rows_look(const graph_lists *l, HF_GLOBAL const ulong *outs) {
    ulong edges = 0;
    for (uint i = 0; i < l->n_front; i++)
        edges += graph_row_look(l, outs, i, l->front[i]);
    return edges;
}

#ifdef GRAPH_NO_PRIORITIES

/** Those without edges leave the front: nobody hears them. */
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

/** Those of `next` who have edges become the front; returns how many edges leave it. The two lists
 *  change places, as mostly all have some. */
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

/** Those of `next` who have edges become the front, or wait until they are due; returns how many
 *  edges leave the front. */
static inline ulong graph_hear(graph_lists *l, HF_GLOBAL const ulong *outs,
                               HF_GLOBAL uint *waiting, HF_GLOBAL hf_update *later,
                               ulong window) {
    const uint until = (uint)(window >> 32);
    ulong edges = 0;
    if (l->n_next > GRAPH_FEW_ROOM - l->n_late)
        l->n_late = l->known = 0;
    for (uint i = 0; i < l->n_next; i++) {
        const uint v = l->next[i], degree = graph_row_look(l, outs, l->n_front, v),
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
        l->n_front += heard & ~late;
        edges += late ? 0 : degree;
    }
    l->n_next = 0;
    return edges;
}

#endif

#endif
