/* mpi.c - transport over an MPI communicator that the caller made. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "leftovers.h"
#include "transport.h"

extern const hf_transport_ops hf_transport_mpi;

/* One MPI call moves at most this much: counts are ints. */
static const size_t chunk_bytes = (size_t)1 << 30;

enum {
    SPINS = 128,    /* tests between two looks at the clock; each may yield the core */
    EVERYBODY = -1, /* in place of a rank */
    AT_ONCE = -2,   /* likewise; all shall go on at the same moment */
    TAGS = 1 << 14, /* epochs before tags repeat; MPI guarantees 2^15 */
    PAGE = 4096,
};

/* How long a cancelled message may take to end [s]. */
static const double GRACE = 0.5;

/* Time between two looks for alarms [s]: they take as long as several tests. */
static const double ALARMS = 1e-3;

/* Who waits longer than this for what others have to say leaves its core to them [s]. */
static const double PATIENCE = 5e-3;
static const struct timespec nap = {0, 100000};

typedef struct mpi {
    hf_transport base;
    MPI_Comm data, alarms; /* duplicates of the caller's */
    int epoch;
    char *mine, *all; /* of gathers: a late one never writes into the caller's memory */
    size_t room;      /* of `mine` [B]; `all` is [size, room] */
    char broken[128]; /* why, once a deadline has passed */
    char stuck[128];  /* why the run after this one cannot be */
} mpi;

typedef struct window {
    hf_shared base;
    MPI_Win handle;
} window;

static hf_status call_check(int code, const char *what) {
    if (code == MPI_SUCCESS)
        return HF_OK;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    return hf_fail(HF_ECOMM, "%s: %s", what, text);
}

#define TRY_MPI(call) HF_TRY(call_check((call), #call))

/* Has any rank raised the alarm in this epoch? */
static hf_status alarm_check(mpi *net) {
    int raised;
    MPI_Status status;
    TRY_MPI(MPI_Iprobe(MPI_ANY_SOURCE, net->epoch, net->alarms, &raised, &status));
    return raised ? hf_fail(HF_ECOMM, "rank %d stopped", status.MPI_SOURCE) : HF_OK;
}

/* Everybody may come late by a deadline that passes elsewhere, in a message or a kernel. */
static double longest_wait(const mpi *net, int from) {
    return from < 0 ? 2 * net->base.deadline : net->base.deadline;
}

/* Break the transport: an answer that comes now comes too late. */
static hf_status deadline_pass(mpi *net, int from) {
    char whom[32] = "the other ranks";
    if (from >= 0)
        snprintf(whom, sizeof whom, "rank %d", from);
    snprintf(net->broken, sizeof net->broken, "rank %d waited %g s for %s",
             net->base.rank, longest_wait(net, from), whom);
    return hf_fail(HF_ECOMM, "%s", net->broken);
}

/* End a request of a message that is no longer wanted. A receive that has matched writes
 * into the caller's memory until it is done; a send that nobody will match, since its tag is of
 * an ended epoch, only reads. */
static void request_abandon(mpi *net, MPI_Request *request) {
    double start = hf_clock_now();
    int done = *request == MPI_REQUEST_NULL;
    if (!done)
        MPI_Cancel(request);
    while (!done && hf_clock_now() - start < GRACE)
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            break;
    if (done)
        return;
    if (!*net->stuck)
        snprintf(net->stuck, sizeof net->stuck,
                 "rank %d has a message in flight from a run that failed; open a new "
                 "session",
                 net->base.rank);
    MPI_Request_free(request);
}

/* Wait by the deadline for requests: two of a message from rank `from`, or one of a
 * collective of everybody. Messages also end with an alarm and are cancelled then;
 * collectives cannot be and stay behind. */
static hf_status requests_wait(mpi *net, int n, MPI_Request *requests, int from) {
    bool paired = from >= 0;
    hf_status status = HF_OK;
    double start = 0, looked = 0;
    /* One after the other: testing a single request is the quickest way to progress. */
    for (int i = 0; i < n && status == HF_OK; i++) {
        int done = 0;
        while (status == HF_OK) {
            for (int spin = 0; spin < SPINS && !done && status == HF_OK; spin++)
                status = call_check(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE),
                                    "MPI_Test");
            if (done || status != HF_OK)
                break;
            double now = hf_clock_now();
            if (start == 0)
                start = looked = now;
            if (paired && now - looked > ALARMS) {
                status = alarm_check(net);
                looked = now;
            }
            if (status == HF_OK && now - start > longest_wait(net, from))
                status = deadline_pass(net, from);
            else if (from == EVERYBODY && now - start > PATIENCE)
                nanosleep(&nap, NULL);
        }
    }
    for (int i = 0; status != HF_OK && paired && i < n; i++)
        request_abandon(net, &requests[i]);
    if (status != HF_OK && !paired && !*net->broken)
        snprintf(net->broken, sizeof net->broken, "%s", hf_error());
    return status;
}

