/* transport.c - transports and plans; run alone, and with mpirun on any number of ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/registry.h"

static hf_transport *net;

static void transport_open(const char *name) {
    const hf_transport_ops *ops;
    char version[8192];
    CHECK(hf_transport_find(&ops, name) == HF_OK);
    ops->version(version, sizeof version);
    CHECK(ops->open(&net, MPI_Comm_c2f(MPI_COMM_WORLD), version) == HF_OK, "%s",
          hf_error());
    net->deadline = 20;
}

static unsigned char byte_of(int rank, size_t i) {
    return (unsigned char)(rank * 31 + (int)(i % 251));
}

static void sendrecv_test(void) {
    static const size_t lengths[] = {1, 7, 4096, 65536, 1000003};
    int to = (net->rank + 1) % net->size,
        from = (net->rank + net->size - 1) % net->size;
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        size_t n = lengths[k], wrong = 0;
        unsigned char *out = malloc(n), *in = calloc(n + 1, 1);
        for (size_t i = 0; i < n; i++)
            out[i] = byte_of(net->rank, i);
        CHECK(net->ops->sendrecv(net, out, to, in, from, n) == HF_OK, "%s", hf_error());
        for (size_t i = 0; i < n; i++)
            wrong += in[i] != byte_of(from, i);
        CHECK(wrong == 0 && in[n] == 0, "%zu of %zu B wrong", wrong, n);
        free(out);
        free(in);
    }
}

static void gather_test(void) {
    int mine[2] = {net->rank, net->rank * net->rank};
    int *all = malloc((size_t)net->size * sizeof mine);
    CHECK(net->ops->gather(net, all, mine, sizeof mine) == HF_OK);
    for (int r = 0; r < net->size; r++)
        CHECK(all[2 * r] == r && all[2 * r + 1] == r * r, "rank %d", r);
    free(all);
    CHECK(net->ops->barrier(net) == HF_OK);
    CHECK(net->local_size <= net->size && net->local_rank < net->local_size);
}

static hf_status plan(int to, int from, size_t bytes, size_t n) {
    hf_message m = {.to = to, .from = from, .bytes = bytes};
    return hf_plan_check(net, n, &m);
}

static void plan_test(void) {
    int size = net->size, right = (net->rank + 1) % size,
        left = (net->rank + size - 1) % size;
    CHECK(plan(right, left, 8, 1) == HF_OK, "%s", hf_error());
    CHECK(plan(right, left, 8, 0) == HF_OK);
    CHECK(plan(size, left, 8, 1) == HF_EARG);
    CHECK(plan(right, -1, 8, 1) == HF_EARG);
    CHECK(plan(right, left, 0, 1) == HF_EARG);
    if (size > 1) {
        /* Each length another one: every rank sees a disagreement with its left. */
        CHECK(plan(right, left, 8 + (size_t)net->rank, 1) == HF_EARG);
        CHECK(strstr(hf_error(), "expects"), "%s", hf_error());
    }
    if (size > 2)
        CHECK(plan(right, right, 8, 1) == HF_EARG, "a wrong direction passed");
}

/* The last rank raises the alarm while the others wait for its message. */
static void alarm_test(void) {
    char out = 1, in = 0;
    int last = net->size - 1;
    net->ops->renew(net);
    double start = hf_clock_now();
    if (net->rank == last)
        net->ops->alarm(net);
    else
        CHECK(net->ops->sendrecv(net, &out, last, &in, last, 1) == HF_ECOMM);
    CHECK(hf_clock_now() - start < 5);
    /* The next epoch does not see what the last one left behind. */
    CHECK(net->ops->barrier(net) == HF_OK);
    net->ops->renew(net);
    sendrecv_test();
}

/* The last rank does not come to the barrier before the others' deadline. */
static void deadline_test(void) {
    net->deadline = 0.5;
    if (net->rank == net->size - 1)
        return;
    double start = hf_clock_now();
    CHECK(net->ops->barrier(net) == HF_ECOMM);
    double waited = hf_clock_now() - start;
    CHECK(waited >= 1 && waited < 10, "%g s", waited);
    CHECK(strstr(hf_error(), "waited 1 s"), "%s", hf_error());
    net->deadline = 60;
    start = hf_clock_now();
    CHECK(net->ops->barrier(net) == HF_ECOMM);
    CHECK(hf_clock_now() - start < 60, "a broken transport waits again");
}

int main(int argc, char **argv) {
    const hf_transport_ops *mpi;
    CHECK(hf_transport_find(&mpi, "mpi") == HF_OK);
    char version[8192];
    mpi->version(version, sizeof version);
    CHECK(mpi->open(&net, 0, version) == HF_EARG && strstr(hf_error(), "initialised"),
          "%s", hf_error());
    MPI_Init(&argc, &argv);
    CHECK(mpi->open(&net, 0, "MPICH 4") == HF_EARG && strstr(hf_error(), "MPICH 4"),
          "%s", hf_error());
    CHECK(mpi->open(&net, 123456, version) == HF_EARG, "no communicator");
    int world;
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (world == 1) {
        transport_open("self");
        sendrecv_test();
        gather_test();
        plan_test();
        net->ops->close(net);
    }
    transport_open("mpi");
    sendrecv_test();
    gather_test();
    plan_test();
    if (world > 1) {
        alarm_test();
        deadline_test();
    }
    net->ops->close(net);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return check_failures != 0;
}
