/* settle.c - b_eff and transfer copy for a while before each sample, where the device's threads
 * have one core, which is the caller's, too.
 *
 * The clock is the test's own. The device is the host, which is said to be another one.
 */
#include <string.h>

#include "core/clock.h"
#include "core/session.h"
#include "runs.h"
#include "world.h"

enum { SAMPLES = 2 * (1 + 3) /* sizes, a warm-up and repetitions */, LOOKS = 1000 };

static size_t cores, reads, failing;
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

static hf_status seen_read(hf_device *device, const hf_buffer *from, size_t at,
                           void *to, size_t bytes, const hf_order *order,
                           hf_event **done) {
    reads += bytes == 1;
    if (reads == failing && failing > 0)
        return hf_fail(HF_EDEVICE, "planted");
    return device_table->read(device, from, at, to, bytes, order, done);
}

/* A run of 2 and 300 B, and whether it ends well: how many single bytes are read. */
static size_t reads_of(hf_session *session, const char *bench, bool ends) {
    static const char *const params[] = {"sizes",      "2,300", "warmup",     "1",
                                         "reps",       "3",     "rounds",     "1",
                                         "loop_upper", "1",     "loop_lower", "1",
                                         NULL,         NULL,    NULL},
                             *step[sizeof params / sizeof *params];
    bool right = false;
    memcpy(step, params, sizeof params);
    if (strcmp(bench, "transfer") == 0) {
        step[12] = "part";
        step[13] = "step";
    }
    reads = 0;
    hf_run run = {.bench = bench, .kernel = "b_eff_memory"};
    CHECK((run_take(&right, session, run, step) == HF_OK) == ends, "%s", hf_error());
    CHECK(right == ends);
    return reads;
}

int main(int argc, char **argv) {
    static const char *const benches[] = {"b_eff", "transfer"};
    MPI_Init(&argc, &argv);
    hf_session *session;
    CHECK(world_open(&session, (hf_options){.device = "host", .exchange = "host"}) ==
              HF_OK,
          "%s", hf_error());
    hf_device *device = session->device;
    const hf_exchange_ops *exchange_table = session->exchange->ops;
    hf_device_ops device_ops = *(device_table = device->ops);
    hf_exchange_ops exchange_ops = *exchange_table;
    device_ops.read = seen_read;
    exchange_ops.host_memory = false; /* as of a device with memory of its own */
    device->ops = &device_ops;
    session->exchange->ops = &exchange_ops;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        cores = 1;
        size_t n = reads_of(session, benches[i], true);
        CHECK(n > SAMPLES * LOOKS, "%s: %zu reads", benches[i], n);
        failing = n / 2;
        CHECK(reads_of(session, benches[i], false) == failing);
        failing = 0;
        cores = 2;
        CHECK(reads_of(session, benches[i], true) < LOOKS);
        cores = 1;
        device->info.type = HF_GPU;
        CHECK(reads_of(session, benches[i], true) < LOOKS);
        device->info.type = HF_CPU;
        exchange_ops.host_memory = true; /* these copies are the caller's own */
        CHECK(reads_of(session, benches[i], true) < LOOKS);
        exchange_ops.host_memory = false;
    }
    device->ops = device_table;
    session->exchange->ops = exchange_table;
    hf_session_close(session);
    MPI_Finalize();
    return check_failures != 0;
}
