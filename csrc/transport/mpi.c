/* mpi.c - transport over an MPI communicator that the caller made. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "leftovers.h"
#include "mpi_wait.h"

extern const hf_transport_ops hf_transport_mpi;

/* One MPI call moves at most this much: counts are ints. */
static const size_t chunk_bytes = (size_t)1 << 30;

/* What ranks do together. */
enum { GATHERING = 1, BARRIER, AGREEMENT, LEAVING };
static const char *const doings[] = {"", "gather", "barrier", "agreement", "close"};

static hf_status intact_check(const mpi *net) {
    return *net->broken ? hf_fail(HF_ECOMM, "%s", net->broken) : HF_OK;
}

/* The stamp behind `bytes` bytes at `data`. */
static stamp stamp_of(const mpi *net, int rank, unsigned doing, bool flag,
                      const void *data, size_t bytes) {
    uint64_t digest = hf_digest(HF_DIGEST_START, data, bytes);
    return (stamp){hf_digest(digest, &flag, sizeof flag),
                   net->number,
                   (uint32_t)net->epoch,
                   rank,
                   (uint16_t)doing,
                   flag};
}

/* Is this what rank `from` had to send in this call, with these bytes before it? */
static hf_status stamp_check(mpi *net, const stamp *seen, int from, unsigned doing,
                             const void *data, size_t bytes) {
    stamp due = stamp_of(net, from, doing, seen->flag, data, bytes);
    if (memcmp(seen, &due, sizeof due) == 0)
        return HF_OK;
    bool known = seen->doing >= GATHERING && seen->doing <= LEAVING;
    due.digest = seen->digest;
    if (memcmp(seen, &due, sizeof due) == 0)
        hf_fail(HF_ECOMM, "what rank %d sent for a common %s came damaged", from,
                doings[doing]);
    else if (seen->rank != from || !known || seen->number < net->number)
        hf_fail(HF_ECOMM, "MPI lost what rank %d sent for a common %s", from,
                doings[doing]);
    else if (seen->doing == LEAVING || doing == LEAVING)
        hf_fail(HF_ECOMM, "rank %d has left the session",
                seen->doing == LEAVING ? from : net->base.rank);
    else
        hf_fail(HF_ECOMM, "rank %d is at another call (%s) than rank %d (%s)", from,
                doings[seen->doing], net->base.rank, doings[doing]);
    return hf_mpi_break(net, HF_ECOMM);
}

/* All ranks come here before one leaves; *flag becomes true if it is on any. Each tells
 * the rank that is 1, 2, 4, ... further what it knows, and hears as much: in rounds of as
 * many as the logarithm of the ranks, everybody has heard of everybody. */
static hf_status meet(mpi *net, unsigned doing, bool *flag, int kind) {
    int rank = net->base.rank, size = net->base.size;
    HF_TRY(intact_check(net));
    HF_TRY(hf_mpi_notices(net, EVERYBODY)); /* the others may have given us up */
    net->number++;
    for (int distance = 1; distance < size; distance *= 2) {
        int to = (rank + distance) % size, from = (rank + size - distance) % size;
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        net->out = stamp_of(net, rank, doing, *flag, NULL, 0);
        memset(&net->in, POISON, sizeof net->in);
        hf_status status =
            hf_mpi_check(MPI_Irecv(&net->in, sizeof net->in, MPI_BYTE, from, MEETING,
                                   net->control, &requests[0]),
                         "MPI_Irecv");
        if (status == HF_OK)
            status = hf_mpi_check(MPI_Isend(&net->out, sizeof net->out, MPI_BYTE, to,
                                            MEETING, net->control, &requests[1]),
                                  "MPI_Isend");
        if (status == HF_OK)
            status = hf_mpi_wait_messages(net, requests, from, kind);
        HF_TRY(hf_mpi_break(net, status));
        HF_TRY(stamp_check(net, &net->in, from, doing, NULL, 0));
        *flag = *flag || net->in.flag;
    }
    net->base.since = 0;
    return HF_OK;
}

static void mpi_close(hf_transport *base) {
    mpi *net = (mpi *)base;
    int finalized = 1;
    bool none = false;
    if (!net)
        return;
    MPI_Finalized(&finalized);
    /* Freeing is for all ranks together: not without one that does not come. Late messages
     * and gathers write into `net` and what it holds. */
    if (!finalized && (*net->stuck || meet(net, LEAVING, &none, FOR_ALL) != HF_OK))
        return;
    if (!finalized) {
        MPI_Comm_free(&net->data);
        MPI_Comm_free(&net->control);
    }
    free(net->heard);
    free(net->mine);
    free(net->all);
    free(net);
}

