/* graph_tables.c - a flipped bit in any table of indices that the host wrote is told before a
 * kernel looks up memory by it; alone or on the ranks of an mpirun. */
#include <mpi.h>

#include "core/kernel_info.h"
#include "runs.h"
#include "world.h"

enum { BITS = 4 };

static const hf_device_ops *own; /* the device's */
static int launches;             /* of graph_sum in this run */
static int flipped = -1; /* the one before which a bit of its table is flipped */
static int which;        /* bit: the first, the last, others between */

static hf_status planted_launch(hf_device *device, const hf_launch *launch,
                                const hf_order *order, hf_event **done) {
    const char *name = ((const hf_kernel_info *)launch->kernel)->name;
    if (strcmp(name, "graph_sum") == 0 && launches++ == flipped) {
        const uint64_t words = *(const uint64_t *)launch->args[2].value,
                       bit = (32 * words - 1) * (uint64_t)which / (BITS - 1);
        unsigned char *bytes = launch->args[0].buffer->host;
        bytes[bit / 8] = (unsigned char)(bytes[bit / 8] ^ 1U << bit % 8);
    }
    return own->launch(device, launch, order, done);
}

static hf_status run_once(hf_session *session, const char *program,
                          const char *architecture, const char *direction) {
    char kernel[64];
    bool right = false;
    const char *const params[] = {"graph",        "kron:6",     "program",   program,
                                  "sources",      "1",          "reps",      "1",
                                  "architecture", architecture, "direction", direction,
                                  "deadline",     "60",         NULL};
    snprintf(kernel, sizeof kernel, "graph_memory_%s", program);
    const hf_run run = {.bench = "graph", .kernel = kernel};
    launches = 0;
    hf_status status = run_take(&right, session, run, params);
    CHECK(status != HF_OK || right);
    return status;
}

/* Each of so many tables in turn. */
static void tables_test(hf_session *session, const char *program,
                        const char *architecture, const char *direction, int tables) {
    CHECK(run_once(session, program, architecture, direction) == HF_OK, "%s",
          hf_error());
    CHECK(launches == tables, "%s, %s, %s: %d tables", program, architecture, direction,
          launches);
    for (int i = 0; i < tables * BITS; i++) {
        flipped = i / BITS;
        which = i % BITS;
        hf_status status = run_once(session, program, architecture, direction);
        CHECK(status == HF_EDEVICE &&
                  strstr(hf_error(), "of the graph are not on the device as sent"),
              "%s, %s, %s: table %d, bit %d: %s", program, architecture, direction,
              flipped, which, hf_error());
    }
    flipped = -1;
}

int main(int argc, char **argv) {
    int size;
    hf_session *session;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(world_open(&session, (hf_options){.device = "host",
                                            .exchange = "host",
                                            .has_comm = size > 1}) == HF_OK,
          "%s", hf_error());
    if (!session)
        return 1;
    hf_device_ops planted = *(own = session->device->ops);
    planted.launch = planted_launch;
    session->device->ops = &planted;
    int boxes = size > 1, outs = size > 1 ? 4 : 0; /* an undirected graph on one rank
                                                      has its edges by where they leave */
    tables_test(session, "sssp", "gravf-m", "pull", 7 + boxes);
    tables_test(session, "sssp", "gravf-m", "push", 7 + boxes + outs);
    tables_test(session, "sssp", "gravf", "auto", 9 + boxes);
    tables_test(session, "pagerank", "gravf-m", "auto", 6 + boxes);
    session->device->ops = own;
    hf_session_close(session);
    MPI_Finalize();
    return check_failures != 0;
}
