/* transfer.c - copies that move less than they should are seen in the benchmark `transfer`.
 *
 * Its parts read and write, on a device that loses bytes of copies in the timed part.
 */
#include <string.h>

#include "bench/bench.h"
#include "check.h"
#include "core/error.h"

extern const hf_bench hf_bench_transfer;
extern const hf_device_ops hf_device_host;

enum { STEPS = 12 /* loop_upper */, SAMPLES = 16, FEW = 64 };

/** What a copy moves; the last two of a sample are always whole. */
enum { WHOLE, NOTHING, FRONT, END, BOTH, HALF, KINDS };

static struct {
    int kind;
    size_t first, period; /* of the copies that do, in a sample */
    size_t copy;          /* the next one */
    bool timed;
} fault;

static bool hit(void) {
    size_t copy = fault.copy++;
    return fault.timed && copy + 2 < STEPS && copy >= fault.first &&
           (copy - fault.first) % fault.period == 0;
}

/* The part of `bytes` bytes that a copy moves: its begin and its length; a second one, too. */
static size_t parts_of(size_t bytes, size_t at[2], size_t length[2]) {
    size_t few = bytes < FEW ? bytes : FEW;
    int kind = hit() ? fault.kind : WHOLE;
    at[0] = 0, at[1] = bytes - few;
    length[0] = kind == WHOLE ? bytes : kind == HALF ? bytes / 2 : few;
    length[1] = few;
    if (kind == END)
        at[0] = at[1];
    return kind == NOTHING ? 0 : kind == BOTH ? 2 : 1;
}

static hf_status short_write(hf_device *device, hf_buffer *buffer, size_t at,
                             const void *from, size_t bytes, const hf_order *order,
                             hf_event **done) {
    size_t begin[2], length[2], n = parts_of(bytes, begin, length);
    for (size_t i = 0; i < n; i++)
        HF_TRY(hf_device_host.write(device, buffer, at + begin[i],
                                    (const char *)from + begin[i], length[i], order,
                                    done));
    return HF_OK;
}

static hf_status short_read(hf_device *device, const hf_buffer *buffer, size_t at,
                            void *to, size_t bytes, const hf_order *order,
                            hf_event **done) {
    size_t begin[2], length[2], n = parts_of(bytes, begin, length);
    for (size_t i = 0; i < n; i++)
        HF_TRY(hf_device_host.read(device, buffer, at + begin[i], (char *)to + begin[i],
                                   length[i], order, done));
    return HF_OK;
}

/** In how many of the samples, of so many steps, is the fault seen? */
static size_t seen(hf_device *device, const hf_args *args, size_t n_points,
                   size_t steps) {
    static _Alignas(16) char state[4096];
    const hf_bench_path *path = hf_bench_transfer.blocks;
    const hf_env env = {.device = device, .size = 1, .seed = 5};
    hf_outline outline = {0};
    size_t n = 0;
    CHECK(path->state_size <= sizeof state);
    memset(state, 0, sizeof state);
    CHECK(path->setup(state, args, &env, &outline) == HF_OK, "%s", hf_error());
    CHECK(outline.n_points == n_points);
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        size_t point = sample % n_points;
        hf_setting setting = {0};
        hf_outcome outcome = {0};
        CHECK(path->plan(state, point, &setting) == HF_OK);
        CHECK(path->prepare(state, point, sample) == HF_OK);
        fault.timed = true;
        fault.copy = 0;
        CHECK(path->step(state, point, steps) == HF_OK);
        fault.timed = false;
        CHECK(path->verify(state, point, steps, &outcome) == HF_OK);
        n += outcome.error > 0;
    }
    path->teardown(state);
    return n;
}

static void part_test(hf_device *device, hf_args *args) {
    CHECK(hf_args_set(args, "sizes", 0, NULL, "1,63,64,65,200,4096") == HF_OK);
    fault.kind = WHOLE;
    fault.period = 1;
    for (size_t steps = 1; steps <= STEPS; steps++)
        CHECK(seen(device, args, 6, steps) == 0, "%zu whole copies are wrong", steps);
    fault.kind = NOTHING;
    for (size_t period = 1; period <= STEPS; period += 1 + period / 4)
        for (fault.period = period, fault.first = 0; fault.first + 2 < STEPS;
             fault.first++)
            CHECK(seen(device, args, 6, STEPS) == SAMPLES,
                  "lost: from %zu on, every %zu", fault.first, period);
    CHECK(hf_args_set(args, "sizes", 0, NULL, "4096") == HF_OK);
    for (fault.kind = FRONT; fault.kind < KINDS; fault.kind++)
        for (size_t period = 1; period <= 4; period++)
            for (fault.period = period, fault.first = 0; fault.first + 2 < STEPS;
                 fault.first++) {
                size_t cut = (STEPS - 3 - fault.first) / period + 1,
                       n = seen(device, args, 1, STEPS);
                if (fault.kind != BOTH) /* half of the samples show each */
                    CHECK(n >= SAMPLES / 2, "%d: from %zu on, every %zu: %zu",
                          fault.kind, fault.first, period, n);
                else if (2 * cut >= STEPS - 2)
                    CHECK(n >= SAMPLES / 4, "both ends: from %zu on, every %zu: %zu",
                          fault.first, period, n);
            }
}

int main(void) {
    static const char *const parts[] = {"write", "read"};
    hf_device *device;
    hf_args *args;
    CHECK(hf_device_host.open(&device, "", 0, NULL) == HF_OK);
    hf_device_ops ops = hf_device_host;
    ops.write = short_write;
    ops.read = short_read;
    device->ops = &ops;
    CHECK(hf_args_new(&args, "transfer") == HF_OK);
    CHECK(hf_args_set(args, "loop_upper", 0, NULL, "12") == HF_OK);
    CHECK(hf_args_set(args, "loop_lower", 0, NULL, "12") == HF_OK);
    for (int part = 0; part < 2; part++) {
        CHECK(hf_args_set(args, "part", 0, NULL, parts[part]) == HF_OK);
        part_test(device, args);
    }
    hf_args_free(args);
    hf_device_host.close(device);
    return check_failures != 0;
}