static hf_status intact_check(const mpi *net) {
    return *net->broken ? hf_fail(HF_ECOMM, "%s", net->broken) : HF_OK;
}

static void mpi_close(hf_transport *base) {
    mpi *net = (mpi *)base;
    int finalized = 1;
    if (net)
        MPI_Finalized(&finalized);
    /* Freeing is collective: not with ranks that did not answer. */
    if (!finalized && !*net->broken && !*net->stuck) {
        free(net->mine);
        free(net->all);
        if (net->data != MPI_COMM_NULL)
            MPI_Comm_free(&net->data);
        if (net->alarms != MPI_COMM_NULL)
            MPI_Comm_free(&net->alarms);
    }
    free(net);
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

static hf_status local_count(mpi *net) {
    MPI_Comm node;
    TRY_MPI(
        MPI_Comm_split_type(net->data, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_rank(node, &net->base.local_rank);
    MPI_Comm_size(node, &net->base.local_size);
    TRY_MPI(MPI_Comm_free(&node));
    return HF_OK;
}

static hf_status mpi_bind(mpi *net, int comm) {
    MPI_Comm theirs = MPI_Comm_f2c(comm);
    if (theirs == MPI_COMM_NULL || theirs == (MPI_Comm)0)
        return hf_fail(HF_EARG, "comm: %d is no communicator", comm);
    TRY_MPI(MPI_Comm_dup(theirs, &net->data));
    MPI_Comm_set_errhandler(net->data, MPI_ERRORS_RETURN);
    TRY_MPI(MPI_Comm_dup(net->data, &net->alarms));
    TRY_MPI(MPI_Comm_rank(net->data, &net->base.rank));
    TRY_MPI(MPI_Comm_size(net->data, &net->base.size));
    return local_count(net);
}

static hf_status mpi_open(hf_transport **out, int comm, const char *library) {
    HF_TRY(library_check(library));
    mpi *net = calloc(1, sizeof *net);
    if (!net)
        return hf_fail(HF_ENOMEM, "no memory for a transport");
    net->base.ops = &hf_transport_mpi;
    net->data = net->alarms = MPI_COMM_NULL;
    hf_status status = mpi_bind(net, comm);
    if (status != HF_OK) {
        mpi_close(&net->base);
        return status;
    }
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
        hf_status sent = call_check(MPI_Isend((const char *)send + at, count, MPI_BYTE,
                                              to, net->epoch, net->data, &requests[1]),
                                    "MPI_Isend");
        if (sent != HF_OK) {
            request_abandon(net, &requests[0]);
            return sent;
        }
        HF_TRY(requests_wait(net, 2, requests, from));
        at += (size_t)count;
    } while (at < bytes);
    return HF_OK;
}

static hf_status mpi_gather(hf_transport *base, void *all, const void *mine,
                            size_t bytes) {
    mpi *net = (mpi *)base;
    HF_TRY(intact_check(net));
    size_t size = (size_t)base->size;
    if (bytes > net->room) {
        char *own = realloc(net->mine, bytes), *others = NULL;
        net->mine = own ? own : net->mine;
        others = realloc(net->all, size * bytes);
        net->all = others ? others : net->all;
        if (!own || !others)
            return hf_fail(HF_ENOMEM, "no memory to gather %zu B of each rank", bytes);
        net->room = bytes;
    }
    memcpy(net->mine, mine, bytes);
    MPI_Request request;
    TRY_MPI(MPI_Iallgather(net->mine, (int)bytes, MPI_BYTE, net->all, (int)bytes,
                           MPI_BYTE, net->data, &request));
    HF_TRY(requests_wait(net, 1, &request, EVERYBODY));
    memcpy(all, net->all, size * bytes);
    return HF_OK;
}

static hf_status mpi_barrier(hf_transport *base) {
    mpi *net = (mpi *)base;
    HF_TRY(intact_check(net));
    MPI_Request request;
    TRY_MPI(MPI_Ibarrier(net->data, &request));
    return requests_wait(net, 1, &request, AT_ONCE);
}

/* Our view of every rank's part, on the page that its first byte shares with nobody. */
static hf_status parts_find(window *shared, int size) {
    for (int rank = 0; rank < size; rank++) {
        MPI_Aint bytes;
        int unit;
        void *part;
        TRY_MPI(MPI_Win_shared_query(shared->handle, rank, &bytes, &unit, &part));
        uintptr_t misfit = (uintptr_t)part % PAGE;
        shared->base.parts[rank] = (char *)part + (misfit ? PAGE - misfit : 0);
    }
    return HF_OK;
}

static void mpi_unshare(hf_transport *base, hf_shared *shared) {
    window *w = (window *)shared;
    /* Freeing is collective: not with ranks that do not answer, or that use it yet. */
    hf_status status = w ? HF_OK : hf_fail(HF_EDEVICE, "what is shared is in use");
    if (hf_agree(base, status) == HF_OK)
        MPI_Win_free(&w->handle);
    free(w);
}

/* Is there room for the windows of a node? Where MPI finds none, it fails on one rank and
 * the others wait for ever; a file that only grows in use ends in SIGBUS. */
static hf_status room_check(const mpi *net, size_t bytes) {
    char name[64];
    snprintf(name, sizeof name, "/hpccfpga-%ld", (long)getpid());
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), code = errno;
    if (file >= 0) {
        shm_unlink(name);
        code = posix_fallocate(file, 0, (off_t)bytes * net->base.size);
        close(file);
    }
    return code
               ? hf_fail(HF_ENOMEM, "no shared memory for %d ranks with %zu B each: %s",
                         net->base.size, bytes, strerror(code))
               : HF_OK;
}

static hf_status window_make(mpi *net, window *shared, size_t bytes) {
    MPI_Comm node;
    MPI_Info info;
    void *mine;
    TRY_MPI(
        MPI_Comm_split_type(net->data, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    int code = MPI_Win_allocate_shared((MPI_Aint)(bytes + PAGE), 1, info, node, &mine,
                                       &shared->handle);
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
    if (code != MPI_SUCCESS)
        return hf_fail(HF_ENOMEM, "no shared memory for %d ranks with %zu B each",
                       net->base.size, bytes);
    return parts_find(shared, net->base.size);
}

static hf_status mpi_share(hf_transport *base, hf_shared **out, size_t bytes) {
    mpi *net = (mpi *)base;
    HF_TRY(intact_check(net));
    assert(base->local_size == base->size);
    window *shared = malloc(sizeof *shared + (size_t)base->size * sizeof(void *));
    hf_status status = HF_OK;
    if (!shared)
        status = hf_fail(HF_ENOMEM, "no memory for a window of %d ranks", base->size);
    else if (base->local_rank == 0)
        status = room_check(net, bytes);
    status = hf_agree(base, status);
    assert(status != HF_OK || shared);
    if (status == HF_OK) {
        *shared = (window){{(void **)(shared + 1), bytes}, MPI_WIN_NULL};
        status = hf_agree(base, window_make(net, shared, bytes));
    }
    if (status == HF_OK)
        *out = &shared->base;
    else
        free(shared); /* its window stays: another rank may have none to free with us */
    return status;
}

static void mpi_renew(hf_transport *base) {
    mpi *net = (mpi *)base;
    int raised = 1;
    MPI_Status status;
    /* Alarms of the ended epoch, before its tag comes again. */
    while (MPI_Iprobe(MPI_ANY_SOURCE, net->epoch, net->alarms, &raised, &status) ==
               MPI_SUCCESS &&
           raised)
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, net->alarms,
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
                                            net->alarms, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

const hf_transport_ops hf_transport_mpi = {
    .name = "mpi",
    .summary = "an MPI communicator, from mpi4py",
    .open = mpi_open,
    .version = mpi_version,
    .sendrecv = mpi_sendrecv,
    .gather = mpi_gather,
    .barrier = mpi_barrier,
    .share = mpi_share,
    .unshare = mpi_unshare,
    .renew = mpi_renew,
    .alarm = mpi_alarm,
    .close = mpi_close,
};
