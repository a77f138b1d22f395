/* transport.c - transports and plans; run alone, and with mpirun on any number of ranks. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/registry.h"

static hf_transport *net;

/* Calls of MPI that return without acting, give what a call before gave, or damage a byte. */
enum { ACTS, NOTHING, STALE, FLIPPED };
static int fault;

/* How the transport ends what it sends for a common call. */
typedef struct stamp {
    uint64_t digest;
    uint32_t number, epoch;
    int32_t rank;
    uint16_t doing, flag;
} stamp;

/* What rank `from` would have sent for the call before the one of `ours`. */
static void stale_make(char *end, const char *ours, int from) {
    stamp s;
    memcpy(&s, ours - sizeof s, sizeof s);
    s.number--;
    s.rank = from;
    memcpy(end - sizeof s, &s, sizeof s);
}

static struct {
    char *byte; /* what a request brings there is damaged */
    MPI_Request request;
} damaged;

static void damage_plan(void *byte, MPI_Request request) {
    damaged.byte = fault == FLIPPED ? byte : NULL;
    damaged.request = request;
}

int __real_MPI_Test(MPI_Request *, int *, MPI_Status *);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    bool hit = damaged.byte && *request == damaged.request;
    int code = __real_MPI_Test(request, done, status);
    if (hit && *done) {
        *damaged.byte ^= 1;
        damaged.byte = NULL;
    }
    return code;
}

int __real_MPI_Iallgather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
                          MPI_Comm, MPI_Request *);
int __wrap_MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                          MPI_Datatype types, MPI_Comm comm, MPI_Request *request) {
    int size;
    MPI_Comm_size(comm, &size);
    if (fault == ACTS || fault == FLIPPED) {
        int code = __real_MPI_Iallgather(mine, n, type, all, m, types, comm, request);
        damage_plan(all, *request);
        return code;
    }
    for (int rank = 0; fault == STALE && rank < size; rank++)
        stale_make((char *)all + (rank + 1) * m, (const char *)mine + n, rank);
    return *request = MPI_REQUEST_NULL, MPI_SUCCESS;
}

static const char *sent; /* a stamp, which lies at the same place in each meeting */
static MPI_Request sending;
static int cancelled; /* sends */
int __real_MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                     MPI_Request *);
int __wrap_MPI_Isend(const void *memory, int n, MPI_Datatype type, int to, int tag,
                     MPI_Comm comm, MPI_Request *request) {
    sent = n == sizeof(stamp) ? memory : sent;
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
    if (n != sizeof(stamp) || fault == ACTS || fault == FLIPPED) {
        int code = __real_MPI_Irecv(memory, n, type, from, tag, comm, request);
        if (n == sizeof(stamp))
            damage_plan(&((stamp *)memory)->flag, *request);
        return code;
    }
    if (fault == STALE)
        stale_make((char *)memory + n, sent + n, from);
    return *request = MPI_REQUEST_NULL, MPI_SUCCESS;
}

/* Sessions that a rank has left stay: late messages write into them. */
static void *opened[64];
static size_t n_opened;

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_disable(void) {
}
static void __lsan_enable(void) {
}
#endif

static void transport_open(const char *name) {
    const hf_transport_ops *ops;
    char version[8192];
    CHECK(hf_transport_find(&ops, name) == HF_OK);
    ops->version(version, sizeof version);
    CHECK(ops->open(&net, MPI_Comm_c2f(MPI_COMM_WORLD), version, 20) == HF_OK, "%s",
          hf_error());
    CHECK(n_opened < sizeof opened / sizeof *opened);
    opened[n_opened++] = net;
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
    CHECK(cancelled == 0, "a send was cancelled, which crashes over libfabric");
    /* The next epoch does not see what the last one left behind. */
    CHECK(net->ops->barrier(net) == HF_OK);
    net->ops->renew(net);
    sendrecv_test();
}

/* The last rank does not come to the barrier before the others' deadline. */
static void deadline_test(void) {
    char line[80];
    net->deadline = 0.5;
    double start = hf_clock_now();
    CHECK(net->ops->barrier(net) == HF_ECOMM);
    double waited = hf_clock_now() - start;
    CHECK(waited >= 0.5 && waited < 10, "%g s", waited);
    snprintf(line, sizeof line, "rank %d, which does not answer; the deadline of 0.5 s",
             net->size - 1);
    CHECK(strstr(hf_error(), line), "%s", hf_error());
    net->deadline = 60;
    start = hf_clock_now();
    CHECK(net->ops->barrier(net) == HF_ECOMM);
    CHECK(hf_clock_now() - start < 60, "a broken transport waits again");
}

/* All that ranks do together, where MPI does not act on all of them or on the last. The
 * others wait for it by their deadline, or hear of it. */
