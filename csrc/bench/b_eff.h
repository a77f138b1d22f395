/* b_eff.h - what the two files of b_eff share. */
#ifndef HF_B_EFF_H
#define HF_B_EFF_H

#include "bench.h"
#include "sweep.h"
#include "verdict.h"

enum { N_CHAINS = 2, MOST_PAIRS = 4, N_SEND_ARGS = 5, N_RECV_ARGS = 4, N_ENDS = 3 };

/* A send and a receive kernel, their two ports, and what they are told. */
typedef struct pair {
    char names[2][24];
    hf_kernel *send, *recv;
    hf_buffer *last;    /* [chunks + 2, 2] packets */
    uint64_t stamps[2]; /* of the ports */
    hf_arg send_args[N_SEND_ARGS], recv_args[N_RECV_ARGS];
    hf_end send_ends[N_ENDS], recv_ends[N_ENDS];
} pair;

typedef struct b_eff {
    hf_env env;
    hf_sweep sweep;
    uint64_t sample;
    /* host-routed */
    hf_buffer *chains[N_CHAINS];
    hf_verdict verdict;
    hf_kernel *fill, *check;
    hf_plan
        *plans[2][N_CHAINS]; /* of the current point: to the left, to the right; from
                                    each chain to the other */
    size_t taken;            /* steps of this sample */
    /* kernel-routed */
    size_t n_pairs; /* 0 over host-routed schemes */
    pair pairs[MOST_PAIRS];
    hf_stream streams[2 * MOST_PAIRS];
    hf_link *links;
    size_t n_links, depth;
    unsigned char *got;     /* a `last` on the host */
    uint64_t steps, chunks; /* arguments of the pairs' kernels */
    uint32_t key;
} b_eff;

/* Eight bytes that tell sample, origin and partner apart, each by itself. */
uint64_t b_eff_stamp(uint64_t sample, int origin, int partner);
uint32_t b_eff_key(const b_eff *s, size_t point);
/* Do `n` messages of up to `largest` bytes fit the device, where those of `most` do? */
hf_status b_eff_memory_check(const b_eff *s, size_t n, size_t largest, size_t most);

/* The parts of `setup`, `connect`, `prepare`, `verify` and `teardown` where kernels send and
 * receive. */
hf_status b_eff_pairs_take(b_eff *s, const hf_args *args, size_t largest);
hf_status b_eff_connect(void *state);
hf_status b_eff_pairs_prepare(b_eff *s, size_t point);
hf_status b_eff_pairs_verify(b_eff *s, size_t point, double *error);
void b_eff_pairs_free(b_eff *s);

#endif
