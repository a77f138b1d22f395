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

#endif
