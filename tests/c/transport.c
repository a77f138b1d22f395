/* transport.c - transports; run alone, and with mpirun on any number of ranks. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_near.h"
#include "node.h"
#include "opened.h"

/* Starts of messages between two ranks that MPI refuses, and the most that one moved [B]. */
static int refused, longest;
static bool refuses(int n, int tag) {
    longest = n > longest ? n : longest;
    return tag < 1 << 14 && refused > 0 && refused--;
}

static MPI_Request sending;
static int cancelled; /* sends */
int __real_MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                     MPI_Request *);
int __wrap_MPI_Isend(const void *memory, int n, MPI_Datatype type, int to, int tag,
                     MPI_Comm comm, MPI_Request *request) {
    if (refuses(n, tag))
        return MPI_ERR_OTHER;
    int code = __real_MPI_Isend(memory, n, type, to, tag, comm, request);
    sending = *request;
    return code;
}

int __real_MPI_Cancel(MPI_Request *);
int __wrap_MPI_Cancel(MPI_Request *request) {
    cancelled += *request == sending;
    return __real_MPI_Cancel(request);
}

int __real_MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_MPI_Irecv(void *memory, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request) {
    return refuses(0, tag)
               ? MPI_ERR_OTHER
               : __real_MPI_Irecv(memory, n, type, from, tag, comm, request);
}

/* How the ranks are spread: all on one node, on two, or on one that has no memory for them. */
enum { ONE_NODE, TWO_NODES, NO_MEMORY, SPREADS };
static int spread;

void __real_hf_node_name(char name[HF_NODE_ROOM]);
void __wrap_hf_node_name(char name[HF_NODE_ROOM]);
void __wrap_hf_node_name(char name[HF_NODE_ROOM]) {
    int rank;
    __real_hf_node_name(name);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (spread == TWO_NODES)
        name[0] = rank / 2 % 2 ? 'a' : 'b';
}

