/* graph_control.h - what graph_persistent and its host tell each other, and decide alike. */
#ifndef GRAPH_CONTROL_H
#define GRAPH_CONTROL_H

#include "graph_layout.h"
#include "hf_phases_host.h"

#define GRAPH_LAUNCH_WORK (1u << 26) /**< edges in a launch, but for its last ones */

/** The control block of graph_persistent. What graph_push makes of each chunk comes behind it: a
 *  kernel has 20 arguments at most. */
typedef struct graph_control {
    /* what differs from run to run, zeros before a launch and after a run */
    hf_phases meets;
    unsigned long ticks[GRAPH_FEW_STEPS]; /**< of each superstep */
    unsigned reach;                       /**< chunks of a range, as the leader says: it
                                             depends on how many run */
    /* what it is told; of the last superstep, or of the first that `starts` the program */
    unsigned long window, width;
    unsigned long edges, told; /**< that it told along, and that all did */
    unsigned long all;         /**< edges of the graph, as they are gone along */
    unsigned superstep, active, pending, lowest, starts, cap, seal;
    float tolerance; /**< on what changes; below 0: none */
    /* what the one that leads tells the others of a phase */
    unsigned phase, phase_superstep, everyone;
    unsigned long phase_window;
    /* what it leaves */
    unsigned turned; /**< times that boxes changed places */
    graph_count counts[GRAPH_FEW_STEPS];
} graph_control;

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
