/* sweep.c - message sizes, and the published rule for the steps of a sample. */
#include "sweep.h"

hf_sweep hf_sweep_of(const hf_args *args) {
    hf_sweep sweep = {
        .timer = hf_args_chosen(args, "loop", "timer"),
        .loop_upper = (size_t)hf_args_number(args, "loop_upper"),
        .loop_lower = (size_t)hf_args_number(args, "loop_lower"),
        .channel_width = (size_t)hf_args_number(args, "channel_width"),
    };
    sweep.sizes = hf_args_list(args, "sizes", &sweep.n);
    return sweep;
}

size_t hf_sweep_chunks(const hf_sweep *sweep, size_t bytes) {
    size_t chunk = 2 * sweep->channel_width;
    return (bytes + chunk - 1) / chunk;
}

size_t hf_sweep_steps(const hf_sweep *sweep, size_t bytes) {
    size_t steps = sweep->loop_upper;
    if (!sweep->timer)
        steps /= hf_sweep_chunks(sweep, bytes);
    steps = steps > sweep->loop_lower ? steps : sweep->loop_lower;
    return steps < sweep->loop_upper ? steps : sweep->loop_upper;
}

void hf_sweep_plan(const hf_sweep *sweep, size_t point, hf_setting *out) {
    out->labels[0] = sweep->sizes[point];
    out->most = hf_sweep_steps(sweep, (size_t)sweep->sizes[point]);
    out->fewest = sweep->timer ? 1 : out->most;
}
