/* mpi_meet.c - what all ranks do together, over a tree of messages.
 *
 * Each rank tells its parent what it and those below it have, and hears from it what all
 * have: so nobody leaves before all have come. A parent has up to WIDTH - 1 children at each
 * level: on a node with more ranks than cores what counts is how often each rank must run.
 * The ranks below one are those that follow it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "mpi_near.h"

enum { WIDTH = 16, POISON = 0xA5 /* what nobody sends lies in memory that receives */ };

/* Calls that all ranks make together. */
enum { GATHER = 1, BARRIER, AGREEMENT, BROADCAST, REDUCTION, CLOSE, N_COLLECTIVES };
static const char *const collectives[] = {
    "", "gather", "barrier", "agreement", "broadcast", "reduction", "close"};

/* Evidence: who sent this, in which of the calls that all ranks make, with what data. It
 * stands before and behind that: a call of MPI that returns without acting leaves something
 * else, and what came damaged has another digest. */
typedef struct stamp {
    uint64_t digest; /* of the data, and of `flag` */
    uint32_t number, epoch;
    int32_t rank;
    uint16_t collective, flag;
} stamp;

/* A call that all ranks make. */
typedef struct meeting {
    unsigned collective;
    int kind;     /* of its waits */
    int root;     /* of the tree; the ranks follow from there */
    bool near;    /* by memory where ranks share it */
    bool flag;    /* is it set on any rank that was heard? */
    size_t bytes; /* that each rank has in `all`, one after the other, */
    void (*merge)(void *into, const void *from, size_t bytes); /* or all together */
} meeting;

/* Where in the tree a rank stands, and which rank stands there. */
static int place_of(const mpi *net, const meeting *m) {
    return (net->base.rank + net->base.size - m->root) % net->base.size;
}

static int rank_at(const mpi *net, const meeting *m, int place) {
    return (place + m->root) % net->base.size;
}

static hf_status room_make(mpi *net, size_t bytes) {
    size_t room = bytes + 2 * sizeof(stamp);
    if (room <= net->room)
        return HF_OK;
    char *all = realloc(net->all, room);
    net->all = all ? all : net->all;
    char *message = realloc(net->message, room);
    net->message = message ? message : net->message;
    if (!all || !message)
        return hf_fail(HF_ENOMEM, "no memory for what %d ranks share", net->base.size);
    net->room = room;
    return HF_OK;
}

static stamp stamp_of(const mpi *net, int rank, const meeting *m, bool flag,
                      const void *data, size_t bytes) {
    uint64_t digest = hf_digest(HF_DIGEST_START, data, bytes);
    return (stamp){hf_digest(digest, &flag, sizeof flag),
                   net->number,
                   (uint32_t)net->comm->epoch,
                   rank,
                   (uint16_t)m->collective,
                   flag};
}

/* What is wrong with a message from `from` that has this stamp where `due` ought to be? */
static hf_status stamp_fail(mpi *net, const stamp *seen, stamp due, const meeting *m) {
    int rank = net->base.rank, from = due.rank;
    bool known = seen->collective > 0 && seen->collective < N_COLLECTIVES;
    due.digest = seen->digest;
    if (memcmp(seen, &due, sizeof due) == 0)
        hf_fail(HF_ECOMM, "what rank %d sent for a common %s came damaged",
                hf_mpi_comm_rank(net, from), collectives[m->collective]);
    else if (seen->rank != from || !known || seen->number < net->number)
        hf_fail(HF_ECOMM, "MPI lost what rank %d sent for a common %s",
                hf_mpi_comm_rank(net, from), collectives[m->collective]);
    else if (seen->collective == CLOSE || m->collective == CLOSE)
        hf_fail(HF_ECOMM, "rank %d has left the session",
                hf_mpi_comm_rank(net, seen->collective == CLOSE ? from : rank));
    else
        hf_fail(HF_ECOMM, "rank %d is at another call (%s) than rank %d (%s)",
                hf_mpi_comm_rank(net, from), collectives[seen->collective],
                hf_mpi_comm_rank(net, rank), collectives[m->collective]);
    return hf_mpi_break(net, HF_ECOMM);
}

static hf_status message_pass(mpi *net, hf_status status, MPI_Request *request,
                              int peer, const meeting *m, bool sends) {
    if (status == HF_OK)
        status = hf_mpi_wait(net, 1, request, hf_mpi_comm_rank(net, peer), m->kind);
    if (status != HF_OK)
        hf_mpi_abandon(net, request, sends);
    return hf_mpi_break(net, status);
}

/* What is told next, from `net->all`, to one rank or several. */
static void message_write(mpi *net, size_t at, size_t bytes, const meeting *m) {
    stamp own = stamp_of(net, net->base.rank, m, m->flag, net->all + at, bytes);
    memcpy(net->message, &own, sizeof own);
    memcpy(net->message + sizeof own, net->all + at, bytes);
    memcpy(net->message + sizeof own + bytes, &own, sizeof own);
}

