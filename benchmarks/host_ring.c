/* host_ring.c - the least a ring of MPI_Sendrecv costs: the yardstick of `host`.
 *
 * mpirun -n RANKS host_ring SAMPLES SIZE:STEPS...
 * In odd steps every rank sends SIZE bytes to its right, in even steps to its left
 * neighbour; what came is sent next. One JSON line per size; samples in seconds per
 * step, each the maximum over the ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *memory) {
    if (!memory) {
        fprintf(stderr, "host_ring: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void ring(unsigned char *const block[3], int bytes, long steps, int left,
                 int right) {
    for (long i = 0; i < steps; i++) {
        int to = i % 2 ? left : right, from = i % 2 ? right : left;
        MPI_Sendrecv(block[i % 3], bytes, MPI_BYTE, to, 0, block[(i + 1) % 3], bytes,
                     MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    long samples = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (int arg = 2; arg < argc; arg++) {
        char *colon;
        size_t bytes = strtoul(argv[arg], &colon, 10);
        long steps = *colon == ':' ? strtol(colon + 1, NULL, 10) : 1;
        unsigned char *block[3];
        for (int i = 0; i < 3; i++) {
            block[i] = must(aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
            memset(block[i], rank, bytes);
        }
        ring(block, (int)bytes, steps, left, right); /* warm-up */
        if (rank == 0)
            printf("{\"size\": %zu, \"loop\": %ld, \"samples\": [", bytes, steps);
        for (long sample = 0; sample < samples; sample++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = now();
            ring(block, (int)bytes, steps, left, right);
            double mine = (now() - start) / (double)steps, slowest;
            MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (rank == 0)
                printf("%s%.9e", sample ? ", " : "", slowest);
        }
        if (rank == 0)
            printf("]}\n");
        for (int i = 0; i < 3; i++)
            free(block[i]);
    }
    MPI_Finalize();
    return 0;
}
