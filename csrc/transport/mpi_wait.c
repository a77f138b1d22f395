/* mpi_wait.c - waits by a deadline, and why the ranks can no longer go on.
 *
 * A rank whose deadline passes tells all others whom it waits for. Each rank that waits
 * tells the same as soon as it hears of that, whether its own deadline has passed or not. So
 * a chain of ranks that wait for each other always leads to the one that says nothing.
 * Once all have told, or after ANSWERS seconds, a rank settles the cause and tells it; who
 * hears a settled cause takes it for its own. All ranks end with the same line.
 */
#include "mpi_wait.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/number.h"

enum { SPINS = 128 /* tests between two looks at the clock, at most */ };

/* How long a cancelled message may take to end [s]. */
static const double GRACE = 0.5;

/* How long a rank that waits may take to answer, and one whose deadline passes elsewhere to
 * come to a meeting: its process may not run for a second [s]. */
static const double ANSWERS = 2;

/* The same after a meeting, which was waited for that much longer already [s]. */
static const double LATE_ANSWERS = 1;

/* Time between two looks for alarms and notices [s]: they take as long as several tests. */
static const double LOOKS = 1e-3;

/* A wait longer than this naps between two looks [s], and so leaves its core to others. For
 * messages it is long: only tests move them on. Ranks that shall go on at once never nap. */
static const double PATIENCE[] = {
    [FOR_MESSAGE] = 1, [FOR_ALL] = 5e-3, [AT_ONCE] = INFINITY};
static const struct timespec nap = {0, 100000};

hf_status hf_mpi_fail(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    return hf_fail(HF_ECOMM, "%s: %s", what, text);
}

hf_status hf_mpi_progress(const mpi *net) {
    int raised;
    return hf_mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, NOTICE, net->comm->control, &raised,
                                   MPI_STATUS_IGNORE),
                        "MPI_Iprobe");
}

/* Has any rank raised the alarm in this epoch? */
static hf_status alarm_check(const mpi *net) {
    int raised;
    MPI_Status status;
    TRY_MPI(MPI_Iprobe(MPI_ANY_SOURCE, net->comm->epoch, net->comm->control, &raised,
                       &status));
    return raised ? hf_fail(HF_ECOMM, "rank %d stopped", status.MPI_SOURCE) : HF_OK;
}

