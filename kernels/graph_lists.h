/* graph_lists.h - the lists of vertices of graph_few.h. */
#ifndef GRAPH_LISTS_H
#define GRAPH_LISTS_H

#include "graph_message.h"

/** Lists of vertices; a plain value. */
typedef struct graph_lists {
    HF_GLOBAL uint *front;     /**< [GRAPH_FEW_ROOM] active */
    HF_GLOBAL uint *heard;     /**< [GRAPH_FEW_EDGES] those who got messages */
    HF_GLOBAL uint *sums;      /**< [GRAPH_FEW_EDGES] messages that they got, as one */
    HF_GLOBAL uint *late;      /**< [GRAPH_FEW_ROOM] all that wait, and maybe others */
    HF_GLOBAL hf_update *told; /**< [GRAPH_FEW_ROOM] by those of `front` */
    uint n_front, n_late, n_pending;
    uint known; /**< the list of those that wait is complete */
} graph_lists;

/** Empty lists, one behind the other in `memory`. `late` is yet to be filled with the
 *  `n_pending` vertices that wait. */
static inline graph_lists graph_lists_in(HF_GLOBAL uint *memory, uint n_pending) {
    graph_lists l;
    l.front = memory;
    l.heard = l.front + GRAPH_FEW_ROOM;
    l.sums = l.heard + GRAPH_FEW_EDGES;
    l.late = l.sums + GRAPH_FEW_EDGES;
    l.told = (HF_GLOBAL hf_update *)(l.late + GRAPH_FEW_ROOM);
    l.n_front = l.n_late = l.known = 0;
    l.n_pending = n_pending;
    return l;
}

/** Vertices ahead of whose turn those to whom their edges lead are fetched. */
#define GRAPH_FEW_AHEAD 8u

/** Have those to whom the edges of vertex i of the n in `front` lead in the cache. */
static inline void graph_fetch_next(HF_GLOBAL const uint *front, uint i, uint n,
                                    HF_GLOBAL const ulong *outs,
                                    HF_GLOBAL const uint *to,
                                    HF_GLOBAL const hf_vertex *state,
                                    HF_GLOBAL const uint *got) {
    if (i < n)
        graph_fetch_ends(to, state, got, outs[front[i]], outs[front[i] + 1]);
}

/** The lowest priority of those that wait, who are listed. */
static inline uint graph_late(graph_lists *l, HF_GLOBAL const uint *waiting,
                              HF_GLOBAL const hf_update *later, uint own) {
    uint lowest = HF_NOBODY;
    (void)l, (void)waiting, (void)later, (void)own;
#ifndef GRAPH_NO_PRIORITIES
    uint n = 0;
    if (l->known) {
        for (uint i = 0; i < l->n_late; i++) {
            const uint v = l->late[i];
            if (!(waiting[v / 32] >> v % 32 & 1))
                continue;
            const uint when = HF_WHEN(later[v]);
            lowest = when < lowest ? when : lowest;
            l->late[n++] = v;
        }
        l->n_late = n;
        return lowest;
    }
    for (uint first = 0; first < own; first += 32)
        for (uint left = waiting[first / 32] & graph_all_bits(first, own); left;
             left &= left - 1) {
            const uint v = first + graph_lowest_bit(left), when = HF_WHEN(later[v]);
            lowest = when < lowest ? when : lowest;
            if (n < GRAPH_FEW_ROOM)
                l->late[n] = v;
            n++;
        }
    l->known = n <= GRAPH_FEW_ROOM;
    l->n_late = l->known ? n : 0;
#endif
    return lowest;
}

#endif
