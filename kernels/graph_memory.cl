/* graph_memory.cl - vertex programs for FPGAs: one work-item takes chunk after chunk. */
#include "graph_again.h"
#include "graph_apply.h"
#include "graph_collect.h"
#include "graph_few.h"
#include "graph_pull.h"
#include "graph_push.h"
#include "graph_scatter.h"
#include "graph_start.h"
#include "graph_sum.h"
#include "graph_take.h"

/** Supersteps of few vertices: graph_few.h. */
HF_KERNEL(graph_few, HF_READ(ulong, outs), HF_READ(uint, to), HF_READ(uint, weights),
          HF_READ(uint, names), HF_READ(graph_run, run), HF_WRITE(uchar, box),
          HF_WRITE(hf_vertex, state), HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting),
          HF_WRITE(hf_update, later), HF_WRITE(uint, got), HF_WRITE(uint, lists),
          HF_VALUE(uint, superstep), HF_VALUE(uint, cap), HF_VALUE(uint, pending),
          HF_VALUE(ulong, window), HF_VALUE(ulong, width), HF_VALUE(uint, seal)) {
    graph_course at = graph_course_from(GRAPH_AT(graph_count, outbox, 0), superstep,
                                        pending, window, width, cap, seal);
    at.again = at.counts[0].superstep == superstep + 1;
    if (HF_ITEM == 0)
        graph_few_take(outs, to, weights, names, run, box, state, waiting, later, got,
                       lists, 0, &at);
}

HF_HOST_FILE(graph_memory, HF_HOST_KERNEL(graph_traits), HF_HOST_KERNEL(graph_sum),
             HF_HOST_KERNEL(graph_start), HF_HOST_KERNEL(graph_pull),
             HF_HOST_KERNEL(graph_admit), HF_HOST_KERNEL(graph_take),
             HF_HOST_KERNEL(graph_push), HF_HOST_KERNEL(graph_apply),
             HF_HOST_KERNEL(graph_few), HF_HOST_KERNEL(graph_scatter),
             HF_HOST_KERNEL(graph_deliver), HF_HOST_KERNEL(graph_collect),
             HF_HOST_KERNEL(graph_again), HF_HOST_KERNEL(graph_same))
