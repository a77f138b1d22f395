/* waits.c - ranks of the transport mpi that wait for one that does not come, with mpirun on
 * any number of ranks above 1: all end by the deadline, and for the same reason. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "core/clock.h"
#include "meet.h"
#include "mpi_wait.h"
#include "opened.h"

/* The last rank does not come to open: the others leave by the deadline. */
static void open_test(void) {
    hf_transport *none;
    char version[8192];
    net->ops->version(version, sizeof version);
    __lsan_disable(); /* what the communicator is being made into stays */
    CHECK(net->ops->open(&none, MPI_Comm_c2f(MPI_COMM_WORLD), version, 0.5) ==
          HF_ECOMM);
    __lsan_enable();
    CHECK(strstr(hf_error(), "waits for the other ranks; the deadline of 0.5 s has"),
          "%s", hf_error());
}

/* For a while a rank's process does not run. */
static void stop_here(int signal) {
    const struct timespec moment = {0, 500000000};
    (void)signal;
    nanosleep(&moment, NULL);
}

/* On a busy machine each test of a message may leave the core to others. */
static bool busy;
int __real_MPI_Test(MPI_Request *, int *, MPI_Status *);
int __wrap_MPI_Test(MPI_Request *request, int *ended, MPI_Status *status) {
    if (busy)
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    return __real_MPI_Test(request, ended, status);
}

/* How a rank of the chain below waits for the next. */
typedef hf_status wait_fn(int to);

static hf_status wait_in_message(int to) {
    char out = 1, in = 0;
    return net->ops->sendrecv(net, &out, to, &in, to, 1);
}

static hf_status wait_in_test(int to) {
    char in = 0;
    hf_transfer t;
    hf_status status = hf_recv(net, &t, &in, 1, to);
    while (status == HF_OK && !t.over) {
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        status = net->ops->test(net, &t);
    }
    return status;
}

/* Those of the last rank's group wait in it, the others among all. */
static hf_transport *group;
static bool with_last(void) {
    return net->rank % 2 == (net->size - 1) % 2;
}

