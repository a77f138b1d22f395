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

HF_HOST_FILE(graph_memory, HF_HOST_KERNEL(graph_traits), HF_HOST_KERNEL(graph_sum),
             HF_HOST_KERNEL(graph_start), HF_HOST_KERNEL(graph_pull),
             HF_HOST_KERNEL(graph_admit), HF_HOST_KERNEL(graph_take),
             HF_HOST_KERNEL(graph_push), HF_HOST_KERNEL(graph_apply),
             HF_HOST_KERNEL(graph_few), HF_HOST_KERNEL(graph_scatter),
             HF_HOST_KERNEL(graph_deliver), HF_HOST_KERNEL(graph_collect),
             HF_HOST_KERNEL(graph_again), HF_HOST_KERNEL(graph_same))
