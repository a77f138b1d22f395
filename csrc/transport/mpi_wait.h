/* mpi_wait.h - what the two files of the transport `mpi` share. */
#ifndef HF_MPI_WAIT_H
#define HF_MPI_WAIT_H

#include <mpi.h>

#include "core/error.h"
#include "transport.h"

enum {
    EVERYBODY = -1, /* in place of a rank */
    AT_ONCE = -2,   /* likewise; all shall go on at the same moment */
    TAGS = 1 << 14, /* epochs before tags repeat; MPI guarantees 2^15 */
    MEETING = TAGS, /* tags of what belongs to no epoch: stamps of meetings, */
    NOTICE,         /* and why a rank can no longer go on */
    POISON = 0xA5,  /* what nobody sends lies in memory that receives evidence */
};

/* Evidence: who sent this, in which of the calls that all ranks make. A call of MPI that
 * returns without acting leaves something else. */
typedef struct stamp {
    uint32_t number, epoch;
    int32_t rank;
    uint16_t doing, flag;
} stamp;

/* Why a rank can no longer go on. */
typedef struct reason {
    int32_t waits_for; /* a rank; EVERYBODY where it is not a single one */
    char text[128];
} reason;

typedef struct mpi {
    hf_transport base;
    MPI_Comm data, control; /* duplicates of the caller's */
    MPI_Comm coming;        /* that is being made */
    int epoch;
    uint32_t number;  /* of the calls that all ranks made together */
    stamp out, in;    /* of a meeting */
    reason told;      /* to all ranks, once */
    char *mine, *all; /* of gathers: a late one never writes into the caller's memory */
    size_t room;      /* of `mine` [B]; `all` is [size, room] */
    char broken[128]; /* why, once a deadline has passed */
    char stuck[128];  /* why the run after this one cannot be */
} mpi;

/** HF_OK, or a failure that names the call and tells MPI's words. */
hf_status hf_mpi_check(int code, const char *what);
#define TRY_MPI(call) HF_TRY(hf_mpi_check((call), #call))

/** The ranks no longer do the same, for a reason that is told to all: no call after this
 *  one can be trusted, here nor on another rank. `waits_for` is the rank that this one waited
 *  for, or EVERYBODY. HF_OK is passed on. */
hf_status hf_mpi_break(mpi *net, hf_status status, int waits_for);

/** Wait by the deadline for requests; `from` is a rank, or how everybody is waited for. A
 *  rank's message ends with an alarm, too, and all with the reason of another rank. */
hf_status hf_mpi_wait(mpi *net, int n, MPI_Request *requests, int from);

/** The same for a message to receive and one to send, which are given up where they fail. */
hf_status hf_mpi_wait_messages(mpi *net, MPI_Request requests[2], int from);

/** End a request of a message that is no longer wanted. */
void hf_mpi_abandon(mpi *net, MPI_Request *request, bool sends);

#endif
