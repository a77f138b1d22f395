/* meet.h - all ranks of a program meet. */
#ifndef MEET_H
#define MEET_H

#include <mpi.h>
#include <time.h>

/** Wait for all ranks, asleep: in a blocking call of MPI they would take turns on the cores
 *  with the one that still works. */
static inline void all_meet(void) {
    MPI_Request request;
    int met = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &met, MPI_STATUS_IGNORE) == MPI_SUCCESS && !met)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

#endif