hf_status __real_hf_shared_new(hf_shared **, hf_transport *, size_t);
hf_status __wrap_hf_shared_new(hf_shared **out, hf_transport *of, size_t bytes);
hf_status __wrap_hf_shared_new(hf_shared **out, hf_transport *of, size_t bytes) {
    return spread == NO_MEMORY ? hf_fail(HF_ENOMEM, "none")
                               : __real_hf_shared_new(out, of, bytes);
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

/* More than the memory of a node takes at a time. */
static void large_gather_test(void) {
    enum { LARGE = 20000 };
    size_t n = (size_t)net->size * LARGE, wrong = 0;
    unsigned char mine[LARGE], *all = malloc(n);
    for (size_t i = 0; i < LARGE; i++)
        mine[i] = byte_of(net->rank, i);
    CHECK(net->ops->gather(net, all, mine, sizeof mine) == HF_OK, "%s", hf_error());
    for (size_t i = 0; i < n; i++)
        wrong += all[i] != byte_of((int)(i / LARGE), i % LARGE);
    CHECK(wrong == 0, "%zu B", wrong);
    free(all);
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

static hf_status finish(hf_transfer *transfer) {
    while (!transfer->over) {
        hf_status status = net->ops->test(net, transfer);
        if (status != HF_OK)
            return status;
    }
    return HF_OK;
}

/* Messages that are under way at the same time, and one that nobody sends. */
static void transfers_test(void) {
    enum { N = 4, LARGE = 300001 };
    int to = (net->rank + 1) % net->size,
        from = (net->rank + net->size - 1) % net->size;
    hf_transfer in[N], out[N], none;
    unsigned char *sent[N], *got[N], waste = 7;
    size_t wrong = 0;
    for (int i = 0; i < N; i++) {
        size_t n = i % 2 ? LARGE : (size_t)i;
        sent[i] = malloc(n + 1);
        got[i] = calloc(n + 1, 1);
        for (size_t k = 0; k < n; k++)
            sent[i][k] = byte_of(net->rank + i, k);
        CHECK(hf_recv(net, &in[i], got[i], n, from) == HF_OK, "%s", hf_error());
        CHECK(hf_send(net, &out[i], sent[i], n, to) == HF_OK, "%s", hf_error());
    }
    CHECK(net->size == 1 || hf_recv(net, &none, &waste, 1, from) == HF_OK);
    for (int i = N; i-- > 0;)
        CHECK(finish(&in[i]) == HF_OK && finish(&out[i]) == HF_OK, "%s", hf_error());
    for (int i = 0; i < N; i++) {
        for (size_t k = 0; k < (i % 2 ? LARGE : (size_t)i); k++)
            wrong += got[i][k] != byte_of(from + i, k);
        free(sent[i]);
        free(got[i]);
    }
    CHECK(wrong == 0, "%zu B", wrong);
    if (net->size > 1) {
        CHECK(net->ops->test(net, &none) == HF_OK && !none.over);
        net->ops->abandon(net, &none);
        CHECK(none.over && waste == 7);
    }
    CHECK(net->ops->barrier(net) == HF_OK);
}

static void together_test(void) {
    int size = net->size, rank = net->rank;
    double values[] = {rank, -rank, 1}, sums[] = {rank, 0.5, 1};
    CHECK(net->ops->reduce(net, values, 3, HF_MAX) == HF_OK, "%s", hf_error());
    CHECK(values[0] == size - 1 && values[1] == 0 && values[2] == 1);
    CHECK(net->ops->reduce(net, sums, 3, HF_SUM) == HF_OK);
    CHECK(sums[0] == size * (size - 1) / 2 && sums[1] == 0.5 * size && sums[2] == size);
    values[0] = rank == size / 2 ? (double)NAN : (double)rank;
    CHECK(net->ops->reduce(net, values, 1, HF_MAX) == HF_OK && isnan(values[0]));
    for (int root = 0; root < size; root += 1 + size / 5) {
        char text[3000] = "";
        if (rank == root)
            snprintf(text, sizeof text, "%2990d", root);
        CHECK(net->ops->broadcast(net, text, sizeof text, root) == HF_OK);
        CHECK(atoi(text) == root && strlen(text) == 2990, "of rank %d", root);
    }
    char mine[256], *all = NULL;
    size_t *at = malloc((size_t)(size + 1) * sizeof *at);
    memset(mine, rank, sizeof mine);
    CHECK(hf_gather_unequal(net, &all, at, mine, (size_t)(rank * 3 % 256)) == HF_OK);
    for (int r = 0; r < size; r++) {
        CHECK(at[r + 1] - at[r] == (size_t)(r * 3 % 256), "of rank %d", r);
        for (size_t i = at[r]; i < at[r + 1]; i++)
            CHECK(all[i] == (char)r, "rank %d's", r);
    }
    free(all);
    free(at);
}

/* The last rank raises the alarm while the others wait for its message. */
static void alarm_test(void) {
    char out = 1, in = 0;
    int last = net->size - 1;
    net->ops->renew(net);
    net->deadline = LATE; /* nobody waits for it */
    if (net->rank == last)
        net->ops->alarm(net);
    else
        CHECK(net->ops->sendrecv(net, &out, last, &in, last, 1) == HF_ECOMM);
    CHECK(cancelled == 0, "a send was cancelled, which crashes over libfabric");
    /* The next epoch does not see what the last one left behind. */
    CHECK(net->ops->barrier(net) == HF_OK);
    net->ops->renew(net);
    sendrecv_test();
}

/* Rows of ranks, and columns: each is a transport. Its messages are not those of all. */
static void groups_test(void) {
    hf_transport *rows, *columns;
    int width = net->size > 3 ? 2 : net->size, row = net->rank / width,
        column = net->rank % width, rank = net->rank;
    char a = (char)(10 + rank), b = (char)(50 + rank), from_all = 0, from_row = 0;
    CHECK(net->ops->group(&rows, net, row) == HF_OK, "%s", hf_error());
    CHECK(net->ops->group(&columns, net, column) == HF_OK, "%s", hf_error());
    CHECK(rows->rank == column && columns->rank == row);
    CHECK(rows->size ==
          (net->size - row * width < width ? net->size - row * width : width));
    int next = (rows->rank + 1) % rows->size,
        before = (rows->rank + rows->size - 1) % rows->size;
    hf_transfer in, out; /* under way between the same ranks */
    CHECK(hf_recv(net, &in, &from_all, 1, row * width + before) == HF_OK);
    CHECK(rows->ops->sendrecv(rows, &a, next, &from_row, before, 1) == HF_OK, "%s",
          hf_error());
    CHECK(hf_send(net, &out, &b, 1, row * width + next) == HF_OK);
    CHECK(finish(&in) == HF_OK && finish(&out) == HF_OK);
    CHECK(from_row == 10 + row * width + before &&
          from_all == 50 + row * width + before);
    double sum = rank;
    int seen[64], own = rank;
    CHECK(columns->ops->reduce(columns, &sum, 1, HF_SUM) == HF_OK, "%s", hf_error());
    CHECK(columns->ops->gather(columns, seen, &own, sizeof own) == HF_OK);
    for (int i = 0; i < columns->size; i++) {
        CHECK(seen[i] == i * width + column, "%d", seen[i]);
        sum -= seen[i];
    }
    CHECK(sum == 0);
    int first = rank;
    CHECK(rows->ops->broadcast(rows, &first, sizeof first, 0) == HF_OK);
    CHECK(first == row * width);
    rows->ops->close(rows);
    columns->ops->close(columns);
    CHECK(net->ops->barrier(net) == HF_OK);
}

static void groups_end_test(void) {
    hf_transport *groups[8];
    int n = 0;
    transport_open("mpi");
    while (n < 8 && net->ops->group(&groups[n], net, 0) == HF_OK)
        n++;
    CHECK(n == 7 && strstr(hf_error(), "no more than 7 groups"), "%d", n);
    for (int i = 0; i < n; i++)
        groups[i]->ops->close(groups[i]);
    net->ops->renew(net); /* a run later */
    groups_test();
    net->ops->close(net);
}

/* Ranks that have made other groups before make one together. */
static void siblings_test(void) {
    hf_transport *halves, *own, *all;
    transport_open("mpi");
    int *ranks = malloc((size_t)net->size * sizeof *ranks);
    CHECK(net->ops->group(&halves, net, net->rank % 2) == HF_OK, "%s", hf_error());
    CHECK(net->rank % 2 || halves->ops->group(&own, halves, 0) == HF_OK);
    __lsan_disable();
    hf_status status = net->ops->group(&all, net, 0);
    __lsan_enable();
    CHECK(status == HF_OK, "%s", hf_error());
    if (status == HF_OK) {
        CHECK(all->ops->gather(all, ranks, &net->rank, sizeof *ranks) == HF_OK);
        CHECK(ranks[0] == 0 && ranks[net->size - 1] == net->size - 1);
        all->ops->close(all);
        if (net->rank % 2 == 0)
            own->ops->close(own);
        halves->ops->close(halves);
        net->ops->close(net);
    }
    free(ranks);
}

/* MPI refuses to start a message: nothing of it is in flight. */
static void refused_test(void) {
    char byte = 0;
    for (int sends = 0; sends < 2; sends++) {
        hf_transfer t;
        refused = 1;
        CHECK((sends ? hf_send(net, &t, &byte, 1, 0) : hf_recv(net, &t, &byte, 1, 0)) ==
              HF_ECOMM);
        CHECK(refused == 0 && t.over);
        if (!t.over) /* it would be cancelled, which it cannot */
            continue;
        net->ops->abandon(net, &t);
        CHECK(net->ops->test(net, &t) == HF_OK);
    }
    net->ops->renew(net);
    sendrecv_test();
}

/* A long message that nobody takes stays in flight: all ranks hear so at the next run, and none
 * waits for its sender when it closes. */
static void stuck_test(void) {
    static char memory[1 << 20];
    hf_transfer t;
    __lsan_disable(); /* what a late message may use stays */
    transport_open("mpi");
    __lsan_enable();
    net->deadline = LATE;
    if (net->rank == net->size - 1) {
        CHECK(hf_send(net, &t, memory, sizeof memory, 0) == HF_OK);
        net->ops->abandon(net, &t);
    }
    CHECK(hf_agree(net, net->ops->renew(net)) == HF_ECOMM);
    CHECK(strstr(hf_error(), "has a message in flight"), "%s", hf_error());
    net->ops->close(net);
}

/* A message that is longer than expected, as one before it was lost: all ranks hear the same. */
static void truncated_test(void) {
    char bytes[8] = "", more[8];
    int last = net->size - 1;
    hf_transfer t;
    hf_status status = HF_OK;
    __lsan_disable(); /* a broken transport stays */
    transport_open("mpi");
    __lsan_enable();
    net->deadline = LATE;
    if (net->rank == last && hf_send(net, &t, bytes, 8, 0) == HF_OK)
        status = net->ops->sendrecv(net, bytes, 0, more, 0, 8);
    else if (net->rank == 0 && hf_recv(net, &t, bytes, 4, last) == HF_OK)
        status = finish(&t);
    CHECK((status != HF_OK) == (net->rank == last || net->rank == 0));
    CHECK(hf_agree(net, status) == HF_ECOMM);
    CHECK(strstr(hf_error(), "truncated"), "%s", hf_error()); /* Open MPI's, MPICH's */
    net->ops->close(net);
}

/* What is longer than a call of MPI counts: a message is still one, what all share goes in
 * parts. */
static void long_test(size_t most) {
    enum { STAMPS = 48 };
    size_t *limit = &((mpi *)net)->comm->most, before = *limit;
    *limit = most;
    longest = 0;
    if (most > 100) {
        sendrecv_test();
        transfers_test();
        large_gather_test();
    }
    gather_test();
    together_test();
    CHECK((size_t)longest <= most + STAMPS, "%d B", longest);
    *limit = before;
}

/* Facts of any number and length; the first one that differs is named. */
static void same_test(void) {
    enum { FACTS = 300 };
    char line[200];
    int last = net->size - 1;
    for (int differs = -1; differs < FACTS; differs += 150) {
        hf_statement facts = {0};
        for (int i = 0; i < FACTS; i++) {
            snprintf(line, sizeof line, "word %d", i);
            hf_fact(&facts, line);
            hf_fact_add(&facts, "%d",
                        i + (net->rank == last && differs >= 0 && i >= differs));
        }
        hf_status status = hf_same(net, &facts);
        snprintf(line, sizeof line,
                 "word %d differs between ranks: \"%d\" on rank 0, \"%d\" on rank %d",
                 differs, differs, differs + 1, last);
        CHECK(differs < 0 ? status == HF_OK
                          : status == HF_EARG && strcmp(hf_error(), line) == 0,
              "%s", hf_error());
    }
}

int main(int argc, char **argv) {
    const hf_transport_ops *mpi;
    CHECK(hf_transport_find(&mpi, "mpi") == HF_OK);
    char version[8192];
    mpi->version(version, sizeof version);
    CHECK(mpi->open(&net, 0, version, 20) == HF_EARG &&
              strstr(hf_error(), "initialised"),
          "%s", hf_error());
    MPI_Init(&argc, &argv);
    CHECK(mpi->open(&net, 0, "MPICH 4", 20) == HF_EARG && strstr(hf_error(), "MPICH 4"),
          "%s", hf_error());
    CHECK(mpi->open(&net, 123456, version, 20) == HF_EARG, "no communicator");
    int world;
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (world == 1) {
        transport_open("self");
        sendrecv_test();
        gather_test();
        transfers_test();
        together_test();
        net->ops->close(net);
    }
    for (spread = 0; spread < SPREADS; spread++) {
        if (argc > 1 && spread != TWO_NODES)
            continue; /* it has memory and messages */
        transport_open("mpi");
        sendrecv_test();
        gather_test();
        large_gather_test();
        transfers_test();
        together_test();
        groups_test();
        if (argc == 1) {
            long_test(1000 * (size_t)net->size);
            long_test(sizeof(double) * (size_t)net->size);
        }
        net->ops->close(net);
    }
    spread = ONE_NODE;
    transport_open("mpi");
    if (world > 1 && argc == 1) {
        same_test();
        groups_end_test();
        siblings_test();
        stuck_test();
        truncated_test();
        transport_open("mpi");
        refused_test();
        transport_open("mpi");
        transport_open("mpi");
        alarm_test();
    }
    net->ops->close(net);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return check_failures != 0;
}
