/* host_ring.c - the least a ring of MPI_Sendrecv costs: the yardstick of `host`.
 *
 * mpirun -n RANKS host_ring SLIDE SAMPLES SIZE:STEPS...
 * In odd steps every rank sends SIZE bytes to its right, in even steps to its left
 * neighbour; what came is sent next, SLIDE bytes further on. One JSON line per size; samples in
 * seconds per step, each the maximum over the ranks.
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

static void ring(unsigned char *const chain[2], int bytes, size_t slide, long steps,
                 int left, int right) {
    for (long i = 0; i < steps; i++) {
        int to = i % 2 ? left : right, from = i % 2 ? right : left;
        size_t at = slide * (size_t)(i + 1);
        MPI_Sendrecv(chain[i % 2] + at, bytes, MPI_BYTE, to, 0, chain[(i + 1) % 2] + at,
                     bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    size_t slide = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    long samples = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    for (int arg = 3; arg < argc; arg++) {
        char *colon;
        size_t bytes = strtoul(argv[arg], &colon, 10);
        long steps = *colon == ':' ? strtol(colon + 1, NULL, 10) : 1;
        size_t room = (bytes + slide * (size_t)steps + 4095) / 4096 * 4096;
        unsigned char *chain[2];
        for (int i = 0; i < 2; i++) {
            chain[i] = must(aligned_alloc(4096, room));
            memset(chain[i], rank, room);
        }
        ring(chain, (int)bytes, slide, steps, left, right); /* warm-up */
        if (rank == 0)
            printf("{\"size\": %zu, \"loop\": %ld, \"samples\": [", bytes, steps);
        for (long sample = 0; sample < samples; sample++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = now();
            ring(chain, (int)bytes, slide, steps, left, right);
            double mine = (now() - start) / (double)steps, slowest;
            MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (rank == 0)
                printf("%s%.9e", sample ? ", " : "", slowest);
        }
        if (rank == 0)
            printf("]}\n");
        for (int i = 0; i < 2; i++)
            free(chain[i]);
    }
    MPI_Finalize();
    return 0;
}
