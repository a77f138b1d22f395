/* graph_sum.h - what was sent to the device? */
#ifndef GRAPH_SUM_H
#define GRAPH_SUM_H

#include "graph_outbox.h"

/** Sum of a buffer's words, by which the host sees that they are those that it sent: they are
 *  indices, by which kernels find memory. A sum of each team. */
HF_KERNEL(graph_sum, HF_READ(uint, words), HF_WRITE(ulong, sums),
          HF_VALUE(ulong, count)) {
    GRAPH_LOCAL graph_team team;
    const ulong each = count / GRAPH_TEAMS, first = each * GRAPH_TEAM,
                end = GRAPH_TEAM + 1 == GRAPH_TEAMS ? count : first + each;
    graph_count sum = graph_nothing(0, 0, 0);
    for (ulong i = first + GRAPH_ME; i < end; i += GRAPH_ITEMS)
        sum.edges += (2 * i + 1) * words[i];
    graph_count_join(&team, &sum);
    if (GRAPH_ME == 0)
        sums[GRAPH_TEAM] = sum.edges;
}

#endif
