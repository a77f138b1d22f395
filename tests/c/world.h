/* world.h - sessions over the ranks of a test program. */
#ifndef HF_WORLD_H
#define HF_WORLD_H

#include <mpi.h>

#include "hf.h"

/** Open a session; where it is to have ranks (`has_comm`), they are those of
 *  MPI_COMM_WORLD. *out is NULL if it fails. */
static inline hf_status world_open(hf_session **out, hf_options options) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    hf_mpi_library(library, sizeof library);
    options.mpi_library = library;
    options.comm = (int)MPI_Comm_c2f(MPI_COMM_WORLD);
    *out = NULL;
    return hf_session_open(out, &options);
}

/** Build kernels on one rank after the other: PoCL puts into a binary what lies in its folder
 *  for the text, also what another process has only begun to write there. */
static inline hf_status world_build(hf_session *session, const char *source,
                                    const char *options, unsigned char **program,
                                    size_t *bytes) {
    hf_status status = HF_OK;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank)
            status = hf_session_build(session, source, options, program, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return status;
}

#endif
