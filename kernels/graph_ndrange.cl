/* graph_ndrange.cl - vertex programs for CPUs and GPUs: a work-item takes chunks of vertices.
 *
 * A chunk is a run of a rank's vertices that begins at a multiple of 32, so that no other has a
 * word of its bits. A work-item takes whole chunks: there are no atomics, and sums do not depend
 * on the number of work-items.
 *
 * graph_sum    is what was sent there?
 * graph_start  the state before the first superstep, and the updates that it starts with
 * graph_pull   a superstep: every vertex gathers along the edges that lead to it
 * graph_admit  updates that were not due are, in place of a superstep
 * graph_take   what all ranks told becomes what the next superstep sees
 */
#include "graph_again.h"
#include "graph_few.h"
#include "graph_pull.h"
#include "graph_push.h"
#include "graph_start.h"
#include "graph_take.h"
