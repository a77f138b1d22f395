/* ptrans.h - what the files of ptrans share. */
#ifndef HF_PTRANS_H
#define HF_PTRANS_H

#include "bench.h"
#include "ptrans_grid.h"
#include "verdict.h"

enum { N_STREAM_ARGS = 4 };

/* One of the device's kernels, or pairs of kernels, with its share of the blocks. */
typedef struct replica {
    hf_buffer *a, *b, *c;
    hf_buffer *got;              /* blocks of A from other ranks */
    hf_plan *plan;               /* of the current point */
    hf_buffer *places, *sources; /* of the current point */
    hf_verdict verdict;
    uint32_t blocks;
    hf_kernel *add;
    /* kernel-routed */
    uint32_t own; /* blocks that go from kernel to kernel */
    char names[2][24];
    hf_kernel *send, *recv;
    hf_arg send_args[N_STREAM_ARGS], recv_args[N_STREAM_ARGS];
    hf_end ends[2][2]; /* [sends, inner] */
} replica;

typedef struct ptrans {
    hf_env env;
    ptrans_grid grid;
    const double *sizes; /* [n_layouts] */
    size_t n_layouts, block, real, replications;
    ptrans_layout *layouts; /* of the points */
    hf_kernel *fill, *check;
    replica replicas[PTRANS_MOST];
    size_t items; /* of fill and check */
    uint32_t key; /* of the current sample */
    /* kernel-routed */
    hf_stream streams[2 * PTRANS_MOST];
    hf_link *links;
    size_t width, depth;
} ptrans;

bool ptrans_kernel_routed(const ptrans *s);

/* Where kernels send and receive: links, if this grid has them; a pair of kernels at port
 * `r`; and the wires between ranks. */
hf_status ptrans_links_take(ptrans *s, bool grid_given);
hf_status ptrans_pair_take(ptrans *s, size_t r);
hf_status ptrans_connect(void *state);

#endif
