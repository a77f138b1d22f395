/* mpi.c - transport over an MPI communicator that the caller made. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "core/clock.h"
#include "leftovers.h"
#include "mpi_near.h"
#include "mpi_wait.h"
#include "node.h"

extern const hf_transport_ops hf_transport_mpi;

static void group_free(mpi *net) {
    hf_mpi_near_close(net);
    free(net->ranks);
    free(net->nodes);
    free(net->all);
    free(net->message);
    free(net);
}

static void mpi_close(hf_transport *base) {
    mpi *net = (mpi *)base;
    int finalized = 1;
    if (!net)
        return;
    communicator *c = net->comm;
    MPI_Finalized(&finalized);
    /* Late messages write into `net` and what it holds. */
    bool stuck = *c->stuck;
    if (!finalized && (*c->broken || (net->group && stuck)))
        return;
    if (net->group) {
        group_free(net);
        return;
    }
    /* Freeing is for all ranks together: not without one that does not come, or cannot. */
    if (!finalized && (hf_mpi_leave(net, &stuck) != HF_OK || stuck))
        return;
    if (!finalized) {
        MPI_Comm_free(&c->data);
        MPI_Comm_free(&c->control);
    }
    free(c->heard);
    free(c);
    group_free(net);
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
    TRY_MPI(MPI_Comm_idup(comm, &net->comm->coming, &request));
    HF_TRY(hf_mpi_wait(net, 1, &request, EVERYBODY, FOR_ALL));
    MPI_Comm_set_errhandler(net->comm->coming, MPI_ERRORS_RETURN);
    *out = net->comm->coming;
    return HF_OK;
}

/* The ranks of our node, once `nodes` are known. */
static void local_count(mpi *net) {
    hf_transport *base = &net->base;
    base->nodes = net->nodes;
    for (int rank = 0; rank < base->size; rank++)
        if (base->nodes[rank] == base->nodes[base->rank]) {
            base->local_size++;
            base->local_rank += rank < base->rank;
        }
}

/* Which ranks are on one node? */
static hf_status nodes_find(mpi *net) {
    size_t size = (size_t)net->base.size;
    char mine[HF_NODE_ROOM], *all = malloc(size * sizeof mine);
    net->nodes = calloc(size, sizeof *net->nodes);
    hf_status status = hf_agree(
        &net->base, all && net->nodes
                        ? HF_OK
                        : hf_fail(HF_ENOMEM, "no memory for %zu names of nodes", size));
    assert(status != HF_OK || (all && net->nodes));
    hf_node_name(mine);
    if (status == HF_OK)
        status = hf_mpi_gather(&net->base, all, mine, sizeof mine);
    for (size_t rank = 0; status == HF_OK && rank < size; rank++)
        while (strcmp(all + (size_t)net->nodes[rank] * sizeof mine,
                      all + rank * sizeof mine) != 0)
            net->nodes[rank]++;
    if (status == HF_OK)
        local_count(net);
    free(all);
    return status;
}

/* Meetings by the memory of the ranks of our node. */
static hf_status near_open(mpi *net) {
    hf_transport *node;
    int color = net->base.nodes[net->base.rank];
    HF_TRY(net->base.ops->group(&node, &net->base, color));
    hf_status status = hf_mpi_near_open(net, (mpi *)node);
    node->ops->close(node);
    net->comm->groups = 0; /* nothing of it is under way */
    return status;
}

static hf_status mpi_bind(mpi *net, MPI_Comm theirs) {
    communicator *c = net->comm;
    TRY_MPI(MPI_Comm_rank(theirs, &c->rank));
    TRY_MPI(MPI_Comm_size(theirs, &c->size));
    net->base.rank = c->rank;
    net->base.size = c->size;
    HF_TRY(duplicate(net, &c->data, theirs));
    HF_TRY(duplicate(net, &c->control, c->data));
    c->heard = calloc((size_t)c->size, sizeof *c->heard);
    HF_TRY(hf_agree(&net->base,
                    c->heard ? HF_OK
                             : hf_fail(HF_ENOMEM, "no memory for %d ranks", c->size)));
    HF_TRY(nodes_find(net));
    return c->size > 1 ? near_open(net) : HF_OK;
}

static hf_status mpi_open(hf_transport **out, int comm, const char *library,
                          double deadline) {
    HF_TRY(library_check(library));
    MPI_Comm theirs = MPI_Comm_f2c(comm);
    if (theirs == MPI_COMM_NULL || theirs == (MPI_Comm)0)
        return hf_fail(HF_EARG, "comm: %d is no communicator", comm);
    mpi *net = calloc(1, sizeof *net);
    communicator *c = calloc(1, sizeof *c);
    if (!net || !c) {
        free(net);
        free(c);
        return hf_fail(HF_ENOMEM, "no memory for a transport");
    }
    net->base.ops = &hf_transport_mpi;
    net->base.deadline = deadline;
    net->comm = c;
    c->data = c->control = MPI_COMM_NULL;
    c->most = (size_t)1 << 30;
    /* What has begun may write into `net` and `c` yet. NOLINTNEXTLINE(*-unix.Malloc) */
    HF_TRY(mpi_bind(net, theirs));
    if (net->base.local_rank == 0)
        hf_leftovers_remove();
    *out = &net->base;
    return HF_OK;
}

