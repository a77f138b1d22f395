/* linpack_stream.c - linpack over channels on square grids of ranks of the device `host`: it
 * verifies, and no more packets travel than its definition says. Other grids are refused. */
#include <mpi.h>

#include "runs.h"
#include "world.h"

enum { BLOCK = 256, WIDTH = 32, REPS = 2 }; /* of the kernels in this library [B] */

static int size, side;

/* Packets of all ranks in a sample: blocks of n / BLOCK iterations, then the solution's
 * vectors. What goes along a row of ranks takes as many steps as there are other ranks, but for
 * the diagonal block, which ends where nobody needs it. */
static double packets_of(int64_t n, double bytes) {
    double lanes = WIDTH / bytes, block = BLOCK * BLOCK / lanes, triangle = 0, all = 0;
    double vector = BLOCK * sizeof(double) / WIDTH, others = side - 1;
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    for (int i = 0; i < BLOCK; i++)
        triangle += 1 + (int)(i / lanes);
    for (int64_t after = 0; after < blocks; after++)
        all += 2 * triangle * (after < others ? (double)after : others) +
               2 * block * others * (double)after;
    return all + (2 + 2 + 1) * vector * others * (double)blocks; /* L, U, the check */
}

static void run_test(hf_session *session, const char *kernel, const char *type,
                     const char *sizes, const char *depth) {
    hf_args *args;
    hf_result *result = NULL;
    const char *const params[] = {"sizes", sizes,           "data_type", type, "reps",
                                  "2",     "channel_depth", depth,       NULL};
    CHECK(hf_args_new(&args, "linpack") == HF_OK);
    for (size_t i = 0; params[i]; i += 2)
        CHECK(hf_args_set(args, params[i], 0, NULL, params[i + 1]) == HF_OK);
    const hf_run what = {.bench = "linpack", .args = args, .kernel = kernel};
    CHECK(hf_session_run(session, &result, &what) == HF_OK, "%s", hf_error());
    CHECK(result && hf_result_verified(result), "%s, depth %s", type, depth);
    for (size_t i = 0; result && i < column_find(result, "time")->shape[0]; i++) {
        int64_t n = ((int64_t *)column_find(result, "matrix_size")->data)[i];
        double packets = ((double *)column_find(result, "packets")->data)[i];
        double right = REPS * packets_of(n, *type == 'f' ? 4 : 8);
        CHECK(packets == right, "n = %d: %.0f packets, not %.0f", (int)n, packets,
              right);
    }
    hf_result_free(result);
    hf_args_free(args);
}

static void refusal_test(hf_session *session) {
    char grid[16];
    bool right;
    snprintf(grid, sizeof grid, "1x%d", size);
    const hf_run what = {.bench = "linpack", .kernel = "linpack_stream_float"};
    hf_status status = run_take(&right, session, what,
                                (const char *[]){"sizes", "64", "grid", grid, NULL});
    CHECK(status == HF_EARG && strstr(hf_error(), "as many rows as columns"), "%s",
          hf_error());
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while ((side + 1) * (side + 1) <= size)
        side++;
    hf_session *session;
    CHECK(world_open(&session, (hf_options){.device = "host",
                                            .exchange = "channel",
                                            .has_comm = true}) == HF_OK,
          "%s", hf_error());
    char many[16]; /* a block more than ranks in a row */
    snprintf(many, sizeof many, "%d", side * BLOCK + 40);
    run_test(session, "linpack_stream_float", "float", "1,300", "7");
    run_test(session, "linpack_stream_double", "double", many, "16384");
    if (size > 1)
        refusal_test(session);
    hf_session_close(session);
    MPI_Finalize();
    return check_failures > 0;
}
