/* ptrans_exchange.c - a step of ptrans in plain C: copy, send, copy, then C = B + A^T.
 *
 * mpirun -n RANKS ptrans_exchange SIZE SAMPLES THREADS prints two times [s]: of the exchange
 * within a step, that of the slowest rank in the best sample; and of the exchange alone, the
 * best sample's slowest rank. Half of a rank's blocks on two ranks, or all of them on ranks 1
 * and 2 of four, as on a grid of 2 x 2, are copied, sent to the partner and copied. Then a rank
 * adds what it holds, one after the other, while others may still be exchanging.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptrans_tiles.h"

enum { A, OUT, IN, GOT, B, C, N_BLOCKS };

typedef struct times {
    double step, exchange;
} times;

static float *blocks[N_BLOCKS];

/* Blocks of n x n floats; `adds` of them are added. */
static times sample_take(int rank, int size, size_t n, int adds, size_t threads) {
    int partner = size == 2 ? 1 - rank : rank == 1 || rank == 2 ? 3 - rank : rank;
    size_t bytes = n * n * sizeof(float);
    times mine, all[4], slowest = {0, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (partner != rank) {
        memcpy(blocks[OUT], blocks[A], bytes);
        MPI_Sendrecv(blocks[OUT], (int)bytes, MPI_BYTE, partner, 0, blocks[IN],
                     (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        memcpy(blocks[GOT], blocks[IN], bytes);
    }
    mine.exchange = MPI_Wtime() - start;
    for (int i = 0; i < adds; i++)
        tiles_add(n, blocks[i ? A : GOT], blocks[B] + (size_t)i * n * n,
                  blocks[C] + (size_t)i * n * n, threads);
    mine.step = MPI_Wtime() - start;
    MPI_Allgather(&mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        slowest = all[i].step > slowest.step ? all[i] : slowest;
    return slowest;
}

static double best_exchange(int rank, int size, size_t n, long samples, int adds,
                            size_t threads) {
    times best = {1e30, 0};
    for (long sample = 0; sample < samples; sample++) {
        times one = sample_take(rank, size, n, adds, threads);
        best = one.step < best.step ? one : best;
    }
    return best.exchange;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) / 2 : 0;
    long samples = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    size_t threads = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    int adds = 4 / size; /* quarters of the matrix on a rank */
    for (int i = 0; i < N_BLOCKS; i++) {
        size_t bytes = n * n * sizeof(float) * (i < B ? 1 : (size_t)adds);
        blocks[i] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        if (!blocks[i] || (size != 2 && size != 4) || n % BLOCK ||
            threads > MAX_THREADS)
            MPI_Abort(MPI_COMM_WORLD, 1);
        memset(blocks[i], 0, bytes);
    }
    double within = best_exchange(rank, size, n, samples, adds, threads);
    double alone = best_exchange(rank, size, n, samples, 0, threads);
    if (rank == 0)
        printf("%.6e %.6e\n", within, alone);
    for (int i = 0; i < N_BLOCKS; i++)
        free(blocks[i]);
    MPI_Finalize();
    return 0;
}
