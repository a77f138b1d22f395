/* mpi_wait.h - what the files of the transport `mpi` share. */
#ifndef HF_MPI_WAIT_H
#define HF_MPI_WAIT_H

#include <mpi.h>

#include "core/error.h"
#include "transport.h"

enum {
    EVERYBODY = -1,                /* in place of a rank */
    NOBODY = -2,                   /* likewise */
    DEVICE = -3,                   /* likewise: its own */
    MAX_GROUPS = 8,                /* of one epoch, with that of all ranks */
    EPOCHS = 1 << 11,              /* before tags repeat; MPI guarantees 2^15 of them */
    MEETING = MAX_GROUPS * EPOCHS, /* tags of no epoch: of what all do together, */
    NOTICE = MEETING + MAX_GROUPS, /* and why ranks can no longer go on */
    LINE_ROOM = 160,               /* characters of a cause, with its end */
    FEW_TESTS = 8,                 /* before who waits first looks at the clock */
};

/* Kinds of waits. */
enum {
    FOR_MESSAGE, /* ends with an alarm, too */
    FOR_ALL,     /* what all ranks do together; may take long */
    AT_ONCE,     /* likewise; all shall go on at the same moment */
};

/* What a rank tells all others once one of them cannot go on. */
typedef struct notice {
    int32_t heard;        /* this rank has told it */
    int32_t settled;      /* `text` is why all ranks end */
    int32_t waits_for;    /* a rank, or one of the enum above */
    char text[LINE_ROOM]; /* of DEVICE what runs there, of NOBODY its reason to end */
} notice;

/* All ranks of a communicator, as a transport over them and its groups share them. */
typedef struct communicator {
    MPI_Comm data, control; /* duplicates of the caller's */
    MPI_Comm coming;        /* that is being made */
    int rank, size, epoch;
    int groups;             /* of this epoch */
    size_t most;            /* that one call of MPI counts: counts are ints [B] */
    double looked;          /* at those whose message is tested, last [s] */
    notice *heard;          /* [size], what each rank told last, this one included */
    notice settled;         /* what this one told at the end */
    char broken[LINE_ROOM]; /* why, once a deadline has passed */
    char stuck[LINE_ROOM];  /* why the run after this one cannot be */
} communicator;

typedef struct mpi {
    hf_transport base;
    communicator *comm;
    int group;         /* its number, 0: all ranks */
    int *ranks;        /* [size], of the group in the communicator; NULL: the same */
    int *nodes;        /* what `base` shows */
    uint32_t number;   /* of the calls that all its ranks made together */
    struct near *near; /* memory of the ranks of this node; NULL: none */
    char *all,
        *message; /* of meetings: a late one never writes into a caller's memory */
    size_t room;  /* of both [B] */
} mpi;

/** A failure that names the call and tells MPI's words. */
hf_status hf_mpi_fail(int code, const char *what);

static inline hf_status hf_mpi_check(int code, const char *what) {
    return code == MPI_SUCCESS ? HF_OK : hf_mpi_fail(code, what);
}
#define TRY_MPI(call) HF_TRY(hf_mpi_check((call), #call))

/** The ranks no longer do the same, for a reason that is told to all: no call after this
 *  one can be trusted, here nor on another rank. HF_OK is passed on. */
hf_status hf_mpi_break(mpi *net, hf_status status);
/** Has a message ended? A failure breaks the transport: too long, it is not the right one. */
hf_status hf_mpi_test(mpi *net, MPI_Request *request, int *ended);

/** The failure of a transport that is broken. */
static inline hf_status hf_mpi_intact(const mpi *net) {
    return *net->comm->broken ? hf_fail(HF_ECOMM, "%s", net->comm->broken) : HF_OK;
}

/** The rank in the communicator of a rank of the transport. */
static inline int hf_mpi_comm_rank(const mpi *net, int rank) {
    return net->ranks ? net->ranks[rank] : rank;
}

/** Can any rank no longer go on? Then nor can we, for the same reason. `waits_for` and `text`
 *  are what this rank has to tell. */
hf_status hf_mpi_notices(mpi *net, int waits_for, const char *text);
/** Has a rank raised the alarm, or can none go on? For who waits elsewhere. */
hf_status hf_mpi_heed(mpi *net);
/** Look at `what` until it is `done`, by the deadline. `from` is the rank in the
 *  communicator that it is waited for, or EVERYBODY, and `kind` that of the wait. It ends when
 *  another rank cannot go on. */
hf_status hf_mpi_wait_until(mpi *net, hf_status (*look)(void *what, bool *done),
                            void *what, int from, int kind);
/** Wait so for requests. */
hf_status hf_mpi_wait(mpi *net, int n, MPI_Request *requests, int from, int kind);
/** The same for a message to receive and one to send, which are given up where they fail. */
hf_status hf_mpi_wait_messages(mpi *net, MPI_Request requests[2], int from);

/** A look of who tests a message himself that he has waited for since `since`: now and then
 *  one at the others, too. */
hf_status hf_mpi_look(mpi *net, int from, double since);

/** Let MPI move what it has to move. */
hf_status hf_mpi_progress(const mpi *net);
/** End a request of a message that is no longer wanted. */
void hf_mpi_abandon(mpi *net, MPI_Request *request, bool sends);

/* What all ranks do together (mpi_meet.c), and `close`: is *stuck true on any, it is on all. */
hf_status hf_mpi_gather(hf_transport *base, void *all, const void *mine, size_t bytes);
hf_status hf_mpi_broadcast(hf_transport *base, void *data, size_t bytes, int root);
hf_status hf_mpi_reduce(hf_transport *base, double *values, size_t n, hf_reduction how);
hf_status hf_mpi_any(hf_transport *base, bool *flag);
hf_status hf_mpi_barrier(hf_transport *base);
hf_status hf_mpi_leave(mpi *net, bool *stuck);

#endif
