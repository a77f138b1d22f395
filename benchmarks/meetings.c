/* meetings.c - what ranks do together between two samples, beside what version 0.1 did.
 *
 * mpirun -n 16 meetings [ROUNDS]: a round times a number of samples without any work in
 * them, by each of the two. Version 0.1 made five calls of MPI: three agreements, each a
 * gather of 516 B from every rank, a barrier, and a gather of what was measured; the same
 * calls stand here as plain MPI. Now it is two agreements, a barrier and a gather of
 * transport.h. Target: at most half, as the median of the rounds' ratios.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "agree.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/run.h"
#include "core/stats.h"

enum { SAMPLES = 200, VERDICT = 516 };
static const double TARGET = 0.5;

static hf_transport *net;
static char *all;

static void must(hf_status status) {
    if (status == HF_OK)
        return;
    fprintf(stderr, "meetings: %s\n", hf_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void request_wait(MPI_Request request) {
    for (int done = 0; !done;)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void all_gather(int bytes) {
    static const char mine[sizeof(hf_sample) + VERDICT];
    MPI_Request request;
    MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD,
                   &request);
    request_wait(request);
}

static void sample_before(void) {
    MPI_Request request;
    all_gather(VERDICT);
    all_gather(VERDICT);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    request_wait(request);
    all_gather(VERDICT);
    all_gather(sizeof(hf_sample));
}

static void sample_now(void) {
    const hf_sample mine = {0};
    must(hf_agree(net, HF_OK));
    must(net->ops->barrier(net));
    must(hf_agree(net, HF_OK));
    must(net->ops->gather(net, all, &mine, sizeof mine));
}

static double seconds_of(void (*sample)(void)) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = hf_clock_now();
    for (int i = 0; i < SAMPLES; i++)
        sample();
    return (hf_clock_now() - start) / SAMPLES;
}

static double median(int n, double *values) {
    return hf_stats_of((size_t)n, values).median;
}

int main(int argc, char **argv) {
    const hf_transport_ops *mpi;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Init(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 25;
    if (argc > 2 || rounds < 1) {
        fprintf(stderr, "meetings [ROUNDS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    must(hf_transport_find(&mpi, "mpi"));
    mpi->version(version, sizeof version);
    must(mpi->open(&net, MPI_Comm_c2f(MPI_COMM_WORLD), version, 60));
    size_t size = (size_t)net->size, n = (size_t)rounds;
    double *seconds = malloc(3 * n * sizeof *seconds), *ratios = seconds + 2 * n;
    all = malloc(size * (sizeof(hf_sample) + VERDICT));
    if (!all || !seconds)
        must(hf_fail(HF_ENOMEM, "no memory"));
    for (size_t i = 0; i < n; i++) {
        seconds[i] = seconds_of(sample_before);
        seconds[n + i] = seconds_of(sample_now);
        ratios[i] = seconds[n + i] / seconds[i];
    }
    double before = median(rounds, seconds), now = median(rounds, seconds + n),
           ratio = median(rounds, ratios);
    if (net->rank == 0)
        printf("%d ranks, us between two samples: %.1f as in 0.1, %.1f now\n"
               "%s now / as in 0.1: %.3f (at most %g)\n",
               net->size, 1e6 * before, 1e6 * now,
               ratio <= TARGET ? "ok    " : "MISSED", ratio, TARGET);
    int missed = net->rank == 0 && !(ratio <= TARGET);
    net->ops->close(net);
    free(seconds);
    free(all);
    MPI_Finalize();
    return missed;
}
