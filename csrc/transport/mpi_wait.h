/* mpi_wait.h - what the two files of the transport `mpi` share. */
#ifndef HF_MPI_WAIT_H
#define HF_MPI_WAIT_H

#include <mpi.h>

#include "core/error.h"
#include "transport.h"

enum {
    EVERYBODY = -1,  /* in place of a rank */
    NOBODY = -2,     /* likewise */
    TAGS = 1 << 14,  /* epochs before tags repeat; MPI guarantees 2^15 */
    MEETING = TAGS,  /* tags of what belongs to no epoch: stamps of meetings, */
    NOTICE,          /* and why ranks can no longer go on */
    LINE_ROOM = 160, /* characters of a cause, with its end */
    POISON = 0xA5,   /* what nobody sends lies in memory that receives evidence */
};

/* Kinds of waits. */
enum {
    FOR_MESSAGE, /* ends with an alarm, too */
    FOR_ALL,     /* what all ranks do together; may take long */
    AT_ONCE,     /* likewise; all shall go on at the same moment */
};

/* Evidence: who sent this, in which of the calls that all ranks make, with what before it.
 * A call of MPI that returns without acting leaves something else. */
typedef struct stamp {
    uint64_t digest; /* of the bytes before it, and of `flag` */
    uint32_t number, epoch;
    int32_t rank;
    uint16_t doing, flag;
} stamp;

/* What a rank tells all others once one of them cannot go on. */
typedef struct notice {
    int32_t heard;     /* this rank has told it */
    int32_t settled;   /* `text` is why all ranks end */
    int32_t waits_for; /* a rank; EVERYBODY; NOBODY: `text` is its own reason to end */
    char text[LINE_ROOM];
} notice;

typedef struct mpi {
    hf_transport base;
    MPI_Comm data, control; /* duplicates of the caller's */
    MPI_Comm coming;        /* that is being made */
    int epoch;
    uint32_t number;  /* of the calls that all ranks made together */
    stamp out, in;    /* of a meeting */
    notice *heard;    /* [size], what each rank told last, this one included */
    notice settled;   /* what this one told at the end */
    char *mine, *all; /* of gathers: a late one never writes into the caller's memory */
    size_t room;      /* of `mine` [B]; `all` is [size, room] */
    char broken[LINE_ROOM]; /* why, once a deadline has passed */
    char stuck[LINE_ROOM];  /* why the run after this one cannot be */
} mpi;

/** HF_OK, or a failure that names the call and tells MPI's words. */
hf_status hf_mpi_check(int code, const char *what);
#define TRY_MPI(call) HF_TRY(hf_mpi_check((call), #call))

/** The ranks no longer do the same, for a reason that is told to all: no call after this
 *  one can be trusted, here nor on another rank. HF_OK is passed on. */
hf_status hf_mpi_break(mpi *net, hf_status status);

/** Can any rank no longer go on? Then nor can we, for the same reason. */
hf_status hf_mpi_notices(mpi *net, int waits_for);

/** Has a rank raised the alarm, or can none go on? For who waits elsewhere. */
hf_status hf_mpi_heed(mpi *net);

/** Wait by the deadline for requests; `from` is the rank that they are waited for, or
 *  EVERYBODY, and `kind` that of the wait. It ends when another rank cannot go on. */
hf_status hf_mpi_wait(mpi *net, int n, MPI_Request *requests, int from, int kind);

/** The same for a message to receive and one to send, which are given up where they fail. */
hf_status hf_mpi_wait_messages(mpi *net, MPI_Request requests[2], int from, int kind);

/** End a request of a message that is no longer wanted. */
void hf_mpi_abandon(mpi *net, MPI_Request *request, bool sends);

#endif