/* What a rank tells where a group is made. */
typedef struct member {
    int color;
    int groups; /* that it has made in this epoch */
} member;

/* The ranks of `all` that have our color; they know each other from `net`. */
static void members_take(mpi *group, const mpi *net, const member *all, int color) {
    int n = 0, *nodes = group->nodes;
    for (int rank = 0; rank < net->base.size; rank++)
        if (all[rank].color == color) {
            if (rank == net->base.rank)
                group->base.rank = n;
            nodes[n] = net->nodes[rank];
            group->ranks[n++] = hf_mpi_comm_rank(net, rank);
        }
    for (int last = n; last-- > 0;) { /* as ranks of the group */
        int lowest = 0;
        while (nodes[lowest] != nodes[last])
            lowest++;
        nodes[last] = lowest;
    }
    group->base.size = n;
    local_count(group);
}

static hf_status mpi_group(hf_transport **out, hf_transport *base, int color) {
    mpi *net = (mpi *)base, *group = calloc(1, sizeof *group);
    member mine = {color, net->comm->groups},
           *all = malloc((size_t)base->size * sizeof *all);
    int *ranks = malloc((size_t)base->size * sizeof *ranks),
        *nodes = malloc((size_t)base->size * sizeof *nodes), number = 0;
    hf_status status =
        hf_agree(base, group && all && ranks && nodes
                           ? HF_OK
                           : hf_fail(HF_ENOMEM, "no memory for a group of ranks"));
    assert(status != HF_OK || (group && all && ranks && nodes));
    if (status == HF_OK)
        status = hf_mpi_gather(base, all, &mine, sizeof mine);
    for (int rank = 0; status == HF_OK && rank < base->size; rank++)
        number = all[rank].groups > number ? all[rank].groups : number;
    if (status == HF_OK && ++number >= MAX_GROUPS) /* on all ranks */
        status = hf_fail(HF_ENOTSUP, "no more than %d groups of ranks in a run",
                         MAX_GROUPS - 1);
    if (status == HF_OK) {
        *group = (mpi){.base = {.ops = base->ops, .deadline = base->deadline},
                       .comm = net->comm,
                       .group = net->comm->groups = number,
                       .ranks = ranks,
                       .nodes = nodes};
        members_take(group, net, all, color);
        *out = &group->base;
    } else {
        free(group);
        free(ranks);
        free(nodes);
    }
    free(all);
    return status;
}

static int tag_of(const mpi *net) {
    return net->group * EPOCHS + net->comm->epoch;
}

/* One element as long as a message of more bytes than a call of MPI counts. */
static hf_status long_type(MPI_Datatype *out, size_t bytes, size_t most) {
    MPI_Datatype parts[] = {MPI_DATATYPE_NULL, MPI_BYTE};
    const int n[] = {(int)(bytes / most), (int)(bytes % most)};
    const MPI_Aint at[] = {0, (MPI_Aint)(bytes - bytes % most)};
    TRY_MPI(MPI_Type_contiguous((int)most, MPI_BYTE, &parts[0]));
    hf_status status = hf_mpi_check(MPI_Type_create_struct(2, n, at, parts, out),
                                    "MPI_Type_create_struct");
    MPI_Type_free(&parts[0]);
    HF_TRY(status);
    status = hf_mpi_check(MPI_Type_commit(out), "MPI_Type_commit");
    if (status != HF_OK)
        MPI_Type_free(out);
    return status;
}

/* A message of any length is one of MPI: parts of two between the same ranks might meet each
 * other's. */
static hf_status message_start(mpi *net, MPI_Request *request, bool sends, void *memory,
                               size_t bytes, int peer) {
    bool is_long = bytes > net->comm->most;
    MPI_Datatype type = MPI_BYTE;
    if (is_long)
        HF_TRY(long_type(&type, bytes, net->comm->most));
    int n = is_long ? 1 : (int)bytes;
    hf_status status = sends
                           ? hf_mpi_check(MPI_Isend(memory, n, type, peer, tag_of(net),
                                                    net->comm->data, request),
                                          "MPI_Isend")
                           : hf_mpi_check(MPI_Irecv(memory, n, type, peer, tag_of(net),
                                                    net->comm->data, request),
                                          "MPI_Irecv");
    if (is_long)
        MPI_Type_free(&type); /* the message keeps it */
    return status;
}

