/* settle.c - copies before each sample of b_eff and transfer, where the device's threads have one
 * core, which is the caller's, too.
 *
 * The clock is the test's own. The device is the host, which is said to have such threads.
 */
#include <string.h>

#include "core/clock.h"
#include "core/session.h"
#include "runs.h"
#include "world.h"

enum { REPS = 3, SAMPLES = 2 * REPS /* of two sizes, timed */, READS = 3000 };

static size_t cores = 2, reads, failing;
static size_t in_a_row; /* of these reads, since another command */
static size_t steps;    /* so far; of each size, the first one is the warm-up */
static bool settles;
static double now;

double __wrap_hf_clock_now(void);
double __wrap_hf_clock_now(void) {
    now += 1e-6;
    return now;
}

size_t __wrap_hf_cores(void);
size_t __wrap_hf_cores(void) {
    return cores;
}

static const hf_device_ops *device_table;
static const hf_exchange_ops *exchange_table;

static hf_status seen_read(hf_device *device, const hf_buffer *from, size_t at,
                           void *to, size_t bytes, const hf_order *order,
                           hf_event **done) {
    bool settling = from->bytes == 1;
    reads += settling;
    in_a_row = settling ? in_a_row + 1 : 0;
    if (settling && reads == failing)
        return hf_fail(HF_EDEVICE, "planted");
    return device_table->read(device, from, at, to, bytes, order, done);
}

static hf_status seen_write(hf_device *device, hf_buffer *to, size_t at,
                            const void *from, size_t bytes, const hf_order *order,
                            hf_event **done) {
    in_a_row = 0;
    return device_table->write(device, to, at, from, bytes, order, done);
}

static hf_status seen_launch(hf_device *device, const hf_launch *launch,
                             const hf_order *order, hf_event **done) {
    in_a_row = 0;
    return device_table->launch(device, launch, order, done);
}

/* A sample is one step. */
static hf_status seen_start(hf_plan *plan, const hf_order *order) {
    bool timed = steps++ % (1 + REPS) > 0;
    CHECK((in_a_row > READS - 100) == (settles && timed), "%zu reads before a sample",
          in_a_row);
    return exchange_table->blocks->start(plan, order);
}

/* A run of 2 and 300 B; does it settle before each sample? */
static void run_test(hf_session *session, const char *bench, const char *part,
                     bool wanted) {
    const char *const params[] = {"sizes",
                                  "2,300",
                                  "warmup",
                                  "1",
                                  "reps",
                                  "3",
                                  "rounds",
                                  "1",
                                  "loop_upper",
                                  "1",
                                  "loop_lower",
                                  "1",
                                  part ? "part" : NULL,
                                  part,
                                  NULL};
    bool right = false;
    hf_run run = {.bench = bench, .kernel = part ? NULL : "b_eff_memory"};
    reads = steps = 0;
    settles = wanted;
    CHECK(run_take(&right, session, run, params) == HF_OK && right, "%s", hf_error());
    CHECK(reads <= (wanted ? SAMPLES * READS : 0) &&
              reads >= (wanted ? SAMPLES * (READS - 100) : 0),
          "%s: %zu reads", bench, reads);
    failing = wanted ? SAMPLES * READS / 2 : 0; /* it ends there */
    reads = steps = 0;
    if (wanted)
        CHECK(run_take(&right, session, run, params) == HF_EDEVICE && reads == failing);
    failing = 0;
}

/* Samples of these are longer, or no copies. */
static void others_test(void) {
    static const struct {
        const char *exchange, *bench, *kernel, *size;
    } runs[] = {{"host", "gemm", "gemm_memory", "16"},
                {"channel", "b_eff", "b_eff_stream", "64"}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const char *const params[] = {"sizes", runs[i].size, "reps", "2", NULL};
        hf_session *session;
        const hf_options options = {.device = "host", .exchange = runs[i].exchange};
        CHECK(world_open(&session, options) == HF_OK, "%s", hf_error());
        hf_device *device = session->device;
        hf_device_ops ops = *(device_table = device->ops);
        ops.read = seen_read;
        device->ops = &ops;
        device->info.copied_by_threads = true;
        cores = 1;
        reads = 0;
        CHECK(run_verified(session, runs[i].bench, runs[i].kernel, params));
        CHECK(reads == 0, "%s over %s: %zu reads", runs[i].bench, runs[i].exchange,
              reads);
        device->ops = device_table;
        hf_session_close(session);
        cores = 2;
    }
}

int main(int argc, char **argv) {
    static const char *const parts[] = {NULL, "step", "write", "both"};
    MPI_Init(&argc, &argv);
    hf_session *session;
    CHECK(world_open(&session, (hf_options){.device = "host", .exchange = "host"}) ==
              HF_OK,
          "%s", hf_error());
    hf_device *device = session->device;
    exchange_table = session->exchange->ops;
    hf_device_ops device_ops = *(device_table = device->ops);
    hf_exchange_ops exchange_ops = *exchange_table;
    hf_block_ops block_ops = *exchange_table->blocks;
    device_ops.read = seen_read;
    device_ops.write = seen_write;
    device_ops.launch = seen_launch;
    block_ops.start = seen_start;
    exchange_ops.blocks = &block_ops;
    device->ops = &device_ops;
    session->exchange->ops = &exchange_ops;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *bench = parts[i] ? "transfer" : "b_eff";
        for (cores = 1; cores < 3; cores++)
            for (int threads = 0; threads < 2; threads++) {
                device->info.copied_by_threads = threads;
                run_test(session, bench, parts[i], cores == 1 && threads);
            }
    }
    device->ops = device_table;
    session->exchange->ops = exchange_table;
    hf_session_close(session);
    others_test();
    MPI_Finalize();
    return check_failures != 0;
}