static hf_status tell(mpi *net, int to, bool up, size_t bytes, const meeting *m) {
    MPI_Request request = MPI_REQUEST_NULL;
    size_t whole = bytes + 2 * sizeof(stamp);
    if (m->near && hf_mpi_near_put(net, to, up, whole))
        return HF_OK;
    hf_status status = hf_mpi_check(
        MPI_Isend(net->message, (int)whole, MPI_BYTE, hf_mpi_comm_rank(net, to),
                  MEETING + net->group, net->comm->control, &request),
        "MPI_Isend");
    return message_pass(net, status, &request, to, m, true);
}

/* Leaves what was heard in `net->message`, behind a stamp. */
static hf_status listen(mpi *net, int from, bool up, size_t bytes, meeting *m) {
    MPI_Request request = MPI_REQUEST_NULL;
    stamp first, last;
    size_t due_bytes = bytes + 2 * sizeof first;
    bool here = false;
    memset(net->message, POISON, due_bytes);
    if (m->near)
        HF_TRY(hf_mpi_break(net,
                            hf_mpi_near_get(net, from, up, m->kind, due_bytes, &here)));
    if (!here) {
        hf_status status =
            hf_mpi_check(MPI_Irecv(net->message, (int)net->room, MPI_BYTE,
                                   hf_mpi_comm_rank(net, from), MEETING + net->group,
                                   net->comm->control, &request),
                         "MPI_Irecv");
        HF_TRY(message_pass(net, status, &request, from, m, false));
    }
    memcpy(&first, net->message, sizeof first);
    memcpy(&last, net->message + sizeof first + bytes, sizeof last);
    stamp due = stamp_of(net, from, m, first.flag, net->message + sizeof first, bytes);
    if (memcmp(&first, &due, sizeof due) != 0)
        return stamp_fail(net, &first, due, m);
    if (memcmp(&last, &due, sizeof due) != 0)
        return stamp_fail(net, &last, due, m);
    m->flag = m->flag || first.flag;
    return HF_OK;
}

/* How many places are a place and those below it, if the tree had no end? */
static int span_of(const mpi *net, int place) {
    int span = 1;
    while (span < net->base.size && place / span % WIDTH == 0)
        span *= WIDTH;
    return span;
}

/* The same in this tree. */
static int count_at(const mpi *net, int place, int span) {
    return net->base.size - place < span ? net->base.size - place : span;
}

/* Hear what the places below have, level by level. */
static hf_status children_hear(mpi *net, meeting *m, int place, int span) {
    for (int step = 1; step < span; step *= WIDTH)
        for (int c = 1; c < WIDTH && place + c * step < net->base.size; c++) {
            int child = place + c * step;
            size_t n = m->merge ? 1 : (size_t)count_at(net, child, step);
            HF_TRY(listen(net, rank_at(net, m, child), true, m->bytes * n, m));
            const char *heard = net->message + sizeof(stamp);
            if (m->merge)
                m->merge(net->all, heard, m->bytes);
            else
                memcpy(net->all + m->bytes * (size_t)child, heard, m->bytes * n);
        }
    return HF_OK;
}

static hf_status children_tell(mpi *net, const meeting *m, int place, int span,
                               size_t bytes) {
    message_write(net, 0, bytes, m);
    for (int step = span / WIDTH; step > 0; step /= WIDTH)
        for (int c = 1; c < WIDTH && place + c * step < net->base.size; c++)
            HF_TRY(tell(net, rank_at(net, m, place + c * step), false, bytes, m));
    return HF_OK;
}

static int parent_of(int place, int span) {
    return place - place / span % WIDTH * span;
}

/* From the root to all: `bytes` in `net->all`. */
static hf_status spread(mpi *net, meeting *m, size_t bytes) {
    int place = place_of(net, m), span = span_of(net, place);
    if (place > 0) {
        HF_TRY(listen(net, rank_at(net, m, parent_of(place, span)), false, bytes, m));
        memcpy(net->all, net->message + sizeof(stamp), bytes);
    }
    return children_tell(net, m, place, span, bytes);
}

/* All ranks come here before one leaves. `net->all` has what this rank brings, in its place,
 * and then what all brought. */
static hf_status meet(mpi *net, meeting *m) {
    int place = place_of(net, m), span = span_of(net, place);
    size_t each = m->bytes, before = m->merge ? 0 : (size_t)place,
           own = m->merge ? 1 : (size_t)count_at(net, place, span),
           whole = m->merge ? 1 : (size_t)net->base.size;
    m->near = net->near != NULL;
    HF_TRY(children_hear(net, m, place, span));
    if (place > 0) {
        message_write(net, before * each, own * each, m);
        HF_TRY(tell(net, rank_at(net, m, parent_of(place, span)), true, own * each, m));
    }
    HF_TRY(spread(net, m, whole * each));
    net->base.since = 0;
    return HF_OK;
}

