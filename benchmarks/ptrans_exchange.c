/* ptrans_exchange.c - the least that the exchange of ptrans costs: copy, send, copy.
 *
 * mpirun -n RANKS ptrans_exchange BYTES SAMPLES prints the best sample [s], each the maximum
 * over the ranks: BYTES from memory to memory, to the partner and from it, and to memory. On
 * two ranks they are each other's partners, on four 1 and 2 are, as on a grid of 2 x 2.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    long samples = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    char *block[4];
    for (int i = 0; i < 4; i++) {
        block[i] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        if (!block[i])
            MPI_Abort(MPI_COMM_WORLD, 1);
        memset(block[i], i, bytes);
    }
    int partner = size == 2 ? 1 - rank : rank == 1 || rank == 2 ? 3 - rank : rank;
    double best = 1e30;
    for (long sample = 0; sample < samples; sample++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), mine, slowest;
        if (partner != rank) {
            memcpy(block[1], block[0], bytes);
            MPI_Sendrecv(block[1], (int)bytes, MPI_BYTE, partner, 0, block[2],
                         (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            memcpy(block[3], block[2], bytes);
        }
        mine = MPI_Wtime() - start;
        MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        best = slowest < best ? slowest : best;
    }
    if (rank == 0)
        printf("%.6e\n", best);
    for (int i = 0; i < 4; i++)
        free(block[i]);
    MPI_Finalize();
    return 0;
}
