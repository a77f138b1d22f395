/* graph_buffers.h - buffers and kernels of the benchmark `graph`. */
#ifndef HF_GRAPH_BUFFERS_H
#define HF_GRAPH_BUFFERS_H

#include "device/device.h"

/** Buffers of the device. */
enum { GRAPH_BUFFERS = 35, GRAPH_KERNELS = 12 };
typedef union graph_buffers {
    struct {
        hf_buffer *chunks, *rows, *from, *weights, *degrees, *names, *run, *sums,
            *state, *waiting, *outbox, *inbox, *checks, *told, *all_told, *whole,
            *forest, *forests, *numbers, *all_numbers;
        hf_buffer *later;                           /**< [own] updates that wait */
        hf_buffer *pieces, *outs, *to, *to_weights; /**< edges by where they leave */
        hf_buffer *got, *touched, *made, *lists;    /**< of graph_push.h, graph_few.h */
        hf_buffer *control;                         /**< of graph_persistent.h */
        hf_buffer *arrivals, *messages, *heard;     /**< of graph_scatter.h */
        hf_buffer *heads, *places; /**< host memory of `heads`; of graph_take.h */
    };
    hf_buffer *all[GRAPH_BUFFERS];
} graph_buffers;
_Static_assert(sizeof(graph_buffers) == GRAPH_BUFFERS * sizeof(hf_buffer *),
               "GRAPH_BUFFERS");

typedef union graph_kernels {
    struct {
        hf_kernel *start, *pull, *apply, *admit; /**< in the order of graph_ring.h */
        hf_kernel *sum, *push, *few, *persistent, *take, *scatter, *deliver, *collect;
    };
    hf_kernel *all[GRAPH_KERNELS];
} graph_kernels;
_Static_assert(sizeof(graph_kernels) == GRAPH_KERNELS * sizeof(hf_kernel *),
               "GRAPH_KERNELS");

#endif
