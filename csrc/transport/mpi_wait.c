/* mpi_wait.c - waits by a deadline, and why a rank can no longer go on. */
#include "mpi_wait.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"

enum {
    SPINS = 128 /* tests between two looks at the clock; each may yield the core */
};

/* How long a cancelled message may take to end [s]. */
static const double GRACE = 0.5;

/* How long to look for other ranks' reasons, which may be the cause of the first [s]. */
static const double REASONS = 0.25;

/* Time between two looks for alarms [s]: they take as long as several tests. */
static const double ALARMS = 1e-3;

/* Who waits longer than this for what others have to say leaves its core to them [s]. */
static const double PATIENCE = 5e-3;
static const struct timespec nap = {0, 100000};

hf_status hf_mpi_check(int code, const char *what) {
    if (code == MPI_SUCCESS)
        return HF_OK;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    return hf_fail(HF_ECOMM, "%s: %s", what, text);
}

/* Has any rank raised the alarm in this epoch? */
static hf_status alarm_check(const mpi *net) {
    int raised;
    MPI_Status status;
    TRY_MPI(MPI_Iprobe(MPI_ANY_SOURCE, net->epoch, net->control, &raised, &status));
    return raised ? hf_fail(HF_ECOMM, "rank %d stopped", status.MPI_SOURCE) : HF_OK;
}

/* The next reason that a rank told; *from is -1 if there is none. */
static hf_status reason_hear(const mpi *net, reason *out, int *from) {
    int told = 0;
    MPI_Status status;
    *from = -1;
    if (net->control != MPI_COMM_NULL)
        TRY_MPI(MPI_Iprobe(MPI_ANY_SOURCE, NOTICE, net->control, &told, &status));
    if (!told)
        return HF_OK;
    *from = status.MPI_SOURCE;
    return hf_mpi_check(MPI_Recv(out, sizeof *out, MPI_BYTE, *from, NOTICE,
                                 net->control, MPI_STATUS_IGNORE),
                        "MPI_Recv");
}

/* Of several ranks that wait, each for another, the last one tells the cause: it waits for
 * a rank that says nothing. `first` is the reason of rank `from`. */
static void reason_find(mpi *net, const reason *first, int from) {
    enum { ROOM = 32 };
    reason heard[ROOM] = {*first};
    int ranks[ROOM] = {from}, n = 1, cause = 0;
    double start = hf_clock_now();
    while (n < ROOM && hf_clock_now() - start < REASONS) {
        if (reason_hear(net, &heard[n], &ranks[n]) != HF_OK)
            break;
        if (ranks[n] >= 0)
            n++;
        else
            nanosleep(&nap, NULL);
    }
    for (int hop = 0; hop < n; hop++)
        for (int i = 0; i < n; i++)
            if (ranks[i] == heard[cause].waits_for && heard[i].waits_for >= 0) {
                cause = i;
                break;
            }
    snprintf(net->broken, sizeof net->broken, "%s", heard[cause].text);
}

/* Can any rank no longer go on? Then nor can we, for the same reason. */
static hf_status reason_check(mpi *net) {
    reason theirs;
    int from;
    HF_TRY(reason_hear(net, &theirs, &from));
    if (from < 0)
        return HF_OK;
    reason_find(net, &theirs, from);
    return hf_fail(HF_ECOMM, "%s", net->broken);
}

/* The ranks no longer do the same: no call after this one can be trusted, here nor on
 * another rank. What we send stays in `net`, which stays, too. */
hf_status hf_mpi_break(mpi *net, hf_status status, int waits_for) {
    if (status == HF_OK || *net->broken)
        return status;
    net->told.waits_for = waits_for;
    snprintf(net->told.text, sizeof net->told.text, "%s", hf_error());
    for (int rank = 0; net->control != MPI_COMM_NULL && rank < net->base.size; rank++) {
        MPI_Request request;
        if (rank != net->base.rank &&
            MPI_Isend(&net->told, sizeof net->told, MPI_BYTE, rank, NOTICE,
                      net->control, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
    reason_find(net, &net->told, net->base.rank);
    return hf_fail(status, "%s", net->broken);
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
    return hf_mpi_break(net,
                        hf_fail(HF_ECOMM, "rank %d waited %g s for %s", net->base.rank,
                                longest_wait(net, from), whom),
                        from);
}

/* End a request of a message that is no longer wanted. A receive that has matched writes
 * into the caller's memory until it is done; a send that nobody will match, since its tag is of
 * an ended epoch, only reads. Open MPI crashes where a send is cancelled over libfabric. */
void hf_mpi_abandon(mpi *net, MPI_Request *request, bool sends) {
    double start = hf_clock_now();
    int done = *request == MPI_REQUEST_NULL;
    if (!done && !sends)
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

/* Wait by the deadline for requests; `from` is a rank, or how everybody is waited for. A
 * rank's message ends with an alarm, too, and all with another rank's notice. */
hf_status hf_mpi_wait(mpi *net, int n, MPI_Request *requests, int from) {
    hf_status status = HF_OK;
    double start = 0, looked = 0;
    /* One after the other: testing a single request is the quickest way to progress. */
    for (int i = 0; i < n && status == HF_OK; i++) {
        int done = 0;
        while (status == HF_OK) {
            for (int spin = 0; spin < SPINS && !done && status == HF_OK; spin++)
                status = hf_mpi_check(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE),
                                      "MPI_Test");
            if (done || status != HF_OK)
                break;
            double now = hf_clock_now();
            if (start == 0)
                start = looked = now;
            if (now - looked > ALARMS) {
                status = from >= 0 ? alarm_check(net) : HF_OK;
                status = status == HF_OK ? reason_check(net) : status;
                looked = now;
            }
            if (status == HF_OK && now - start > longest_wait(net, from))
                status = deadline_pass(net, from);
            else if (from == EVERYBODY && now - start > PATIENCE)
                nanosleep(&nap, NULL);
        }
    }
    return status;
}

/* The same for messages, which are cancelled where they fail. */
hf_status hf_mpi_wait_messages(mpi *net, MPI_Request requests[2], int from) {
    hf_status status = hf_mpi_wait(net, 2, requests, from);
    for (int i = 0; status != HF_OK && i < 2; i++)
        hf_mpi_abandon(net, &requests[i], i == 1);
    return status;
}
