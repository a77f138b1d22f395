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

/* ---- what a gather brings, before its evidence is checked ---- */

static bool gathers, hurts;
static struct {
    MPI_Request request; /* of the first message that a gather receives */
    unsigned char *data, *was;
} heard;

/* A gather twice: the second one comes to another call of the other ranks. */
static hf_status planted_gather(hf_transport *net, void *all, const void *mine,
                                size_t bytes) {
    const plant_fault *f = plant.fault;
    bool now = net->size > 1 && plant_hit(PLANT_GATHER), /* else it travels nowhere */
        twice = now && f->kind == PLANT_REPEAT && f->rank == PLANT_ALL_RANKS;
    gathers = f && f->call == PLANT_GATHER && f->kind != PLANT_REPEAT;
    hurts = gathers && now;
    hf_status status = table->gather(net, all, mine, bytes);
    gathers = hurts = false;
    plant.report.acted += twice;
    return status == HF_OK && twice ? table->gather(net, all, mine, bytes) : status;
}

int __real_MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Request *request) {
    unsigned char *was = NULL;
    if (gathers) {
        was = plant_room((size_t)n);
        memcpy(was, data, (size_t)n);
    }
    int code = __real_MPI_Irecv(data, n, type, from, tag, comm, request);
    if (gathers) {
        free(heard.was);
        heard.request = *request;
        heard.data = data;
        heard.was = was;
        gathers = false;
    }
    return code;
}

static void heard_end(size_t bytes) {
    unsigned char *right = plant_room(bytes);
    memcpy(right, heard.data, bytes);
    if (hurts)
        plant_damage(heard.data, heard.was, bytes);
    plant_keep(PLANT_GATHER, right, bytes);
    free(right);
    free(heard.was);
    heard.was = NULL;
}

int __real_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    if (!heard.was || *request != heard.request)
        return __real_MPI_Test(request, done, status);
    MPI_Status own;
    int bytes = 0, code = __real_MPI_Test(request, done, &own);
    if (code == MPI_SUCCESS && *done &&
        MPI_Get_count(&own, MPI_BYTE, &bytes) == MPI_SUCCESS)
        heard_end((size_t)bytes);
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
