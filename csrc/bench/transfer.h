/* transfer.h - what copies alone and whole steps share. */
#ifndef HF_TRANSFER_H
#define HF_TRANSFER_H

#include "bench.h"
#include "sweep.h"

enum { N_CHAINS = 2 };

/* Memory of the host, pinned or not. */
typedef struct transfer_area {
    unsigned char *bytes;
    hf_buffer *pinned;
} transfer_area;

typedef struct transfer {
    hf_env env;
    hf_buffer *written, *read; /* of the device: where writes end, where reads begin */
    transfer_area from, to;    /* of the host: where writes begin, where reads end */
    hf_buffer *chains[N_CHAINS]; /* of whole steps */
    hf_plan *plans[N_CHAINS];    /* from each to the other, at the current point */
    hf_sweep sweep;
    bool writes, reads, steps;
    uint64_t sample;
    size_t message, windows; /* of this sample: bytes of one, and how many there are */
    size_t kept;             /* the step whose copy no other one writes on */
    bool upwards;            /* the first window first */
    size_t taken;            /* steps of this sample */
} transfer;

/* Bytes of a pattern, from its byte number `at` on. Places up to a thousand slides apart differ. */
void transfer_fill(unsigned char *out, size_t at, size_t n, uint64_t shift);
/* The pattern of this sample; `whose` tells those of it apart. */
uint64_t transfer_shift(const transfer *s, uint64_t whose);
void transfer_invert(unsigned char *bytes, size_t n);
size_t transfer_differ(const unsigned char *one, const unsigned char *other, size_t n);
/* Bytes from `i` on, `bytes` lie there in all, that the same steps have written: up to where a
 * window begins or ends. */
size_t transfer_slice(const transfer *s, size_t i, size_t bytes);

/* Whole steps: transfer_steps.c. */
size_t transfer_chain_bytes(const transfer *s, size_t point);
hf_status transfer_chains_plan(transfer *s, size_t point);
void transfer_plans_free(transfer *s);
hf_status transfer_chains_prepare(const transfer *s, size_t point);
hf_status transfer_chains_step(transfer *s, size_t inner);
hf_status transfer_chains_verify(const transfer *s, size_t point, size_t steps,
                                 double *error);

#endif
