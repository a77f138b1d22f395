/* apart.c - on ranks of one host nobody verifies while another rank is still timed.
 *
 * Rank 1 is slow in its steps; rank 0 looks, when it launches a check, how far rank 1 is.
 */
#include <mpi.h>
#include <stdatomic.h>
#include <time.h>

#include "core/session.h"
#include "node.h"
#include "runs.h"
#include "world.h"

enum { SAMPLES = 3 };

static hf_session *session;
static hf_exchange_ops exchange_ops;
static hf_block_ops block_ops;
static hf_device_ops device_ops;
static const hf_exchange_ops *exchange_table;
static const hf_device_ops *device_table;
static _Atomic int *moves; /* of rank 1, seen by both */
static int mine, checks;

static hf_status slow_progress(hf_plan *plan, bool wait, bool *done) {
    hf_status status = exchange_table->blocks->progress(plan, wait, done);
    mine++;
    if (session->net->rank == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        (*moves)++;
    }
    return status;
}

/* The first launch after a step is that of the check. */
static hf_status watched_launch(hf_device *device, const hf_launch *launch,
                                const hf_order *order, hf_event **done) {
    if (mine > checks) {
        CHECK(*moves == mine, "check %d after %d moves of rank 1", mine, *moves);
        checks = mine;
    }
    return device_table->launch(device, launch, order, done);
}

static void watch(void) {
    exchange_table = session->exchange->ops;
    exchange_ops = *exchange_table;
    block_ops = *exchange_table->blocks;
    block_ops.progress = slow_progress;
    exchange_ops.blocks = &block_ops;
    session->exchange->ops = &exchange_ops;
    device_table = session->device->ops;
    device_ops = *device_table;
    device_ops.launch = watched_launch;
    session->device->ops = &device_ops;
}

int main(int argc, char **argv) {
    hf_shared *shared;
    MPI_Init(&argc, &argv);
    static const char *const params[] = {"sizes",      "1", "warmup",     "1",
                                         "reps",       "2", "loop_upper", "1",
                                         "loop_lower", "1", NULL};
    CHECK(world_open(&session, (hf_options){.device = "host",
                                            .exchange = "host",
                                            .has_comm = true}) == HF_OK,
          "%s", hf_error());
    hf_transport *net = session->net;
    CHECK(hf_shared_new(&shared, net, sizeof *moves) == HF_OK, "%s", hf_error());
    moves = shared->parts[1];
    if (net->rank == 1)
        *moves = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    watch();
    CHECK(run_verified(session, "b_eff", "b_eff_memory", params));
    CHECK(checks == SAMPLES, "%d checks", checks);
    session->exchange->ops = exchange_table;
    session->device->ops = device_table;
    hf_shared_free(shared);
    hf_session_close(session);
    MPI_Finalize();
    return check_failures != 0;
}
