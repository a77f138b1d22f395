/* hf_pairs.h - HF_REPLICATIONS, pairs of kernels: a run takes as many as it wants. */
#ifndef HF_PAIRS_H
#define HF_PAIRS_H

#include "hf_numbered.h"

#ifndef HF_REPLICATIONS
#if defined(HF_INTEL) || defined(HF_XILINX)
#define HF_REPLICATIONS 2
#else
#define HF_REPLICATIONS HF_MAX_NUMBERED
#endif
#endif
#if HF_REPLICATIONS < 1 || HF_REPLICATIONS > HF_MAX_NUMBERED
#error "HF_REPLICATIONS, the pairs of kernels, must be 1 to 4"
#endif

#endif
