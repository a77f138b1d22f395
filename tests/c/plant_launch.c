/* plant_launch.c - launches with arguments that are not theirs. */
#include <string.h>

#include "plant_state.h"
#include "relay_layout.h"

enum { MAX_KERNELS = 64 };

/* The launch before, of each kernel. */
static struct {
    hf_kernel *kernel;
    hf_arg args[PLANT_ARGS];
    uint64_t values[PLANT_ARGS][PLANT_WORDS];
} last_launches[MAX_KERNELS];

void plant_launch_start(void) {
    memset(last_launches, 0, sizeof last_launches);
}

static size_t kernel_slot(hf_kernel *kernel) {
    size_t i = 0;
    while (i < MAX_KERNELS - 1 && last_launches[i].kernel &&
           last_launches[i].kernel != kernel)
        i++;
    return i;
}

void plant_launch_keep(const hf_launch *launch) {
    size_t slot = kernel_slot(launch->kernel);
    last_launches[slot].kernel = launch->kernel;
    for (size_t a = 0; a < launch->n_args; a++) {
        hf_arg arg = launch->args[a];
        if (!arg.buffer) {
            memcpy(last_launches[slot].values[a], arg.value, arg.bytes);
            arg.value = last_launches[slot].values[a];
        }
        last_launches[slot].args[a] = arg;
    }
}

/* Arguments before the first ring: those after it are the scheme's own, addresses of this
 * host among them, of which an old one leads two kernels onto one stack. */
static size_t benchmark_args(const hf_launch *launch) {
    size_t n = 0;
    while (n < launch->n_args && (!launch->args[n].buffer ||
                                  plant_number(launch->args[n].buffer) < PLANT_BUFFERS))
        n++;
    return n;
}

bool plant_launch_age(hf_launch *launch, hf_arg *args,
                      uint64_t values[PLANT_ARGS][PLANT_WORDS]) {
    size_t slot = kernel_slot(launch->kernel), n = benchmark_args(launch);
    bool differs = false;
    if (last_launches[slot].kernel != launch->kernel)
        return false;
    memcpy(args, launch->args, launch->n_args * sizeof *args);
    for (size_t a = 0; a < n; a++) {
        const hf_arg *is = &launch->args[a], *was = &last_launches[slot].args[a];
        args[a] = *was;
        differs = differs || is->buffer != was->buffer ||
                  (!is->buffer && memcmp(is->value, was->value, is->bytes) != 0);
        if (!is->buffer) {
            memcpy(values[a], was->value, was->bytes);
            args[a].value = values[a];
        }
    }
    launch->args = args;
    return differs;
}

/* The length of one of a job's messages. Its work-groups stay: those behind the shorter message
 * find no bytes to move. */
_Static_assert(sizeof(relay_job) <= PLANT_WORDS * sizeof(uint64_t), "room for values");
static uint32_t *job_length(relay_job *job) {
    size_t n = 0;
    while (n < RELAY_WAYS && job->ways[n].groups > 0)
        n++;
    relay_way *way = &job->ways[plant.fault->spot % n];
    return way->bytes > 1 ? &way->bytes : NULL;
}

bool plant_launch_shorten(hf_launch *launch, hf_arg *args,
                          uint64_t values[PLANT_ARGS][PLANT_WORDS]) {
    size_t numbers[PLANT_ARGS], n = 0, own = benchmark_args(launch);
    memcpy(args, launch->args, launch->n_args * sizeof *args);
    launch->args = args;
    for (size_t a = 0; a < own; a++) {
        uint64_t value = 0;
        if (!args[a].buffer && args[a].bytes == sizeof(relay_job)) {
            memcpy(values[a], args[a].value, args[a].bytes);
            args[a].value = values[a];
            uint32_t *number = job_length((relay_job *)values[a]);
            if (number)
                *number /= 2;
            return number != NULL;
        }
        if (args[a].buffer || args[a].bytes > sizeof value)
            continue;
        memcpy(&value, args[a].value, args[a].bytes);
        if (value > 1)
            numbers[n++] = a;
    }
    if (n == 0)
        return false;
    size_t a = numbers[plant.fault->spot % n];
    uint64_t value = 0;
    memcpy(&value, args[a].value, args[a].bytes);
    value /= 2;
    memcpy(values[a], &value, args[a].bytes);
    args[a].value = values[a];
    return true;
}
