/* transfer.c - copies that move less than they should are seen in the benchmark `transfer`.
 *
 * Its parts read, write and both, on a device that loses bytes of copies in the timed part.
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
    bool reads, writes;   /* which copies do */
    size_t first, period; /* of the copies that do, in a sample */
    size_t copy;          /* the next one */
    bool timed;
    bool waited;   /* since the last read began */
    size_t beside; /* writes that began beside a read */
    size_t pins, setups;
    bool fails;          /* a write beside a read, at once */
    size_t begun, ended; /* copies with an event */
} fault;

static bool hit(bool may) {
    size_t copy = fault.copy;
    fault.copy += may;
    return may && fault.timed && copy + 2 < STEPS && copy >= fault.first &&
           (copy - fault.first) % fault.period == 0;
}

/* The part of `bytes` bytes that a copy moves: its begin and its length; a second one, too. */
static size_t parts_of(bool may, size_t bytes, size_t at[2], size_t length[2]) {
    size_t few = bytes < FEW ? bytes : FEW;
    int kind = hit(may) ? fault.kind : WHOLE;
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
    size_t begin[2], length[2], n = parts_of(fault.writes, bytes, begin, length);
    CHECK(!done || (!fault.waited && order->queue > 0 && order->n_after == 0),
          "not beside a read");
    if (done && fault.fails)
        return hf_fail(HF_EDEVICE, "planted");
    for (size_t i = 0; i < n; i++)
        HF_TRY(hf_device_host.write(device, buffer, at + begin[i],
                                    (const char *)from + begin[i], length[i], order,
                                    i + 1 == n ? done : NULL));
    fault.beside += done != NULL;
    fault.begun += done && *done;
    return HF_OK;
}

static hf_status short_read(hf_device *device, const hf_buffer *buffer, size_t at,
                            void *to, size_t bytes, const hf_order *order,
                            hf_event **done) {
    size_t begin[2], length[2], n = parts_of(fault.reads, bytes, begin, length);
    CHECK(fault.begun == fault.ended, "beside an earlier copy");
    for (size_t i = 0; i < n; i++)
        HF_TRY(hf_device_host.read(device, buffer, at + begin[i], (char *)to + begin[i],
                                   length[i], order, i + 1 == n ? done : NULL));
    fault.waited = !done;
    fault.begun += done && *done;
    return HF_OK;
}

static hf_status seen_pin(hf_buffer **out, hf_device *device, void *memory,
                          size_t bytes) {
    fault.pins++;
    return hf_device_host.pin(out, device, memory, bytes);
}

static hf_status seen_wait(hf_device *device, hf_event *event) {
    fault.waited = true;
    fault.ended += event != NULL;
    return hf_device_host.wait(device, event);
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
    fault.setups++;
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
        CHECK((path->step(state, point, steps) == HF_OK) == !fault.fails);
        fault.timed = false;
        CHECK(path->verify(state, point, steps, &outcome) == HF_OK);
        CHECK(outcome.work[0] ==
              setting.labels[0] * (hf_args_chosen(args, "part", "both") ? 2 : 1));
        n += outcome.error > 0;
    }
    path->teardown(state);
    return n;
}

/* Every `stride`-th fault of each kind. */
static void part_test(hf_device *device, hf_args *args, size_t stride) {
    CHECK(hf_args_set(args, "sizes", 0, NULL, "1,63,64,65,200,4096") == HF_OK);
    fault.kind = WHOLE;
    fault.period = 1;
    for (size_t steps = 1; steps <= STEPS; steps++)
        CHECK(seen(device, args, 6, steps) == 0, "%zu whole copies are wrong", steps);
    fault.kind = NOTHING;
    for (size_t period = 1; period <= STEPS; period += 1 + period / 4)
        for (fault.period = period, fault.first = 0; fault.first + 2 < STEPS;
             fault.first += stride)
            CHECK(seen(device, args, 6, STEPS) == SAMPLES,
                  "lost: from %zu on, every %zu", fault.first, period);
    CHECK(hf_args_set(args, "sizes", 0, NULL, "4096") == HF_OK);
    for (fault.kind = FRONT; fault.kind < KINDS; fault.kind++)
        for (size_t period = 1; period <= 4; period++)
            for (fault.period = period, fault.first = 0; fault.first + 2 < STEPS;
                 fault.first += stride) {
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
    static const struct {
        const char *part, *memory;
        bool writes, reads; /* of which some are faulty */
        size_t stride;      /* threads carry out what goes on side by side: slow */
    } runs[] = {
        {"write", "pinned", true, false, 1},   {"read", "pinned", false, true, 1},
        {"both", "pinned", true, false, 9},    {"both", "pinned", false, true, 9},
        {"write", "pageable", true, false, 3}, {"read", "pageable", false, true, 3}};
    hf_device *device;
    hf_args *args;
    CHECK(hf_device_host.open(&device, "", 0, NULL) == HF_OK);
    hf_device_ops ops = hf_device_host;
    ops.write = short_write;
    ops.read = short_read;
    ops.wait = seen_wait;
    ops.pin = seen_pin;
    device->ops = &ops;
    CHECK(hf_args_new(&args, "transfer") == HF_OK);
    CHECK(hf_args_set(args, "loop_upper", 0, NULL, "12") == HF_OK);
    CHECK(hf_args_set(args, "loop_lower", 0, NULL, "12") == HF_OK);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        CHECK(hf_args_set(args, "part", 0, NULL, runs[i].part) == HF_OK);
        CHECK(hf_args_set(args, "memory", 0, NULL, runs[i].memory) == HF_OK);
        fault.writes = runs[i].writes;
        fault.reads = runs[i].reads;
        fault.beside = fault.pins = fault.setups = 0;
        part_test(device, args, runs[i].stride);
        CHECK((fault.beside > 0) == (runs[i].part[0] == 'b'));
        CHECK(fault.begun == fault.ended);
        CHECK(fault.pins == (runs[i].memory[1] == 'i' ? 2 * fault.setups : 0));
    }
    CHECK(hf_args_set(args, "memory", 0, NULL, "pinned") == HF_OK);
    CHECK(hf_args_set(args, "part", 0, NULL, "both") == HF_OK);
    fault.kind = WHOLE;
    fault.fails = true;
    fault.begun = fault.ended = 0;
    CHECK(seen(device, args, 1, STEPS) == SAMPLES);
    CHECK(fault.begun == SAMPLES && fault.ended == SAMPLES, "%zu of %zu reads ended",
          fault.ended, fault.begun);
    hf_args_free(args);
    hf_device_host.close(device);
    return check_failures != 0;
}
