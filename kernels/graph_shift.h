/* graph_shift.h - what the host and a launch of many supersteps tell each other and decide. */
#ifndef GRAPH_SHIFT_H
#define GRAPH_SHIFT_H

#include "graph_layout.h"
#include "hf_crew_host.h"

#define GRAPH_CREW_WORK (1u << 26) /**< edges in a launch, before the last superstep */

/** What graph_crew is told, and leaves. What graph_push makes of each chunk comes behind it. */
typedef struct graph_shift {
    hf_crew meets;
    unsigned long ticks[GRAPH_FEW_STEPS]; /**< left: of a clock; 0: there is none */
    unsigned long window, width;
    unsigned long edges, told; /**< that the last superstep told along, and all did */
    unsigned long all;         /**< edges of the graph, as they are gone along */
    unsigned superstep, active, pending, lowest; /**< the last, and what it counted */
    unsigned starts;                             /**< it is yet to come, as the first */
    unsigned cap, seal;
    unsigned turned;              /**< left: times that boxes changed places */
    unsigned kind, everyone, now; /**< of a phase; the superstep, and its window */
    unsigned long due;
    graph_count counts[GRAPH_FEW_STEPS]; /**< left: of each superstep */
} graph_shift;

/** May graph_few go on after a superstep that counted this? */
static inline int graph_is_few(unsigned long active, unsigned long pending,
                               unsigned long edges) {
    return edges <= GRAPH_FEW_EDGES && (active > 0 || pending <= GRAPH_FEW_ROOM);
}

/** Where the edges to go along are many, each vertex looks for messages. After Beamer, Asanovic
 *  and Patterson: when active vertices have a good part of the edges that are left. A look at
 *  each vertex is as dear as some edges, so it ends where few are told along, though all others
 *  were. A program that takes all messages, that has no `hints`, looks at all edges. */
static inline int graph_pull_pays(unsigned long edges, unsigned long told,
                                  unsigned long all, unsigned long vertices,
                                  unsigned hints) {
    enum { ALPHA = 15, LOOKS = 32, PATIENT = 4 };
    const unsigned long before = told - edges, left = before < all ? all - before : 0;
    return hints ? edges > left / ALPHA + vertices / LOOKS : edges > all / PATIENT;
}

#endif