/* Tell all other ranks. What is sent stays in `net`, which stays, too. */
static void notice_send(const mpi *net, const notice *what) {
    for (int rank = 0; rank < net->comm->size; rank++) {
        MPI_Request request;
        if (rank != net->comm->rank &&
            MPI_Isend(what, sizeof *what, MPI_BYTE, rank, NOTICE, net->comm->control,
                      &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

/* Take the notices that have come; how many ranks have told in all? A cause that one of
 * them has settled ends this transport, too. */
static int notices_take(mpi *net) {
    int n = 0, come = net->comm->control != MPI_COMM_NULL;
    while (come && !*net->comm->broken) {
        MPI_Status status;
        notice news;
        if (MPI_Iprobe(MPI_ANY_SOURCE, NOTICE, net->comm->control, &come, &status) !=
                MPI_SUCCESS ||
            !come ||
            MPI_Recv(&news, sizeof news, MPI_BYTE, status.MPI_SOURCE, NOTICE,
                     net->comm->control, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            break;
        if (news.settled)
            memcpy(net->comm->broken, news.text, sizeof net->comm->broken);
        net->comm->heard[status.MPI_SOURCE] = news;
    }
    for (int rank = 0; net->comm->heard && rank < net->comm->size; rank++)
        n += net->comm->heard[rank].heard;
    return n;
}

/* A rank that has told nothing, or -1. */
static int silent_find(const mpi *net) {
    for (int rank = 0; rank < net->comm->size; rank++)
        if (!net->comm->heard[rank].heard)
            return rank;
    return -1;
}

/* What a rank told, by how much it says of the cause. */
enum {
    TOLD_NOTHING,
    WAITS,
    WAITS_FOR_ALL,
    WAITS_FOR_DEVICE,
    IS_WAITED_FOR, /* and waits for its device */
    MEETS_SILENT,  /* waits for all, of whom one is silent */
    WAITS_FOR_SILENT,
    ENDS_BY_ITSELF
};
static int weight_of(const mpi *net, int rank) {
    const notice *n = &net->comm->heard[rank];
    bool waited_for = false;
    for (int other = 0; other < net->comm->size; other++)
        waited_for = waited_for || (net->comm->heard[other].heard &&
                                    net->comm->heard[other].waits_for == rank);
    return !n->heard                ? TOLD_NOTHING
           : n->waits_for == NOBODY ? ENDS_BY_ITSELF
           : n->waits_for == DEVICE ? waited_for ? IS_WAITED_FOR : WAITS_FOR_DEVICE
           : n->waits_for == EVERYBODY
               ? silent_find(net) < 0 ? WAITS_FOR_ALL : MEETS_SILENT
           : net->comm->heard[n->waits_for].heard ? WAITS
                                                  : WAITS_FOR_SILENT;
}

/* The cause, from what all ranks told: the same on each that heard the same. */
static void cause_write(const mpi *net, char *text, size_t room) {
    int teller = 0, silent = silent_find(net);
    for (int rank = 1; rank < net->comm->size; rank++)
        if (weight_of(net, rank) > weight_of(net, teller))
            teller = rank;
    const notice *n = &net->comm->heard[teller];
    int weight = weight_of(net, teller), whom = n->waits_for;
    if (weight == MEETS_SILENT)
        whom = silent;
    char name[LINE_ROOM] = "the other ranks";
    if (whom >= 0)
        snprintf(name, sizeof name, "rank %d", whom);
    if (whom == DEVICE)
        snprintf(name, sizeof name, "%s", n->text);
    if (weight == ENDS_BY_ITSELF)
        snprintf(text, room, "%s", n->text);
    else
        hf_number_print(
            text, room, "rank %d waits for %s%s; the deadline of %g s has passed",
            teller, name, weight >= MEETS_SILENT ? ", which does not answer" : "",
            net->base.deadline);
}

/* This rank cannot go on: find the cause with all that answer, and end. */
static hf_status give_up(mpi *net, int waits_for, const char *text, double answers) {
    double start = hf_clock_now();
    notice *mine = &net->comm->heard[net->comm->rank];
    *mine = (notice){.heard = true, .waits_for = net->base.why ? NOBODY : waits_for};
    if (net->base.why)
        snprintf(mine->text, sizeof mine->text, "rank %d: %s", net->comm->rank,
                 net->base.why);
    else
        snprintf(mine->text, sizeof mine->text, "%s", text);
    notice_send(net, mine);
    while (notices_take(net) < net->comm->size && !*net->comm->broken &&
           hf_clock_now() - start < answers)
        nanosleep(&nap, NULL);
    if (!*net->comm->broken) {
        net->comm->settled = (notice){.heard = true, .settled = true};
        cause_write(net, net->comm->settled.text, sizeof net->comm->settled.text);
        memcpy(net->comm->broken, net->comm->settled.text, sizeof net->comm->broken);
        notice_send(net, &net->comm->settled);
    }
    return hf_fail(HF_ECOMM, "%s", net->comm->broken);
}

hf_status hf_mpi_notices(mpi *net, int waits_for, const char *text) {
    if (notices_take(net) == 0)
        return HF_OK;
    return *net->comm->broken ? hf_fail(HF_ECOMM, "%s", net->comm->broken)
                              : give_up(net, waits_for, text, ANSWERS);
}

hf_status hf_mpi_break(mpi *net, hf_status status) {
    if (status == HF_OK || *net->comm->broken)
        return status;
    char text[sizeof net->comm->broken];
    snprintf(text, sizeof text, "%s", hf_error());
    return give_up(net, NOBODY, text, ANSWERS);
}

hf_status hf_mpi_heed(mpi *net) {
    HF_TRY(alarm_check(net));
    return hf_mpi_notices(net, EVERYBODY, "");
}

/* Break the transport: an answer that comes now comes too late. */
static hf_status deadline_pass(mpi *net, int from, int kind) {
    if (net->comm->heard)
        return give_up(net, from, "", kind == FOR_MESSAGE ? ANSWERS : LATE_ANSWERS);
    hf_number_print(
        net->comm->broken, sizeof net->comm->broken,
        "rank %d waits for the other ranks; the deadline of %g s has passed",
        net->comm->rank, net->base.deadline);
    return hf_fail(HF_ECOMM, "%s", net->comm->broken);
}

/* End a request of a message that is no longer wanted. A receive that has matched writes
 * into the caller's memory until it is done; a send that nobody will match, since its tag is of
 * an ended epoch, only reads. Open MPI crashes where a send is cancelled over libfabric. */
void hf_mpi_abandon(mpi *net, MPI_Request *request, bool sends) {
    double start = hf_clock_now();
    int done = *request == MPI_REQUEST_NULL;
    if (!done && !sends)
        MPI_Cancel(request);
    while (!done && hf_clock_now() - start < GRACE) {
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            break;
        if (!done)
            nanosleep(&nap, NULL);
    }
    if (done)
        return;
    if (!*net->comm->stuck)
        snprintf(net->comm->stuck, sizeof net->comm->stuck,
                 "rank %d has a message in flight from a run that failed; open a new "
                 "session",
                 net->comm->rank);
    MPI_Request_free(request);
}

/* When does a wait end that begins now? All may come late by a deadline that passes
 * elsewhere, in a message or a kernel. */
static double wait_end(const mpi *net, double now, int kind) {
    if (kind == FOR_MESSAGE)
        return now + net->base.deadline;
    return (net->base.since > 0 ? net->base.since : now) + net->base.deadline + ANSWERS;
}

hf_status hf_mpi_wait_until(mpi *net, hf_status (*look)(void *what, bool *done),
                            void *what, int from, int kind) {
    double start = 0, looked = 0, before = 0, end = 0;
    int spins = FEW_TESTS;
    while (true) {
        bool done = false;
        for (int spin = 0; spin < spins && !done; spin++)
            HF_TRY(look(what, &done));
        if (done)
            return HF_OK;
        double now = hf_clock_now();
        if (start == 0) {
            start = looked = before = now;
            end = wait_end(net, now, kind);
        }
        /* Each test may yield the core: on a busy machine that takes 10 ms. */
        spins = now - before > LOOKS ? 1 : spins < SPINS ? 2 * spins : SPINS;
        before = now;
        if (now - looked > LOOKS) {
            if (kind == FOR_MESSAGE)
                HF_TRY(alarm_check(net));
            HF_TRY(hf_mpi_notices(net, from, ""));
            looked = now;
        }
        if (now > end)
            return deadline_pass(net, from, kind);
        if (now - start > PATIENCE[kind]) {
            if (kind != FOR_MESSAGE)
                spins = 1;
            nanosleep(&nap, NULL);
        }
    }
}

hf_status hf_mpi_test(mpi *net, MPI_Request *request, int *ended) {
    return hf_mpi_break(
        net, hf_mpi_check(MPI_Test(request, ended, MPI_STATUS_IGNORE), "MPI_Test"));
}

/* One after the other: testing a single request is the quickest way to progress. */
typedef struct pending {
    mpi *net;
    int n, done;
    MPI_Request *all;
} pending;

static hf_status requests_look(void *what, bool *done) {
    pending *r = what;
    int ended = 0;
    HF_TRY(hf_mpi_test(r->net, &r->all[r->done], &ended));
    r->done += ended != 0;
    *done = r->done == r->n;
    return HF_OK;
}

hf_status hf_mpi_wait(mpi *net, int n, MPI_Request *requests, int from, int kind) {
    pending r = {.net = net, .n = n, .all = requests};
    return hf_mpi_wait_until(net, requests_look, &r, from, kind);
}

hf_status hf_mpi_wait_messages(mpi *net, MPI_Request requests[2], int from) {
    hf_status status = hf_mpi_wait(net, 2, requests, from, FOR_MESSAGE);
    for (int i = 0; status != HF_OK && i < 2; i++)
        hf_mpi_abandon(net, &requests[i], i == 1);
    return status;
}

hf_status hf_mpi_look(mpi *net, int from, double since) {
    double now = hf_clock_now();
    if (now - net->comm->looked < LOOKS)
        return HF_OK;
    net->comm->looked = now;
    HF_TRY(alarm_check(net));
    HF_TRY(hf_mpi_notices(net, from, ""));
    return now - since > net->base.deadline ? deadline_pass(net, from, FOR_MESSAGE)
                                            : HF_OK;
}
