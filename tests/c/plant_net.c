/* plant_net.c - faults planted in a transport's table, and below what all ranks do. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "mpi_near.h"
#include "plant_state.h"

static const hf_transport_ops *table; /* the transport's own */

static hf_status planted_sendrecv(hf_transport *net, const void *send, int to,
                                  void *recv, int from, size_t bytes) {
    const plant_fault *f = plant.fault;
    bool now = plant_hit(PLANT_SENDRECV);
    bool twice = now && f->kind == PLANT_REPEAT && f->rank == PLANT_ALL_RANKS;
    if (!f || f->call != PLANT_SENDRECV)
        return table->sendrecv(net, send, to, recv, from, bytes);
    unsigned char *is = plant_room(bytes), *right = plant_room(bytes);
    hf_status status = table->sendrecv(net, send, to, is, from, bytes);
    if (status == HF_OK && twice)
        status = table->sendrecv(net, send, to, is, from, bytes);
    plant.report.acted += twice;
    memcpy(right, is, bytes);
    if (now)
        plant_damage(is, recv, bytes);
    if (status == HF_OK)
        memcpy(recv, is, bytes);
    plant_keep(PLANT_SENDRECV, right, bytes);
    free(right);
    free(is);
    return status;
}

/* ---- messages that are started and tested ---- */

/* One under way that the fault hits, and what its memory held. */
typedef struct hit {
    hf_transfer *transfer;
    unsigned char *was;
    struct hit *next;
} hit;
static hit *hits;

/* Take it off the list; its caller frees what it held. NULL: the fault does not hit it. */
static unsigned char *hit_take(const hf_transfer *transfer) {
    hit **at = &hits;
    while (*at && (*at)->transfer != transfer)
        at = &(*at)->next;
    hit *found = *at;
    if (!found)
        return NULL;
    unsigned char *was = found->was;
    *at = found->next;
    free(found);
    return was;
}

/* What has come, with or without a look at it, is damaged. */
static void hit_end(hf_transfer *transfer) {
    unsigned char *was = hit_take(transfer), *right = plant_room(transfer->bytes);
    memcpy(right, transfer->memory, transfer->bytes);
    if (was)
        plant_damage((unsigned char *)transfer->memory, was, transfer->bytes);
    plant_keep(PLANT_START, right, transfer->bytes);
    free(was);
    free(right);
}

/* A rank's message to itself is over as soon as both ends are begun. A message that comes twice
 * leaves the next ones the contents of those before them: PLANT_STALE. */
static hf_status planted_start(hf_transport *net, hf_transfer *transfer) {
    if (!transfer->sends && transfer->bytes > 0 && plant_hit(PLANT_START)) {
        hit *new = (hit *)plant_room(sizeof *new);
        *new = (hit){transfer, plant_room(transfer->bytes), hits};
        memcpy(new->was, transfer->memory, transfer->bytes);
        hits = new;
    }
    hf_status status = table->start(net, transfer);
    for (hit *at = hits, *next; at && status == HF_OK; at = next) {
        next = at->next;
        if (at->transfer->over)
            hit_end(at->transfer);
    }
    return status;
}

static hf_status planted_test(hf_transport *net, hf_transfer *transfer) {
    hf_status status = table->test(net, transfer);
    if (!transfer->over || transfer->sends || transfer->bytes == 0)
        return status;
    if (status == HF_OK)
        hit_end(transfer);
    else
        free(hit_take(transfer));
    return status;
}

static void planted_abandon(hf_transport *net, hf_transfer *transfer) {
    free(hit_take(transfer));
    table->abandon(net, transfer);
}

/* ---- what all ranks do together: damaged in what comes, where evidence must show it ---- */

/* The first message that such a call receives. */
static struct {
    bool listens, hurts;
    int depth; /* a group is made by calls of the table */
    MPI_Request request;
    unsigned char *data, *was; /* `was` NULL: none is on its way */
} heard;

static void heard_forget(void) {
    free(heard.was);
    heard.was = NULL;
    heard.listens = heard.hurts = false;
}

/* How often the call is to be made. One rank alone that makes it twice would meet the others
 * in another one. */
static int meeting_begin(const hf_transport *net, int call) {
    const plant_fault *f = plant.fault;
    if (heard.depth++ > 0)
        return 1;
    bool now = plant_hit(call) && net->size > 1, /* else nothing travels */
        twice = now && f->kind == PLANT_REPEAT && f->rank == PLANT_ALL_RANKS;
    heard.listens = f && f->call == call && f->kind != PLANT_REPEAT;
    heard.hurts = heard.listens && now;
    plant.report.acted += twice;
    return twice ? 2 : 1;
}

static void meeting_end(void) {
    if (--heard.depth == 0)
        heard_forget();
}

