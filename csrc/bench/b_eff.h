/* b_eff.h - what both paths of b_eff share. */
#ifndef HF_B_EFF_H
#define HF_B_EFF_H

#include "bench.h"
#include "sweep.h"

/* The state of a path begins with it. */
typedef struct b_eff {
    hf_env env;
    hf_sweep sweep;
    uint64_t sample;
} b_eff;

void b_eff_take(b_eff *s, const hf_args *args, const hf_env *env, hf_outline *out);
/* Eight bytes that tell sample, origin and partner apart, each by itself. */
uint64_t b_eff_stamp(uint64_t sample, int origin, int partner);
uint32_t b_eff_key(const b_eff *s, size_t point);
/* Refuse `n` messages of `largest` bytes where the device holds `n` of at most `most` bytes. */
hf_status b_eff_memory_check(const b_eff *s, size_t n, size_t largest, size_t most);

extern const hf_bench_path b_eff_streams;

#endif