/* Nobody comes to a meeting that the others have given up. */
static hf_status meeting_open(mpi *net, size_t bytes) {
    HF_TRY(hf_mpi_intact(net));
    HF_TRY(hf_mpi_notices(net, EVERYBODY, ""));
    net->number++;
    return hf_mpi_break(net, room_make(net, bytes)); /* the others wait for this rank */
}

/* How much of `left` bytes goes into a meeting in which each rank has `blocks` such blocks. */
static size_t part_of(const mpi *net, size_t left, size_t blocks) {
    size_t most = net->comm->most / sizeof(double) / blocks * sizeof(double);
    most = most > sizeof(double) ? most : sizeof(double);
    return left < most ? left : most;
}

static hf_status part_gather(mpi *net, char *all, const char *mine, size_t part,
                             size_t bytes) {
    meeting m = {.collective = GATHER, .kind = FOR_ALL, .bytes = part};
    size_t size = (size_t)net->base.size;
    HF_TRY(meeting_open(net, part * size));
    memcpy(net->all + part * (size_t)net->base.rank, mine, part);
    HF_TRY(meet(net, &m));
    for (size_t rank = 0; rank < size; rank++)
        memcpy(all + rank * bytes, net->all + rank * part, part);
    return HF_OK;
}

hf_status hf_mpi_gather(hf_transport *base, void *all, const void *mine, size_t bytes) {
    mpi *net = (mpi *)base;
    size_t at = 0, part;
    do {
        part = part_of(net, bytes - at, (size_t)base->size);
        HF_TRY(
            part_gather(net, (char *)all + at, (const char *)mine + at, part, bytes));
    } while ((at += part) < bytes);
    return HF_OK;
}

hf_status hf_mpi_any(hf_transport *base, bool *flag) {
    meeting m = {.collective = AGREEMENT, .kind = FOR_ALL, .flag = *flag};
    HF_TRY(meeting_open((mpi *)base, 0));
    HF_TRY(meet((mpi *)base, &m));
    *flag = m.flag;
    return HF_OK;
}

hf_status hf_mpi_barrier(hf_transport *base) {
    meeting m = {.collective = BARRIER, .kind = AT_ONCE};
    HF_TRY(meeting_open((mpi *)base, 0));
    return meet((mpi *)base, &m);
}

hf_status hf_mpi_leave(mpi *net, bool *stuck) {
    meeting m = {.collective = CLOSE, .kind = FOR_ALL, .flag = *stuck};
    HF_TRY(meeting_open(net, 0));
    HF_TRY(meet(net, &m));
    *stuck = m.flag;
    return HF_OK;
}

static void larger_take(void *into, const void *from, size_t bytes) {
    double a, b;
    for (size_t at = 0; at < bytes; at += sizeof a) {
        memcpy(&a, (char *)into + at, sizeof a);
        memcpy(&b, (const char *)from + at, sizeof b);
        if (!(b <= a)) /* a NaN stays */
            a = a != a ? a : b;
        memcpy((char *)into + at, &a, sizeof a);
    }
}

static void sum_take(void *into, const void *from, size_t bytes) {
    double a, b;
    for (size_t at = 0; at < bytes; at += sizeof a) {
        memcpy(&a, (char *)into + at, sizeof a);
        memcpy(&b, (const char *)from + at, sizeof b);
        a += b;
        memcpy((char *)into + at, &a, sizeof a);
    }
}

hf_status hf_mpi_reduce(hf_transport *base, double *values, size_t n,
                        hf_reduction how) {
    mpi *net = (mpi *)base;
    size_t bytes = n * sizeof *values, at = 0;
    do {
        char *own = (char *)values + at;
        meeting m = {.collective = REDUCTION,
                     .kind = FOR_ALL,
                     .bytes = part_of(net, bytes - at, 1),
                     .merge = how == HF_SUM ? sum_take : larger_take};
        HF_TRY(meeting_open(net, m.bytes));
        memcpy(net->all, own, m.bytes);
        HF_TRY(meet(net, &m));
        memcpy(own, net->all, m.bytes);
        at += m.bytes;
    } while (at < bytes);
    return HF_OK;
}

hf_status hf_mpi_broadcast(hf_transport *base, void *data, size_t bytes, int root) {
    mpi *net = (mpi *)base;
    size_t at = 0, part;
    do {
        char *own = (char *)data + at;
        meeting m = {.collective = BROADCAST, .kind = FOR_ALL, .root = root};
        part = part_of(net, bytes - at, 1);
        HF_TRY(meeting_open(net, part));
        if (base->rank == root)
            memcpy(net->all, own, part);
        HF_TRY(spread(net, &m, part));
        memcpy(own, net->all, part);
    } while ((at += part) < bytes);
    return HF_OK;
}
