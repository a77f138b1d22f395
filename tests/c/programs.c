/* programs.c - the vertex programs of this library over small graphs, for sanitizers; alone or
 * on the ranks of an mpirun. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>

#include "runs.h"

static hf_session *session_new(void) {
    int size;
    char library[256];
    hf_session *session = NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hf_mpi_library(library, sizeof library);
    const hf_options options = {.device = "host",
                                .exchange = "host",
                                .library = library,
                                .comm = (int)MPI_Comm_c2f(MPI_COMM_WORLD),
                                .has_comm = size > 1};
    CHECK(hf_session_open(&session, &options) == HF_OK, "%s", hf_error());
    return session;
}

/* As if many ranks shared this host: what is left for one of them has no room for its part. */
static void crowded_test(hf_session *session) {
    static const char *const params[] = {"graph", "grid:8", NULL};
    const hf_run run = {.bench = "graph", .kernel = "graph_memory_bfs"};
    int *local = &session->net->local_size, here = *local;
    bool right;
    *local = INT_MAX;
    CHECK(run_take(&right, session, run, params) == HF_ENOMEM &&
              strstr(hf_error(), "left for one"),
          "%s", hf_error());
    *local = here;
}

int main(int argc, char **argv) {
    static const char *const programs[] = {"bfs", "pagerank", "sssp", "wcc"},
                             *const graphs[] = {"kron:7", "urand:5:1", "grid:6",
                                                "kron:1"},
                             *const partitions[] = {"cyclic", "sorted", "edges"};
    MPI_Init(&argc, &argv);
    hf_session *session = session_new();
    for (size_t i = 0; session && i < 4 * 4 * 3; i++) {
        char kernel[64];
        const char *program = programs[i % 4], *graph = graphs[i / 4 % 4],
                   *partition = partitions[i / 16];
        const bool along = i / 4 % 2 == 0 && i / 16 > 0; /* it has no directions */
        const char *const params[] = {"graph",
                                      graph,
                                      "program",
                                      program,
                                      "partition",
                                      partition,
                                      "sources",
                                      "2",
                                      "reps",
                                      "1",
                                      "deadline",
                                      "60",
                                      "direction",
                                      i / 4 % 2 ? "pull" : "auto",
                                      "architecture",
                                      along ? "gravf" : "gravf-m",
                                      NULL};
        snprintf(kernel, sizeof kernel, "graph_memory_%s", program);
        CHECK(run_verified(session, "graph", kernel, params), "%s over %s, %s", program,
              graph, partition);
    }
    if (session) {
        crowded_test(session);
        hf_session_close(session);
    }
    MPI_Finalize();
    return check_failures != 0;
}