static void lost_test(int kind, int call, bool alone) {
    bool flag = false, mine = !alone || net->rank == net->size - 1;
    int *all = malloc((size_t)net->size * sizeof *all);
    transport_open("mpi");
    CHECK(net->ops->gather(net, all, &net->rank, sizeof *all) == HF_OK);
    CHECK(hf_agree(net, HF_OK) == HF_OK, "%s", hf_error());
    MPI_Barrier(MPI_COMM_WORLD); /* else a rank hears of the fault before it is here */
    fault = mine ? kind : ACTS;
    hf_status status = call == 0   ? net->ops->gather(net, all, &call, sizeof *all)
                       : call == 1 ? net->ops->barrier(net)
                       : call == 2 ? net->ops->any(net, &flag)
                                   : hf_agree(net, HF_OK);
    fault = ACTS;
    if (mine) {
        CHECK(status == HF_ECOMM, "fault %d passes call %d", kind, call);
        CHECK(strstr(hf_error(), kind == FLIPPED ? "came damaged" : "MPI lost"), "%s",
              hf_error());
    }
    CHECK(hf_agree(net, HF_OK) == HF_ECOMM, "the others go on");
    net->ops->close(net);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank does not come to open: the others leave by the deadline. */
static void open_test(const hf_transport_ops *mpi, const char *version) {
    hf_transport *none;
    double start = hf_clock_now();
    __lsan_disable(); /* what the communicator is being made into stays */
    CHECK(mpi->open(&none, MPI_Comm_c2f(MPI_COMM_WORLD), version, 0.5) == HF_ECOMM);
    __lsan_enable();
    CHECK(hf_clock_now() - start < 10, "%g s", hf_clock_now() - start);
    CHECK(strstr(hf_error(), "waits for the other ranks; the deadline of 0.5 s has"),
          "%s", hf_error());
}

/* For a while a rank's process does not run. */
static void stop_here(int signal) {
    const struct timespec second = {1, 0};
    (void)signal;
    nanosleep(&second, NULL);
}

/* How a rank of the chain below waits for the next. */
typedef hf_status wait_fn(int to);

static hf_status wait_in_message(int to) {
    char out = 1, in = 0;
    return net->ops->sendrecv(net, &out, to, &in, to, 1);
}

static hf_status wait_in_meeting(int to) {
    (void)to;
    return net->ops->barrier(net);
}

/* The first rank waits by other means, and has no deadline here. */
static hf_status wait_elsewhere(int to) {
    const struct timespec moment = {0, 10000000};
    hf_status status = HF_OK;
    while (net->rank == 0 && status == HF_OK) {
        status = net->ops->heed(net);
        nanosleep(&moment, NULL);
    }
    return net->rank ? wait_in_message(to) : status;
}

/* The last rank is silent. Each other one waits for the next, and begins later than the one
 * before it: the deadline of the first passes long before that of the only one that waits
 * for the silent rank. All end with the same line, which names it. The process of one that
 * is to answer does not run for a second just then. */
static void chain_test(wait_fn *how, bool stops) {
    transport_open("mpi");
    int last = net->size - 1, none = 0;
    char line[80], mine[512], *all = malloc((size_t)net->size * sizeof mine);
    const struct timespec late = {0, net->rank * 700000000L / last};
    const struct itimerval once = {.it_value = {0, 950000}};
    net->deadline = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (net->rank == last) {
        for (int rank = 0; rank < last; rank++)
            MPI_Recv(&none, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(wait_in_meeting(0) == HF_ECOMM);
    } else {
        double start = hf_clock_now();
        signal(SIGALRM, stop_here);
        if (stops && net->rank == last / 2)
            setitimer(ITIMER_REAL, &once, NULL);
        nanosleep(&late, NULL);
        CHECK(how(net->rank + 1) == HF_ECOMM);
        CHECK(hf_clock_now() - start < 10);
        MPI_Send(&none, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
    }
    snprintf(mine, sizeof mine, "%s", hf_error());
    snprintf(line, sizeof line, "rank %d, which does not answer; the deadline of 1 s",
             last);
    CHECK(strstr(mine, line), "rank %d: %s", net->rank, mine);
    MPI_Allgather(mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int rank = 0; rank <= last; rank++)
        CHECK(strcmp(all + (size_t)rank * sizeof mine, mine) == 0, "rank %d: %s", rank,
              all + (size_t)rank * sizeof mine);
    free(all);
}

/* A rank leaves while the others do something else: both know at once. */
static void leave_test(void) {
    transport_open("mpi");
    double start = hf_clock_now();
    if (net->rank > 0) {
        hf_status status = hf_agree(net, HF_OK);
        CHECK(status == HF_ECOMM && strstr(hf_error(), "left"), "%s", hf_error());
    } else
        net->ops->close(net);
    CHECK(hf_clock_now() - start < 10);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void same_test(void) {
    char text[64];
    transport_open("mpi");
    CHECK(hf_same(net, "word", "a") == HF_OK, "%s", hf_error());
    snprintf(text, sizeof text, "%d", net->rank / (net->size - 1));
    CHECK(hf_same(net, "word", text) == HF_EARG);
    char line[64];
    snprintf(line, sizeof line, "\"0\" on rank 0, \"1\" on rank %d", net->size - 1);
    CHECK(strstr(hf_error(), line), "%s", hf_error());
    net->ops->close(net);
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
        plan_test();
        net->ops->close(net);
    }
    transport_open("mpi");
    sendrecv_test();
    gather_test();
    plan_test();
    if (world > 1) {
        same_test();
        leave_test();
        chain_test(wait_in_message, true);
        chain_test(wait_in_meeting, false);
        if (world > 2)
            chain_test(wait_elsewhere, true);
        transport_open("mpi");
        for (int kind = NOTHING; kind <= FLIPPED; kind++)
            for (int call = 0; call < 4; call++)
                for (int alone = 0; alone < 2; alone++)
                    lost_test(kind, call, alone);
        transport_open("mpi");
        alarm_test();
        if (net->rank < world - 1) {
            deadline_test();
            open_test(mpi, version);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    net->ops->close(net);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return check_failures != 0;
}
