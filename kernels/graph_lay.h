/* graph_lay.h - the edges of a block's vertices, laid end to end for a work-group.
 *
 * A work-item names the row of one vertex. Work-item i then takes edges i, i + GRAPH_ITEMS, ...
 * of all rows that are not long, so that rows of any lengths keep all busy, and neighbours read
 * neighbouring edges. The long rows are gone through one after the other, by all together.
 */
#ifndef GRAPH_LAY_H
#define GRAPH_LAY_H

#include "graph_team.h"

/** Edges of a row that is long: all work-items have some of it. */
#define GRAPH_LONG GRAPH_ITEMS

/** Lay rows of `length` edges from `row`, this work-item's one, end to end; how many edges that
 *  is. A block without edges costs little. */
static inline uint graph_lay(GRAPH_LOCAL graph_team *team, ulong row, ulong length) {
    const uint is_long = length > GRAPH_LONG;
    GRAPH_MEET();
    if (GRAPH_ME == 0)
        team->busy = team->n_longs = team->ends[0] = 0;
    team->rows[GRAPH_ME] = row;
    team->heard[GRAPH_ME] = 0;
    team->ends[GRAPH_ME + 1] = is_long ? 0 : (uint)length;
    GRAPH_MEET();
    if (is_long)
        team->longs[atomic_inc(&team->n_longs)] = GRAPH_ME;
    else if (length > 0)
        team->busy = 1;
    GRAPH_MEET();
    if (team->busy)
        for (uint n = 1; n < GRAPH_ITEMS; n *= 2) {
            const uint before = GRAPH_ME >= n ? team->ends[GRAPH_ME + 1 - n] : 0;
            GRAPH_MEET();
            team->ends[GRAPH_ME + 1] += before;
            GRAPH_MEET();
        }
    return team->ends[GRAPH_ITEMS];
}

/** Whose edge is edge k of those that were laid end to end? */
static inline uint graph_whose(GRAPH_LOCAL const graph_team *team, uint k) {
    uint i = 0;
    for (uint n = GRAPH_ITEMS / 2; n > 0; n /= 2)
        if (team->ends[i + n] <= k)
            i += n;
    return i;
}

#endif
