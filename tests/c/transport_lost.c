/* transport_lost.c - what all ranks do together, where a rank's call is lost or its memory
 * lacks: all hear of it. By mpirun. */
#include <mpi.h>
#include <string.h>

#include "mpi_near.h"
#include "opened.h"
#include "scarce.h"

/* Calls for what all ranks do together, of MPI or by the memory of a node, that return without
 * acting, send what a call before sent, or damage a byte. */
enum { ACTS, RECV_NOTHING, SEND_STALE, SEND_DAMAGED, KINDS };
static int fault;

static bool meets(int tag) {
    return tag >= 1 << 14 && tag < (1 << 14) + 8;
}

/* What is sent in place of `memory`, if it is another; `stale` is of the call before. */
static char stale[256], other[sizeof stale];
static const void *wrong_send(const void *memory, int n) {
    char before[sizeof stale];
    if (n > (int)sizeof stale)
        return memory;
    memcpy(before, stale, sizeof stale);
    memcpy(stale, memory, (size_t)n);
    if (fault != SEND_STALE && fault != SEND_DAMAGED)
        return memory;
    memcpy(other, fault == SEND_STALE ? before : memory, (size_t)n);
    if (fault == SEND_DAMAGED)
        other[n / 2] ^= 1;
    return other;
}

int __real_MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                     MPI_Request *);
int __wrap_MPI_Isend(const void *memory, int n, MPI_Datatype type, int to, int tag,
                     MPI_Comm comm, MPI_Request *request) {
    const void *sent = meets(tag) ? wrong_send(memory, n) : memory;
    int code = __real_MPI_Isend(sent, n, type, to, tag, comm, request);
    if (sent != memory)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    return code;
}

int __real_MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_MPI_Irecv(void *memory, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request) {
    if (!meets(tag) || fault != RECV_NOTHING)
        return __real_MPI_Irecv(memory, n, type, from, tag, comm, request);
    return *request = MPI_REQUEST_NULL, MPI_SUCCESS;
}

bool __real_hf_mpi_near_put(mpi *, int, bool, size_t);
bool __wrap_hf_mpi_near_put(mpi *of, int to, bool up, size_t bytes);
bool __wrap_hf_mpi_near_put(mpi *of, int to, bool up, size_t bytes) {
    const void *sent = wrong_send(of->message, (int)bytes);
    if (sent != of->message)
        memcpy(of->message, sent, bytes);
    return __real_hf_mpi_near_put(of, to, up, bytes);
}

hf_status __real_hf_mpi_near_get(mpi *, int, bool, int, size_t, bool *);
hf_status __wrap_hf_mpi_near_get(mpi *of, int from, bool up, int kind, size_t bytes,
                                 bool *whole);
hf_status __wrap_hf_mpi_near_get(mpi *of, int from, bool up, int kind, size_t bytes,
                                 bool *whole) {
    if (fault != RECV_NOTHING)
        return __real_hf_mpi_near_get(of, from, up, kind, bytes, whole);
    *whole = true;
    return HF_OK;
}

/* The calls that all ranks make together. */
enum { GATHER, BARRIER, ANY, AGREE, BROADCAST, REDUCE, CALLS };
static hf_status call_make(hf_transport *of, int call, int root) {
    bool flag = false;
    double value = 1;
    char *all = malloc((size_t)of->size);
    hf_status status = call == GATHER      ? of->ops->gather(of, all, "x", 1)
                       : call == BARRIER   ? of->ops->barrier(of)
                       : call == ANY       ? of->ops->any(of, &flag)
                       : call == BROADCAST ? of->ops->broadcast(of, all, 1, root)
                       : call == REDUCE    ? of->ops->reduce(of, &value, 1, HF_SUM)
                                           : hf_agree(of, HF_OK);
    free(all);
    return status;
}

/* MPI does not act on all ranks, or on the last. The others wait for it by their deadline,
 * or hear of it: at the end no rank goes on. */
static void lost_test(int kind, int call, bool alone, bool in_group) {
    transport_open("mpi");
    bool mine = !alone || net->rank == net->size - 1;
    hf_transport *of = net;
    for (int before = 0; before < CALLS; before++)
        CHECK(call_make(of, before, 0) == HF_OK, "%s", hf_error());
    if (in_group)
        group_open(&of, 5);
    for (int before = 0; before < CALLS; before++)
        CHECK(call_make(of, before, 0) == HF_OK, "%s", hf_error());
    MPI_Barrier(MPI_COMM_WORLD); /* else a rank hears of the fault before it is here */
    fault = mine ? kind : ACTS;
    const char *says = kind == SEND_DAMAGED ? "came damaged" : "MPI lost";
    hf_status status = call_make(of, call, kind == RECV_NOTHING ? 0 : of->size - 1);
    fault = ACTS;
    if (mine && (call != BROADCAST || kind == RECV_NOTHING) &&
        (alone || call != BROADCAST)) {
        CHECK(status == HF_ECOMM, "fault %d passes call %d", kind, call);
        CHECK(strstr(hf_error(), says), "%s", hf_error());
    }
    CHECK(hf_agree(net, HF_OK) == HF_ECOMM, "fault %d in call %d: others go on", kind,
          call);
    CHECK(strstr(hf_error(), says), "%s", hf_error());
    net->ops->close(net);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Memory lacks on the last rank, in one allocation after the other of a call that all make:
 * it fails on all ranks or on none, and nobody waits for a rank that left: that would hang. */
static void scarce_test(hf_status (*call)(void), int first) {
    bool hit = true;
    int n = first;
    for (; hit; n++) {
        transport_open("mpi");
        int last = net->size - 1;
        net->deadline = LATE;
        MPI_Barrier(MPI_COMM_WORLD);
        scarce = net->rank == last ? n : -1;
        __lsan_disable();
        int ok = call() == HF_OK, least, most;
        __lsan_enable();
        hit = net->rank == last && scarce == -1;
        scarce = -1;
        MPI_Allreduce(&ok, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&ok, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CHECK(least == most, "allocation %d: %d on rank %d", n, ok, net->rank);
        CHECK(ok || strstr(hf_error(), "no memory"), "allocation %d: %s", n,
              hf_error());
        MPI_Bcast(&hit, 1, MPI_C_BOOL, last, MPI_COMM_WORLD);
    }
    CHECK(n > first + 1, "no allocation of the call was hit");
}

static hf_status group_call(void) {
    hf_transport *made;
    return net->ops->group(&made, net, 0);
}

/* A session whose communicators are there: before, nobody can tell the others. */
static hf_status open_call(void) {
    char version[8192];
    hf_transport *made;
    net->ops->version(version, sizeof version);
    return net->ops->open(&made, MPI_Comm_c2f(MPI_COMM_WORLD), version, LATE);
}

/* Each rank fails anyway, and says what the check wants: where memory lacks to tell the others, all
 * ranks end all the same. That is all that it tests. */
static hf_status fail_call(void) {
    return hf_agree(net, hf_fail(HF_ENOMEM, "no memory on rank %d", net->rank));
}

static hf_status facts_call(void) {
    hf_statement facts = {0};
    hf_fact(&facts, "rank");
    return hf_same(net, &facts);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    scarce_test(group_call, 0);
    scarce_test(open_call, 2);
    scarce_test(fail_call, 0);
    scarce_test(facts_call, 0);
    net->ops->close(net);
    for (int kind = RECV_NOTHING; kind < KINDS; kind++)
        for (int call = 0; call < CALLS; call++)
            for (int alone = 0; alone < 2; alone++)
                lost_test(kind, call, alone, call % 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return check_failures != 0;
}
