/* plant_net.c - faults planted in a transport's table, and in the MPI below its gathers. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "plant_state.h"

enum { MOST_HITS = 256 };

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

/* Messages under way that the fault hits, and what their memory held. */
static struct {
    hf_transfer *transfer;
    unsigned char *was;
} hits[MOST_HITS];

static hf_status planted_start(hf_transport *net, hf_transfer *transfer) {
    bool now = !transfer->sends && plant_hit(PLANT_SENDRECV);
    for (size_t i = 0; now && i < MOST_HITS; i++)
        if (!hits[i].transfer) {
            hits[i].transfer = transfer;
            hits[i].was = plant_room(transfer->bytes);
            memcpy(hits[i].was, transfer->memory, transfer->bytes);
            now = false;
        }
    plant_must(!now);
    return table->start(net, transfer);
}

static hf_status planted_test(hf_transport *net, hf_transfer *transfer) {
    HF_TRY(table->test(net, transfer));
    if (!transfer->over || transfer->sends || transfer->bytes == 0)
        return HF_OK;
    unsigned char *right = plant_room(transfer->bytes);
    memcpy(right, transfer->memory, transfer->bytes);
    for (size_t i = 0; i < MOST_HITS; i++)
        if (hits[i].transfer == transfer) {
            plant_damage((unsigned char *)transfer->memory, hits[i].was,
                         transfer->bytes);
            free(hits[i].was);
            hits[i].transfer = NULL;
        }
    plant_keep(PLANT_SENDRECV, right, transfer->bytes);
    free(right);
    return HF_OK;
}

void plant_net_start(void) {
    for (size_t i = 0; i < MOST_HITS; i++) {
        if (hits[i].transfer)
            free(hits[i].was);
        hits[i].transfer = NULL;
    }
}

/* One rank alone would come to another collective than the others. */
static hf_status planted_barrier(hf_transport *net) {
    bool now = plant_hit(PLANT_BARRIER) && plant.fault->rank == PLANT_ALL_RANKS;
    bool drop = now && plant.fault->kind == PLANT_DROP;
    bool twice = now && plant.fault->kind == PLANT_REPEAT;
    plant.report.acted += drop || twice;
    if (twice)
        HF_TRY(table->barrier(net));
    return drop ? HF_OK : table->barrier(net);
}

static hf_status planted_any(hf_transport *net, bool *flag) {
    bool now = plant_hit(PLANT_ANY) && plant.fault->rank == PLANT_ALL_RANKS;
    bool drop = now && plant.fault->kind == PLANT_DROP;
    bool twice = now && plant.fault->kind == PLANT_REPEAT;
    plant.report.acted += drop || twice;
    if (twice)
        HF_TRY(table->any(net, flag));
    return drop ? HF_OK : table->any(net, flag);
}

/* A gather twice: the second one comes to another call of the other ranks. */
static hf_status planted_gather(hf_transport *net, void *all, const void *mine,
                                size_t bytes) {
    const plant_fault *f = plant.fault;
    size_t acted = plant.report.acted;
    hf_status status = table->gather(net, all, mine, bytes);
    bool twice = f && f->call == PLANT_GATHER && f->kind == PLANT_REPEAT &&
                 f->rank == PLANT_ALL_RANKS && plant.report.acted > acted;
    return status == HF_OK && twice ? table->gather(net, all, mine, bytes) : status;
}

/* ---- MPI ---- */

/* The gather under way; what it brings is damaged when it is there. */
static struct {
    MPI_Request request;
    unsigned char *all, *was; /* `was` NULL: nothing is damaged */
    size_t bytes;
} gathering;

int __real_MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                          MPI_Datatype types, MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                          MPI_Datatype types, MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Iallgather(const void *mine, int n, MPI_Datatype type, void *all, int m,
                          MPI_Datatype types, MPI_Comm comm, MPI_Request *request) {
    int size;
    bool now = plant_hit(PLANT_GATHER);
    MPI_Comm_size(comm, &size);
    gathering.all = all;
    gathering.bytes = (size_t)size * (size_t)m;
    free(gathering.was);
    gathering.was = now ? plant_room(gathering.bytes) : NULL;
    if (now)
        memcpy(gathering.was, all, gathering.bytes);
    int code = __real_MPI_Iallgather(mine, n, type, all, m, types, comm, request);
    gathering.request = *request;
    return code;
}

static void gather_end(void) {
    unsigned char *right = plant_room(gathering.bytes);
    memcpy(right, gathering.all, gathering.bytes);
    if (gathering.was && plant.fault->kind == PLANT_REPEAT)
        plant.report.acted += plant.fault->rank == PLANT_ALL_RANKS;
    else if (gathering.was)
        plant_damage(gathering.all, gathering.was, gathering.bytes);
    plant_keep(PLANT_GATHER, right, gathering.bytes);
    free(right);
    free(gathering.was);
    gathering.was = NULL;
}

int __real_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    bool gathers = plant.fault && plant.fault->call == PLANT_GATHER &&
                   *request != MPI_REQUEST_NULL && *request == gathering.request;
    int code = __real_MPI_Test(request, done, status);
    if (gathers && *done)
        gather_end();
    return code;
}

void plant_net_wrap(hf_transport_ops *ops, const hf_transport_ops *own) {
    table = own;
    *ops = *own;
    ops->sendrecv = planted_sendrecv;
    ops->start = planted_start;
    ops->test = planted_test;
    ops->gather = planted_gather;
    ops->barrier = planted_barrier;
    ops->any = planted_any;
}
