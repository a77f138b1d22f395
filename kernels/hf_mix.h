/* hf_mix.h - bits that look random, for kernels and for the host. */
#ifndef HF_MIX_H
#define HF_MIX_H

/** Every bit depends on many of `h`. */
static inline unsigned hf_mix(unsigned h) {
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    return h ^ h >> 13;
}

#endif