static hf_status wait_in_meeting(int to) {
    (void)to;
    return with_last() ? group->ops->barrier(group) : net->ops->barrier(net);
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
 * is to answer does not run for half a second just then, or its tests are slow. On a busy host
 * one may not run for seconds: the line names that one then, and false is returned. */
enum { RUNS, STOPS, IS_SLOW };
static bool chain_ends(wait_fn *how, int answers) {
    transport_open("mpi");
    int last = net->size - 1;
    char line[80], mine[512], *all = malloc((size_t)net->size * sizeof mine);
    const struct timespec late = {0, net->rank * 700000000L / last};
    const struct itimerval once = {.it_value = {0, 950000}};
    group_open(&group, with_last());
    group->deadline = net->deadline = 1;
    all_meet();
    if (net->rank == last) {
        all_meet();
        CHECK(wait_in_meeting(0) == HF_ECOMM);
    } else {
        signal(SIGALRM, stop_here);
        if (answers == STOPS && net->rank == last / 2)
            setitimer(ITIMER_REAL, &once, NULL);
        nanosleep(&late, NULL);
        busy = answers == IS_SLOW && net->rank == last / 2;
        CHECK(how(net->rank + 1) == HF_ECOMM);
        busy = false;
        all_meet();
    }
    snprintf(mine, sizeof mine, "%s", hf_error());
    snprintf(line, sizeof line, "rank %d, which does not answer; the deadline of 1 s",
             last);
    bool named = strstr(mine, line);
    CHECK(strstr(mine, ", which does not answer"), "rank %d: %s", net->rank, mine);
    net->deadline = LATE; /* a broken transport does not wait again */
    CHECK(hf_agree(net, HF_OK) == HF_ECOMM && strcmp(hf_error(), mine) == 0, "%s",
          hf_error());
    MPI_Allgather(mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int rank = 0; rank <= last && named; rank++)
        named = strcmp(all + (size_t)rank * sizeof mine, mine) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &named, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    free(all);
    return named;
}

static void chain_test(wait_fn *how, int answers) {
    int tries = 3;
    while (tries > 0 && !chain_ends(how, answers))
        tries--;
    CHECK(tries > 0, "no line names the silent rank: %s", hf_error());
    if (net->rank == 0 && tries < 3)
        printf("a rank that waits was silent, too, in %d tries\n", 3 - tries);
}

/* The last rank waits for its device, and so does the first; those between wait for the last.
 * All end with the same line, which names what the others wait for. */
static void device_test(void) {
    transport_open("mpi");
    int last = net->size - 1;
    const struct timespec moment = {0, 10000000};
    char mine[512], due[512];
    hf_status status = HF_OK;
    net->deadline = 1;
    all_meet();
    while (status == HF_OK && (net->rank == last || (net->rank == 0 && last > 1))) {
        nanosleep(&moment, NULL);
        status = net->ops->busy(net, net->rank ? "kernel \"a\"" : "kernel \"b\"");
    }
    if (status == HF_OK)
        status = wait_in_message(last);
    CHECK(status == HF_ECOMM);
    snprintf(mine, sizeof mine, "%s", hf_error());
    CHECK(strstr(mine, "waits for kernel \"a\"; the deadline"), "rank %d: %s",
          net->rank, mine);
    memcpy(due, mine, sizeof due);
    MPI_Bcast(due, sizeof due, MPI_BYTE, last, MPI_COMM_WORLD);
    CHECK(strcmp(mine, due) == 0, "rank %d: %s; rank %d: %s", net->rank, mine, last,
          due);
}

/* The last rank fails by itself just when the deadline of those that wait for it has passed
 * and the first of them asks: they end with its failure. */
static void failure_test(void) {
    transport_open("mpi");
    int last = net->size - 1, asked = 0;
    const communicator *all = ((mpi *)net)->comm;
    char line[80];
    net->deadline = 1;
    all_meet();
    if (net->rank == last) {
        while (!asked) {
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
            MPI_Iprobe(MPI_ANY_SOURCE, NOTICE, all->control, &asked, MPI_STATUS_IGNORE);
        }
        CHECK(hf_agree(net, hf_fail(HF_EDEVICE, "no memory")) == HF_EDEVICE);
    } else {
        CHECK(wait_in_message(last) == HF_ECOMM);
        snprintf(line, sizeof line, "rank %d: no memory", last);
        CHECK(strcmp(hf_error(), line) == 0, "%s", hf_error());
    }
}

/* The last rank is silent. The first has waited for it in vain by other means, or heard of a
 * failure, and tells so: the others' line names the silent one. */
static void echo_test(hf_status echo) {
    transport_open("mpi");
    int last = net->size - 1;
    char line[80];
    net->deadline = 1;
    all_meet();
    if (net->rank == 0) {
        net->since = echo == HF_ECOMM ? 0 : hf_clock_now();
        CHECK(hf_agree(net, hf_fail(echo, "others")) == echo);
    } else if (net->rank < last) {
        CHECK(wait_in_message(last) == HF_ECOMM);
        snprintf(line, sizeof line, "rank %d, which does not answer", last);
        CHECK(strstr(hf_error(), line), "%s", hf_error());
    }
    all_meet();
}

/* A rank leaves while the others do something else: both know at once. */
static void leave_test(void) {
    transport_open("mpi");
    net->deadline = LATE;
    if (net->rank > 0) {
        hf_status status = hf_agree(net, HF_OK);
        CHECK(status == HF_ECOMM && strstr(hf_error(), "left"), "%s", hf_error());
    } else
        net->ops->close(net);
    all_meet();
}

/* The last rank does not close: the others leave by the deadline, and know for whom. */
static void close_test(void) {
    transport_open("mpi");
    int last = net->size - 1;
    char line[80];
    net->deadline = 0.5;
    all_meet();
    if (net->rank < last) {
        net->ops->close(net);
        snprintf(line, sizeof line,
                 "rank %d, which does not answer; the deadline of "
                 "0.5 s",
                 last);
        CHECK(strstr(hf_error(), line), "%s", hf_error());
    }
    all_meet();
}

int main(int argc, char **argv) {
    int world;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    leave_test();
    close_test();
    chain_test(wait_in_message, STOPS);
    chain_test(wait_in_message, IS_SLOW);
    chain_test(wait_in_test, IS_SLOW);
    chain_test(wait_in_meeting, RUNS);
    if (world > 2)
        chain_test(wait_elsewhere, STOPS);
    device_test();
    failure_test();
    if (world > 2) {
        echo_test(HF_EDEVICE);
        echo_test(HF_ECOMM);
    }
    if (net->rank < world - 1)
        open_test();
    MPI_Barrier(MPI_COMM_WORLD); /* not all_meet: a part of `open` would match it */
    MPI_Finalize();
    return check_failures != 0;
}