static hf_status mpi_check(const hf_transport *base) {
    int finalized;
    (void)base;
    MPI_Finalized(&finalized);
    return finalized ? hf_fail(HF_EARG, "MPI is finalised: the session is of no use")
                     : HF_OK;
}

static void mpi_version(char *text, size_t room) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(version, &length);
    snprintf(text, room, "%s", version);
}

/* The communicator's maker and we must talk to one MPI library, which must be up. */
static hf_status library_check(const char *library) {
    char ours[MPI_MAX_LIBRARY_VERSION_STRING];
    int up, down;
    mpi_version(ours, sizeof ours);
    if (strcmp(ours, library) != 0)
        return hf_fail(
            HF_EARG,
            "the communicator belongs to another MPI library (%.*s) than the "
            "one hpccfpga was built with (%.*s)",
            (int)strcspn(library, ",\n"), library, (int)strcspn(ours, ",\n"), ours);
    TRY_MPI(MPI_Initialized(&up));
    TRY_MPI(MPI_Finalized(&down));
    return up && !down ? HF_OK
                       : hf_fail(HF_EARG, "MPI is %s",
                                 down ? "finalised already" : "not initialised");
}

static hf_status duplicate(mpi *net, MPI_Comm *out, MPI_Comm comm) {
    MPI_Request request;
    TRY_MPI(MPI_Comm_idup(comm, &net->coming, &request));
    HF_TRY(hf_mpi_wait(net, 1, &request, EVERYBODY, FOR_ALL));
    MPI_Comm_set_errhandler(net->coming, MPI_ERRORS_RETURN);
    *out = net->coming;
    return HF_OK;
}

static hf_status mpi_gather(hf_transport *base, void *all, const void *mine,
                            size_t bytes);

/* Which of the ranks are on our node? */
static hf_status local_count(mpi *net) {
    char mine[HF_NODE_ROOM] = "", *all = malloc((size_t)net->base.size * sizeof mine);
    if (!all)
        return hf_fail(HF_ENOMEM, "no memory for %d names of nodes", net->base.size);
    hf_node_name(mine);
    hf_status status = mpi_gather(&net->base, all, mine, sizeof mine);
    for (int rank = 0; status == HF_OK && rank < net->base.size; rank++)
        if (strcmp(all + (size_t)rank * sizeof mine, mine) == 0) {
            net->base.local_rank += rank < net->base.rank;
            net->base.local_size++;
        }
    free(all);
    return status;
}

static hf_status mpi_bind(mpi *net, MPI_Comm theirs) {
    TRY_MPI(MPI_Comm_rank(theirs, &net->base.rank));
    TRY_MPI(MPI_Comm_size(theirs, &net->base.size));
    HF_TRY(duplicate(net, &net->data, theirs));
    HF_TRY(duplicate(net, &net->control, net->data));
    net->heard = calloc((size_t)net->base.size, sizeof *net->heard);
    if (!net->heard)
        return hf_fail(HF_ENOMEM, "no memory for %d ranks", net->base.size);
    return local_count(net);
}

static hf_status mpi_open(hf_transport **out, int comm, const char *library,
                          double deadline) {
    HF_TRY(library_check(library));
    MPI_Comm theirs = MPI_Comm_f2c(comm);
    if (theirs == MPI_COMM_NULL || theirs == (MPI_Comm)0)
        return hf_fail(HF_EARG, "comm: %d is no communicator", comm);
    mpi *net = calloc(1, sizeof *net);
    if (!net)
        return hf_fail(HF_ENOMEM, "no memory for a transport");
    net->base.ops = &hf_transport_mpi;
    net->base.deadline = deadline;
    net->data = net->control = MPI_COMM_NULL;
    HF_TRY(mpi_bind(net, theirs)); /* else what has begun may write into `net` yet */
    if (net->base.local_rank == 0)
        hf_leftovers_remove();
    *out = &net->base;
    return HF_OK;
}

