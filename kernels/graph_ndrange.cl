/* graph_ndrange.cl - vertex programs for CPUs and GPUs: teams take chunks of vertices.
 *
 * A team is a work-item on a CPU, a work-group on a GPU. A chunk is a run of a rank's vertices
 * that begins at a multiple of 32, so that no other has a word of its bits. A team takes whole
 * chunks: between teams there are no atomics but those of a push, of places that messages of a
 * scatter take, and the tickets of graph_persistent, and sums do not depend on how many there are.
 *
 * graph_traits  what the program is
 * graph_sum    is what was sent there?
 * graph_start  the state before the first superstep, and the updates that it starts with
 * graph_pull   a superstep: every vertex gathers along the edges that lead to it
 * graph_push   or those who told make messages along the edges that leave them,
 * graph_apply  and those who got some apply them
 * graph_admit  updates that were not due are, in place of a superstep
 * graph_persistent  on one rank of a CPU all of these, in one launch
 * graph_take   what all ranks told becomes what the next superstep sees
 *
 * in architecture gravf in place of graph_pull, graph_push, graph_apply and graph_take:
 * graph_collect  a superstep: every vertex gathers the messages that came, and applies them
 * graph_scatter  its updates become messages
 * graph_deliver  those of all ranks come to the edges that they are for
 *
 * for the check of a program of one's own:
 * graph_again  a superstep of the whole graph, the plainest way
 * graph_same   is the state of these vertices what that left?
 */
#if defined(__x86_64__) || defined(__aarch64__)

#include "graph_persistent.h"
#include "graph_pull.h"
#include "graph_push.h"

#else

#define GRAPH_ITEMS 256
#include "graph_pull_group.h"
#include "graph_push_group.h"

#endif

#include "graph_again.h"
#include "graph_apply.h"
#include "graph_collect.h"
#include "graph_scatter.h"
#include "graph_start.h"
#include "graph_sum.h"
#include "graph_take.h"