static hf_status planted_gather(hf_transport *net, void *all, const void *mine,
                                size_t bytes) {
    hf_status status = HF_OK;
    for (int n = meeting_begin(net, PLANT_GATHER); n > 0 && status == HF_OK; n--)
        status = table->gather(net, all, mine, bytes);
    meeting_end();
    return status;
}

static hf_status planted_broadcast(hf_transport *net, void *data, size_t bytes,
                                   int root) {
    hf_status status = HF_OK;
    for (int n = meeting_begin(net, PLANT_BROADCAST); n > 0 && status == HF_OK; n--)
        status = table->broadcast(net, data, bytes, root);
    meeting_end();
    return status;
}

static hf_status planted_reduce(hf_transport *net, double *values, size_t n_values,
                                hf_reduction how) {
    double *own = (double *)plant_room(n_values * sizeof *own);
    hf_status status = HF_OK;
    memcpy(own, values, n_values * sizeof *own);
    for (int n = meeting_begin(net, PLANT_REDUCE); n > 0 && status == HF_OK; n--) {
        memcpy(values, own, n_values * sizeof *own);
        status = table->reduce(net, values, n_values, how);
    }
    meeting_end();
    free(own);
    return status;
}

static hf_status planted_any(hf_transport *net, bool *flag) {
    hf_status status = HF_OK;
    for (int n = meeting_begin(net, PLANT_ANY); n > 0 && status == HF_OK; n--)
        status = table->any(net, flag);
    meeting_end();
    return status;
}

static hf_status planted_barrier(hf_transport *net) {
    hf_status status = HF_OK;
    for (int n = meeting_begin(net, PLANT_BARRIER); n > 0 && status == HF_OK; n--)
        status = table->barrier(net);
    meeting_end();
    return status;
}

/* The members of a group are found together; its own calls are planted in, too. */
static hf_status planted_group(hf_transport **out, hf_transport *net, int color) {
    meeting_begin(net, PLANT_GROUP);
    hf_status status = table->group(out, net, color);
    meeting_end();
    if (status == HF_OK)
        (*out)->ops = net->ops;
    return status;
}

int __real_MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request) {
    unsigned char *was = NULL;
    if (heard.listens) {
        was = plant_room((size_t)n);
        memcpy(was, data, (size_t)n);
    }
    int code = __real_MPI_Irecv(data, n, type, from, tag, comm, request);
    if (was) {
        heard.request = *request;
        heard.data = data;
        heard.was = was;
        heard.listens = false;
    }
    return code;
}

static void heard_end(size_t bytes) {
    int call = plant.fault->call;
    unsigned char *right = plant_room(bytes);
    memcpy(right, heard.data, bytes);
    if (heard.hurts)
        plant_damage(heard.data, heard.was, bytes);
    plant_keep(call, right, bytes);
    free(right);
    heard_forget();
}

int __real_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    if (!heard.was || *request != heard.request)
        return __real_MPI_Test(request, done, status);
    MPI_Status own;
    int bytes = 0, cancelled = 0, code = __real_MPI_Test(request, done, &own);
    if (code != MPI_SUCCESS || !*done)
        return code;
    /* A message that the transport has given up has no length. */
    if (MPI_Test_cancelled(&own, &cancelled) == MPI_SUCCESS && !cancelled &&
        MPI_Get_count(&own, MPI_BYTE, &bytes) == MPI_SUCCESS)
        heard_end((size_t)bytes);
    heard_forget();
    return code;
}

/* The same for what a rank of this node tells by memory. */
hf_status __real_hf_mpi_near_get(mpi *, int, bool, int, size_t, bool *);
hf_status __wrap_hf_mpi_near_get(mpi *net, int from, bool up, int kind, size_t bytes,
                                 bool *whole);
hf_status __wrap_hf_mpi_near_get(mpi *net, int from, bool up, int kind, size_t bytes,
                                 bool *whole) {
    if (!heard.listens)
        return __real_hf_mpi_near_get(net, from, up, kind, bytes, whole);
    unsigned char *was = plant_room(bytes);
    memcpy(was, net->message, bytes);
    hf_status status = __real_hf_mpi_near_get(net, from, up, kind, bytes, whole);
    if (status != HF_OK || !*whole) { /* a message comes */
        free(was);
        return status;
    }
    heard.data = (unsigned char *)net->message;
    heard.was = was;
    heard_end(bytes);
    return status;
}

void plant_net_start(void) {
    while (hits)
        free(hit_take(hits->transfer));
    heard.depth = 0;
    heard_forget();
}

void plant_net_wrap(hf_transport_ops *ops, const hf_transport_ops *own) {
    table = own;
    *ops = *own;
    ops->sendrecv = planted_sendrecv;
    ops->start = planted_start;
    ops->test = planted_test;
    ops->abandon = planted_abandon;
    ops->gather = planted_gather;
    ops->broadcast = planted_broadcast;
    ops->reduce = planted_reduce;
    ops->any = planted_any;
    ops->barrier = planted_barrier;
    ops->group = planted_group;
}
