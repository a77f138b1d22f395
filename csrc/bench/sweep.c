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

size_t hf_sweep_smallest(const hf_sweep *sweep) {
    size_t smallest = 0;
    for (size_t i = 1; i < sweep->n; i++)
        smallest = sweep->sizes[i] < sweep->sizes[smallest] ? i : smallest;
    return smallest;
}

size_t hf_sweep_steps(const hf_sweep *sweep, size_t bytes) {
    size_t steps = sweep->loop_upper;
    if (!sweep->timer)
        steps /= hf_sweep_chunks(sweep, bytes);
    steps = steps > sweep->loop_lower ? steps : sweep->loop_lower;
    return steps < sweep->loop_upper ? steps : sweep->loop_upper;
}

size_t hf_sweep_inner(const hf_sweep *sweep, size_t point, size_t fewest) {
    size_t steps = hf_sweep_steps(sweep, (size_t)sweep->sizes[point]);
    return sweep->timer && fewest < steps ? fewest : steps;
}
