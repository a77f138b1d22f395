/* sweep.h - message sizes, and the published rule for the steps of a sample. */
#ifndef HF_SWEEP_H
#define HF_SWEEP_H

#include "bench.h"
#include "hf_slide.h"

/** The sweep's entries of a benchmark's table of parameters. */
/* clang-format off */
#define HF_SWEEP_PARAMS                                                                \
    {"sizes", "message sizes [B]",                                                     \
     "1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,"      \
     "262144,524288,1048576", NULL, NULL, 1, 2147483648.0, HF_INTS},                   \
    {"loop", "steps per sample: published, max(loop_upper / ceil(size / "              \
     "(2 channel_width)), loop_lower) but no more than loop_upper; or timer, as few "  \
     "as the clock resolves, up to loop_upper",                                       \
     "published", "published|timer", NULL, 0, 0, HF_TEXT},                             \
    {"loop_upper", "most steps per sample", "1024", NULL, NULL, 1, 1e9, HF_INT},       \
    {"loop_lower", "fewest steps per sample", "32", NULL, NULL, 1, 1e9, HF_INT},        \
    {"rounds", "rounds over the sizes, among which reps are divided; one where reps is "   \
     "0, and with a trace", "5", NULL, NULL, 1, 1e6, HF_INT},                           \
    {"channel_width", "width of an external channel [B]", "32", NULL,                  \
     "HF_CHANNEL_WIDTH", 8, 4096, HF_INT}
/* clang-format on */

/** A plain value; `sizes` belongs to the parameters. */
typedef struct hf_sweep {
    const double *sizes; /**< [n] message sizes [B] */
    size_t n, loop_upper, loop_lower, channel_width;
    bool timer;
} hf_sweep;

hf_sweep hf_sweep_of(const hf_args *args);
/** Chunks of a message: two packets each. */
size_t hf_sweep_chunks(const hf_sweep *sweep, size_t bytes);
/** Most steps of a sample with messages of `bytes`. */
size_t hf_sweep_steps(const hf_sweep *sweep, size_t bytes);
/** Label and steps of a sample at a point. */
void hf_sweep_plan(const hf_sweep *sweep, size_t point, hf_setting *out);

#endif
