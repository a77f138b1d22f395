/* ptrans.h - what the files of ptrans share. */
#ifndef HF_PTRANS_H
#define HF_PTRANS_H

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
    char names[2][40];
    hf_kernel *send, *recv;
    hf_arg send_args[N_STREAM_ARGS], recv_args[N_STREAM_ARGS];
    hf_end ends[2][2]; /* [sends, inner] */
} replica;

typedef struct ptrans {
    hf_env env;
    ptrans_grid grid;
    const double *sizes; /* [n_layouts] */
    size_t n_layouts, block, real, replications;
    size_t n_buffers; /* as large as a matrix: A, B, C and what comes from others */
    ptrans_layout *layouts; /* of the points */
    hf_kernel *fill, *check;
    replica replicas[HF_MAX_NUMBERED];
    size_t items; /* of fill and check */
    uint32_t key; /* of the current sample */
    /* kernel-routed */
    hf_stream streams[2 * HF_MAX_NUMBERED];
    hf_link *links;
    size_t width, depth;
} ptrans;

/* What both paths share: of `setup`, parameters and then memory; the rest as it is. */
hf_status ptrans_take(ptrans *s, const hf_args *args, const hf_env *env,
                      hf_outline *out);
hf_status ptrans_memory_take(ptrans *s, const hf_args *args, size_t n_buffers);
hf_status ptrans_plan(void *state, size_t point, hf_setting *out);
hf_status ptrans_prepare(void *state, size_t point, uint64_t sample);
hf_status ptrans_verify(void *state, size_t point, size_t steps, hf_outcome *out);
void ptrans_teardown(void *state);

extern const hf_bench_path ptrans_streams;

#endif