static hf_status mpi_sendrecv(hf_transport *base, const void *send, int to, void *recv,
                              int from, size_t bytes) {
    mpi *net = (mpi *)base;
    MPI_Request requests[2];
    HF_TRY(hf_mpi_intact(net));
    to = hf_mpi_comm_rank(net, to);
    from = hf_mpi_comm_rank(net, from);
    HF_TRY(message_start(net, &requests[1], true, (void *)send, bytes, to));
    hf_status status = message_start(net, &requests[0], false, recv, bytes, from);
    if (status != HF_OK) {
        hf_mpi_abandon(net, &requests[1], true);
        return status;
    }
    return hf_mpi_wait_messages(net, requests, from);
}

/* ---- messages that were started ---- */

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "a transfer holds a request");

static MPI_Request request_of(const hf_transfer *t) {
    MPI_Request request;
    memcpy(&request, &t->handle, sizeof(MPI_Request));
    return request;
}

static hf_status mpi_start(hf_transport *base, hf_transfer *t) {
    mpi *net = (mpi *)base;
    MPI_Request request = MPI_REQUEST_NULL;
    hf_status status = hf_mpi_intact(net);
    t->since = hf_clock_now();
    if (status == HF_OK)
        status = message_start(net, &request, t->sends, t->memory, t->bytes,
                               hf_mpi_comm_rank(net, t->peer));
    memcpy(&t->handle, &request, sizeof(MPI_Request));
    t->over = status != HF_OK;
    return status;
}

static void mpi_abandon(hf_transport *base, hf_transfer *t) {
    MPI_Request request = request_of(t);
    if (!t->over)
        hf_mpi_abandon((mpi *)base, &request, t->sends);
    t->over = true;
}

static hf_status mpi_test(hf_transport *base, hf_transfer *t) {
    mpi *net = (mpi *)base;
    MPI_Request request = request_of(t);
    int ended = 0;
    if (t->over)
        return HF_OK;
    hf_status status = hf_mpi_test(net, &request, &ended);
    memcpy(&t->handle, &request, sizeof(MPI_Request));
    if (status == HF_OK && ended)
        t->over = true;
    else if (status == HF_OK && ++t->tests % FEW_TESTS == 0)
        status = hf_mpi_look(net, hf_mpi_comm_rank(net, t->peer), t->since);
    if (status != HF_OK)
        mpi_abandon(base, t);
    return status;
}

static hf_status mpi_renew(hf_transport *base) {
    communicator *c = ((mpi *)base)->comm;
    int raised = 1;
    MPI_Status status;
    /* Alarms of the ended epoch, before its tag comes again. */
    while (MPI_Iprobe(MPI_ANY_SOURCE, c->epoch, c->control, &raised, &status) ==
               MPI_SUCCESS &&
           raised)
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, c->control,
                 MPI_STATUS_IGNORE);
    c->epoch = (c->epoch + 1) % EPOCHS;
    c->groups = 0;
    return *c->stuck ? hf_fail(HF_ECOMM, "%s", c->stuck) : HF_OK;
}

static void mpi_alarm(hf_transport *base) {
    communicator *c = ((mpi *)base)->comm;
    for (int rank = 0; rank < c->size; rank++) {
        MPI_Request request;
        if (rank != c->rank && MPI_Isend(NULL, 0, MPI_BYTE, rank, c->epoch, c->control,
                                         &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

static hf_status mpi_heed(hf_transport *base) {
    return hf_mpi_heed((mpi *)base);
}

static hf_status mpi_look(hf_transport *base, int from, double since) {
    mpi *net = (mpi *)base;
    HF_TRY(hf_mpi_intact(net));
    return hf_mpi_look(net, hf_mpi_comm_rank(net, from), since);
}

static hf_status mpi_busy(hf_transport *base, const char *what) {
    return hf_mpi_notices((mpi *)base, DEVICE, what);
}

const hf_transport_ops hf_transport_mpi = {
    .name = "mpi",
    .summary = "an MPI communicator, from mpi4py",
    .open = mpi_open,
    .version = mpi_version,
    .sendrecv = mpi_sendrecv,
    .check = mpi_check,
    .start = mpi_start,
    .test = mpi_test,
    .abandon = mpi_abandon,
    .gather = hf_mpi_gather,
    .broadcast = hf_mpi_broadcast,
    .reduce = hf_mpi_reduce,
    .any = hf_mpi_any,
    .barrier = hf_mpi_barrier,
    .group = mpi_group,
    .renew = mpi_renew,
    .alarm = mpi_alarm,
    .heed = mpi_heed,
    .look = mpi_look,
    .busy = mpi_busy,
    .close = mpi_close,
};