static hf_status mpi_sendrecv(hf_transport *base, const void *send, int to, void *recv,
                              int from, size_t bytes) {
    mpi *net = (mpi *)base;
    HF_TRY(intact_check(net));
    size_t at = 0;
    do {
        size_t left = bytes - at;
        int count = (int)(left < chunk_bytes ? left : chunk_bytes);
        MPI_Request requests[2];
        TRY_MPI(MPI_Irecv((char *)recv + at, count, MPI_BYTE, from, net->epoch,
                          net->data, &requests[0]));
        hf_status sent =
            hf_mpi_check(MPI_Isend((const char *)send + at, count, MPI_BYTE, to,
                                   net->epoch, net->data, &requests[1]),
                         "MPI_Isend");
        if (sent != HF_OK) {
            hf_mpi_abandon(net, &requests[0], false);
            return sent;
        }
        HF_TRY(hf_mpi_wait_messages(net, requests, from, FOR_MESSAGE));
        at += (size_t)count;
    } while (at < bytes);
    return HF_OK;
}

static hf_status gather_reserve(mpi *net, size_t bytes) {
    size_t size = (size_t)net->base.size;
    if (bytes <= net->room)
        return HF_OK;
    char *own = realloc(net->mine, bytes), *others = NULL;
    net->mine = own ? own : net->mine;
    others = realloc(net->all, size * bytes);
    net->all = others ? others : net->all;
    if (!own || !others)
        return hf_fail(HF_ENOMEM, "no memory to gather %zu B of each rank", bytes);
    net->room = bytes;
    return HF_OK;
}

/* Each rank's stamp stands behind its bytes: what comes short lacks it, and what comes
 * damaged has another digest. */
static hf_status mpi_gather(hf_transport *base, void *all, const void *mine,
                            size_t bytes) {
    mpi *net = (mpi *)base;
    size_t size = (size_t)base->size, record = bytes + sizeof(stamp);
    HF_TRY(intact_check(net));
    HF_TRY(gather_reserve(net, record));
    net->number++;
    stamp own = stamp_of(net, base->rank, GATHERING, false, mine, bytes);
    memcpy(net->mine, mine, bytes);
    memcpy(net->mine + bytes, &own, sizeof own);
    memset(net->all, POISON, size * record);
    MPI_Request request;
    TRY_MPI(MPI_Iallgather(net->mine, (int)record, MPI_BYTE, net->all, (int)record,
                           MPI_BYTE, net->data, &request));
    HF_TRY(hf_mpi_break(net, hf_mpi_wait(net, 1, &request, EVERYBODY, FOR_ALL)));
    for (size_t rank = 0; rank < size; rank++) {
        const char *theirs = net->all + rank * record;
        stamp seen;
        memcpy(&seen, theirs + bytes, sizeof seen);
        HF_TRY(stamp_check(net, &seen, (int)rank, GATHERING, theirs, bytes));
        memcpy((char *)all + rank * bytes, theirs, bytes);
    }
    return HF_OK;
}

static hf_status mpi_any(hf_transport *base, bool *flag) {
    return meet((mpi *)base, AGREEMENT, flag, FOR_ALL);
}

static hf_status mpi_barrier(hf_transport *base) {
    bool none = false;
    return meet((mpi *)base, BARRIER, &none, AT_ONCE);
}

static void mpi_renew(hf_transport *base) {
    mpi *net = (mpi *)base;
    int raised = 1;
    MPI_Status status;
    /* Alarms of the ended epoch, before its tag comes again. */
    while (MPI_Iprobe(MPI_ANY_SOURCE, net->epoch, net->control, &raised, &status) ==
               MPI_SUCCESS &&
           raised)
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, net->control,
                 MPI_STATUS_IGNORE);
    net->epoch = (net->epoch + 1) % TAGS;
    if (!*net->broken) /* the run that failed was still to tell its cause */
        memcpy(net->broken, net->stuck, sizeof net->broken);
}

static void mpi_alarm(hf_transport *base) {
    mpi *net = (mpi *)base;
    for (int rank = 0; rank < base->size; rank++) {
        MPI_Request request;
        if (rank != base->rank && MPI_Isend(NULL, 0, MPI_BYTE, rank, net->epoch,
                                            net->control, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

static hf_status mpi_heed(hf_transport *base) {
    return hf_mpi_heed((mpi *)base);
}

const hf_transport_ops hf_transport_mpi = {
    .name = "mpi",
    .summary = "an MPI communicator, from mpi4py",
    .open = mpi_open,
    .version = mpi_version,
    .sendrecv = mpi_sendrecv,
    .check = mpi_check,
    .gather = mpi_gather,
    .any = mpi_any,
    .barrier = mpi_barrier,
    .renew = mpi_renew,
    .alarm = mpi_alarm,
    .heed = mpi_heed,
    .close = mpi_close,
};
