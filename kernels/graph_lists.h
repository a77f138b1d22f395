/* graph_lists.h - the lists of vertices of graph_few.h, and who waits in one until it is due.
 * Each is written behind the list that it may belong to: graph_hear.h. */
#ifndef GRAPH_LISTS_H
#define GRAPH_LISTS_H

#include "graph_message.h"

/** Lists of vertices; a plain value. `front` and `next`, and what both told, may change places. */
typedef struct graph_lists {
    HF_GLOBAL uint *rows;    /**< [GRAPH_FEW_ROOM] where rows of `front` begin */
    HF_GLOBAL uint *degrees; /**< [GRAPH_FEW_ROOM] and how long they are */
    HF_GLOBAL uint *front;   /**< [GRAPH_FEW_ROOM] active */
    HF_GLOBAL uint *heard;   /**< [GRAPH_FEW_EDGES] those who got messages */
    HF_GLOBAL uint *sums;    /**< [GRAPH_FEW_EDGES] messages that they got, as one */
    HF_GLOBAL uint *late;    /**< [GRAPH_FEW_ROOM] all that wait, and maybe others */
    HF_GLOBAL uint *next;    /**< [GRAPH_FEW_EDGES] those who told in this superstep */
    HF_GLOBAL hf_update *told; /**< [GRAPH_FEW_ROOM] by those of `front` */
    HF_GLOBAL hf_update *news; /**< [GRAPH_FEW_EDGES] told by those of `next` */
    uint n_front, n_heard, n_late, n_next, n_pending;
    uint known; /**< the list of those that wait is complete */
} graph_lists;

/** Empty lists, one behind the other in `memory` of GRAPH_LISTS_BYTES. `late` is yet to be filled
 *  with the `n_pending` vertices that wait. */
static inline graph_lists graph_lists_in(HF_GLOBAL uint *memory, uint n_pending) {
    graph_lists l;
    l.rows = memory;
    l.degrees = l.rows + GRAPH_FEW_ROOM;
    l.front = l.degrees + GRAPH_FEW_ROOM;
    l.heard = l.front + GRAPH_FEW_ROOM;
    l.sums = l.heard + GRAPH_FEW_EDGES;
    l.late = l.sums + GRAPH_FEW_EDGES;
    l.next = l.late + GRAPH_FEW_ROOM;
    l.told = (HF_GLOBAL hf_update *)(l.next + GRAPH_FEW_EDGES);
    l.news = l.told + GRAPH_FEW_ROOM;
    l.n_front = l.n_heard = l.n_late = l.n_next = l.known = 0;
    l.n_pending = n_pending;
    return l;
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

/** Those that wait and are due in the next window, from `lowest` on, become the front. */
static inline void graph_due(graph_lists *l, HF_GLOBAL uint *waiting,
                             HF_GLOBAL const hf_update *later, uint lowest,
                             ulong *window, ulong *width) {
    (void)l, (void)waiting, (void)later, (void)lowest, (void)window, (void)width;
#ifndef GRAPH_NO_PRIORITIES
    const uint until =
        (uint)((*window = graph_window_from(lowest, width, HF_GROWTH)) >> 32);
    for (uint i = 0; i < l->n_late; i++) {
        const uint v = l->late[i], word = waiting[v / 32],
                   due = (word >> v % 32) & (uint)!GRAPH_LATER(later[v], until);
        waiting[v / 32] = word & ~(due << v % 32);
        l->front[l->n_front] = v;
        l->told[l->n_front] = later[v];
        l->n_front += due;
        l->n_pending -= due;
    }
#endif
}

#endif
