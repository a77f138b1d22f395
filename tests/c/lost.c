/* lost.c - no launch of a kernel gets lost unseen: not one, not several in a row. Nor would
 * all of a sample: its kernels find other data than those of the sample before. */
#include <stdlib.h>

#include "runs.h"

/* The device's table with a launch that some of the kernels never see. */
static hf_status (*device_launch)(hf_device *, const hf_launch *, hf_event **);
static long launches, lost_first, lost_end;

enum { MOST_SEEN = 256, SAMPLES = 3 };
static uint64_t
    seen[MOST_SEEN]; /* what launches of a whole run find in their buffers */

static uint64_t content(const hf_launch *what) {
    uint64_t sum = 0;
    for (size_t a = 0; a < what->n_args; a++) {
        const hf_buffer *buffer = what->args[a].buffer;
        const unsigned char *bytes = buffer ? buffer->host : NULL;
        for (size_t i = 0; bytes && i < buffer->bytes; i++)
            sum = (sum ^ bytes[i]) * 0x100000001B3;
    }
    return sum;
}

static hf_status launch(hf_device *device, const hf_launch *what, hf_event **done) {
    long number = launches++;
    if (lost_first == lost_end && number < MOST_SEEN)
        seen[number] = content(what);
    if (number < lost_first || number >= lost_end)
        return device_launch(device, what, done);
    if (done)
        *done = NULL;
    return HF_OK;
}

typedef struct program {
    const char *bench, *kernel;
    long weak;             /* launches of which only two in a row are always missed */
    long each;             /* launches of a sample; 0: and others between them */
    const char *params[9]; /* names and values in turn */
} program;

#define SAMPLED "reps", "2", "warmup", "1"

static const program programs[] = {
    /* Copies have two levels only: 1 launch to warm up, 2 x 10 to measure. */
    {"stream", "stream_memory_float", 21, 10, {"size", "4096", "steps", "10", SAMPLED}},
    {"randomaccess", "randomaccess_memory", 0, 1, {"sizes", "256", SAMPLED}},
    {"fft", "fft_memory", 0, 0, {"batch", "2", SAMPLED}},
    {"gemm", "gemm_memory_float", 0, 1, {"sizes", "48", SAMPLED}},
};

/* Is a run verified of which `count` launches from `first` on are lost? */
static bool verified(hf_session *session, const program *p, long first, long count) {
    launches = 0;
    lost_first = first;
    lost_end = first + count;
    return run_verified(session, p->bench, p->kernel, p->params);
}

int main(void) {
    hf_session *session;
    CHECK(hf_session_open(&session, &(hf_options){.device = "host"}) == HF_OK);
    hf_device_ops ops = *session->device->ops;
    device_launch = ops.launch;
    ops.launch = launch;
    session->device->ops = &ops;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const program *p = &programs[i];
        CHECK(verified(session, p, 0, 0), "%s", p->bench);
        long all = launches;
        for (long first = p->each; p->each > 0 && first < all; first += p->each)
            if (first / p->each % SAMPLES != 0) /* another point's else */
                CHECK(seen[first] != seen[first - p->each],
                      "%s: launch %ld finds the data of the sample before", p->bench,
                      first);
        for (long count = 1; count <= 6; count++)
            for (long first = count > 2 ? p->weak : 0; first + count <= all; first++)
                CHECK(!verified(session, p, first, count),
                      "%s: launches %ld to %ld of %ld are lost", p->bench, first,
                      first + count - 1, all);
    }
    hf_session_close(session);
    return check_failures != 0;
}
