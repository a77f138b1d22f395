/* hf_finding.h - what a work-item of a check kernel found, for kernels and for their host.
 *
 * A finding is sealed: memory that the kernel did not write, or wrote for another sample, run
 * or rank, does not carry the seal of this one.
 */
#ifndef HF_FINDING_H
#define HF_FINDING_H

/** `bits` is a number of wrong values, or the magnitude of the largest error. */
typedef struct hf_finding {
    unsigned bits, sealed;
    unsigned long seen; /**< values that were looked at */
} hf_finding;

static inline unsigned hf_finding_seal(unsigned bits, unsigned long seen,
                                       unsigned seal) {
    return (bits ^ seal) + (unsigned)seen * 0x9E3779B1u;
}

static inline hf_finding hf_finding_make(unsigned bits, unsigned long seen,
                                         unsigned seal) {
    const hf_finding finding = {bits, hf_finding_seal(bits, seen, seal), seen};
    return finding;
}

/** The bits of a number's magnitude: their order is that of magnitudes, NaN above all. */
static inline unsigned hf_magnitude(float value) {
    union {
        float value;
        unsigned bits;
    } u;
    u.value = value;
    return u.bits & 0x7FFFFFFF;
}

#endif
