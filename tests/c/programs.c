/* programs.c - the vertex programs of this library over small graphs, for sanitizers; alone or
 * on the ranks of an mpirun; and benchmarks on hosts with little memory left. */
#include <mpi.h>
#include <stdio.h>

#include "core/host_memory.h"
#include "graph.h"
#include "runs.h"
#include "world.h"

/* In place of the host's memory, where it is not 0. */
static uint64_t left;

hf_host_memory __real_hf_host_memory_of(const char *root);
hf_host_memory __wrap_hf_host_memory_of(const char *root);
hf_host_memory __wrap_hf_host_memory_of(const char *root) {
    hf_host_memory found = __real_hf_host_memory_of(root);
    found.free = left ? left : found.free;
    return found;
}

static hf_session *session_new(void) {
    int size;
    hf_session *session;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(world_open(&session, (hf_options){.device = "host",
                                            .exchange = "host",
                                            .has_comm = size > 1}) == HF_OK,
          "%s", hf_error());
    return session;
}

/* A run with so many bytes left for each rank. */
static hf_status run_within(hf_session *session, const char *program, uint64_t bytes) {
    const char *const params[] = {"graph", "grid:8", "program", program, "sources",
                                  "1",     "reps",   "1",       NULL};
    const hf_run run = {.bench = "graph", .kernel = "graph_memory_wcc"};
    bool right;
    left = bytes * (uint64_t)session->net->local_size;
    hf_status status = run_take(&right, session, run, params);
    left = 0;
    return status;
}

/* What is left for a rank has room for its part, and for the whole graph that the check of a
 * user's program has beside it; a byte less has none. */
static void crowded_test(hf_session *session) {
    hf_graph *graph;
    CHECK(hf_graph_open(&graph, "grid:8", 0) == HF_OK, "%s", hf_error());
    uint64_t bytes = hf_part_bytes(graph, session->net->size, false, false),
             whole = hf_part_bytes(graph, 1, false, false);
    hf_graph_close(graph);
    const char *who = session->net->size > 1 ? ": each of " : ": its one rank takes ";
    CHECK(run_within(session, "wcc", bytes - 1) == HF_ENOMEM &&
              strstr(hf_error(), who) && strstr(hf_error(), "left for one"),
          "%s", hf_error());
    CHECK(run_within(session, "wcc", bytes) == HF_OK, "%s", hf_error());
    CHECK(run_within(session, "own.h", bytes + whole - 1) == HF_ENOMEM &&
              strstr(hf_error(), "left for one"),
          "%s", hf_error());
    CHECK(run_within(session, "own.h", bytes + whole) == HF_OK, "%s", hf_error());
}

/* Who needs memory of the host is refused what is not left. */
static void scarce_test(hf_session *session) {
    static const struct {
        const char *bench, *kernel, *params[5];
    } all[] = {{"gemm", "gemm_memory_float", {"sizes", "64", "reps", "1"}},
               {"stream", "stream_memory_float", {"size", "65536", "reps", "1"}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const hf_run run = {.bench = all[i].bench, .kernel = all[i].kernel};
        bool right;
        left = (uint64_t)1000 * (uint64_t)session->net->local_size;
        hf_status status = run_take(&right, session, run, all[i].params);
        left = 0;
        CHECK(status == HF_ENOMEM && strstr(hf_error(), "left for this rank"), "%s: %s",
              run.bench, hf_error());
        CHECK(run_verified(session, run.bench, run.kernel, all[i].params));
    }
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
        scarce_test(session);
        hf_session_close(session);
    }
    MPI_Finalize();
    return check_failures != 0;
}
