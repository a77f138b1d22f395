/* mpi_near.h - meetings of all ranks, by memory where ranks of one node share it. */
#ifndef HF_MPI_NEAR_H
#define HF_MPI_NEAR_H

#include "mpi_wait.h"

/** Give `net` the memory of `node`, the group of this node's ranks; where there can be none,
 *  messages do. Collective. */
hf_status hf_mpi_near_open(mpi *net, mpi *node);
void hf_mpi_near_close(mpi *net);

/** Tell what `net->message` holds, `bytes` of it, to the parent in the tree (`up`) or to the
 *  children, of which `to` is one. False: rank `to` needs a message. */
bool hf_mpi_near_put(mpi *net, int to, bool up, size_t bytes);

/** Wait for what rank `from` tells so, and copy it into `net->message`. *whole is false where
 *  a message is to come. */
hf_status hf_mpi_near_get(mpi *net, int from, bool up, int kind, size_t bytes,
                          bool *whole);

#endif
