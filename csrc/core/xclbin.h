/* xclbin.h - what a program binary for Xilinx's cards says of itself. */
#ifndef HF_XCLBIN_H
#define HF_XCLBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum {
    HF_XCLBIN_KERNELS = 64,
    HF_XCLBIN_ARGS = 64, /* of a kernel */
    HF_XCLBIN_UNITS = 128,
    HF_XCLBIN_MEMORIES = 256,
    HF_XCLBIN_WORDS = HF_XCLBIN_MEMORIES / 64
};

/** A set of memories. */
typedef struct hf_xclbin_reach {
    uint64_t words[HF_XCLBIN_WORDS];
} hf_xclbin_reach;

typedef struct hf_xclbin_arg {
    char name[64],
        type[32]; /**< e.g. "n", "uint"; name "": the kernel has none there */
    bool pointer; /**< to memory of the device */
    size_t bytes; /**< of a value */
} hf_xclbin_arg;

typedef struct hf_xclbin_kernel {
    char name[64];
    size_t n_args;
    hf_xclbin_arg args[HF_XCLBIN_ARGS];
} hf_xclbin_kernel;

/** A compute unit, e.g. "gemm_multiply_2" of kernel "gemm_multiply"; of what is no kernel,
 *  both names are "". */
typedef struct hf_xclbin_unit {
    char kernel[64], name[64];
    hf_xclbin_reach reach[HF_XCLBIN_ARGS]; /**< memories of each argument */
} hf_xclbin_unit;

typedef struct hf_xclbin_memory {
    char tag[17]; /**< e.g. "HBM[3]" */
    bool used;
    uint64_t bytes;
} hf_xclbin_memory;

/** All-zero texts and numbers: not said. */
typedef struct hf_xclbin {
    unsigned char uuid[16];
    char shell[65];
    size_t n_kernels, n_units, n_memories;
    hf_xclbin_kernel kernels[HF_XCLBIN_KERNELS];
    hf_xclbin_unit units[HF_XCLBIN_UNITS];
    hf_xclbin_memory memories[HF_XCLBIN_MEMORIES];
} hf_xclbin;

/** Read `bytes` bytes at `data`; nothing outside them is touched, whatever they say. *out is
 *  malloc'ed, the caller's. HF_EARG with what is wrong. */
hf_status hf_xclbin_read(hf_xclbin **out, const void *data, size_t bytes);

/** The kernel of a name; NULL: none. */
const hf_xclbin_kernel *hf_xclbin_find(const hf_xclbin *xclbin, const char *name);

static inline bool hf_xclbin_reaches(const hf_xclbin_reach *reach, size_t memory) {
    return reach->words[memory / 64] >> memory % 64 & 1;
}
static inline void hf_xclbin_reach_add(hf_xclbin_reach *reach, size_t memory) {
    reach->words[memory / 64] |= (uint64_t)1 << memory % 64;
}

#endif
