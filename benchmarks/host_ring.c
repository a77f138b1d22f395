/* host_ring.c - the least a ring of MPI_Sendrecv costs: the yardstick of `host`.
 *
 * mpirun -n RANKS host_ring SAMPLES SIZE:STEPS:SLIDE...
 * In odd steps every rank sends SIZE bytes to its right, in even steps to its left
 * neighbour; what came is sent next, SLIDE bytes further on: `samples`. In turn with them others
 * are taken in place: `in_place`. One JSON line per size; samples in seconds per step, each the
 * maximum over the ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yardstick.h"

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
        size_t at = slide * (size_t)(i + 1), came = at + slide / 2;
        MPI_Sendrecv(chain[i % 2] + at, bytes, MPI_BYTE, to, 0,
                     chain[(i + 1) % 2] + came, bytes, MPI_BYTE, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    long samples = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    double *seconds[2];
    for (int slides = 0; slides < 2; slides++)
        seconds[slides] = must(calloc((size_t)samples + 1, sizeof **seconds));
    for (int arg = 2; arg < argc; arg++) {
        unsigned long bytes, slide;
        long steps;
        if (sscanf(argv[arg], "%lu:%ld:%lu", &bytes, &steps, &slide) != 3)
            MPI_Abort(MPI_COMM_WORLD, 1);
        unsigned char *chains[2][2];
        for (int slides = 0; slides < 2; slides++) {
            size_t room =
                (bytes + slide * (size_t)(steps + 1) * (size_t)slides + 4095) / 4096;
            for (int i = 0; i < 2; i++) {
                chains[slides][i] = must(aligned_alloc(4096, room * 4096));
                memset(chains[slides][i], rank, room * 4096);
            }
        }
        for (long sample = -2; sample < 2 * samples; sample++) { /* two to warm up */
            int slides = sample & 1;
            MPI_Barrier(MPI_COMM_WORLD);
            double start = now();
            ring(chains[slides], (int)bytes, slides ? slide : 0, steps, left, right);
            double mine = (now() - start) / (double)steps, slowest;
            MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (sample >= 0)
                seconds[slides][sample / 2] = slowest;
        }
        if (rank == 0) {
            printf("{\"size\": %lu, \"loop\": %ld", bytes, steps);
            samples_print("in_place", samples, seconds[0]);
            samples_print("samples", samples, seconds[1]);
            printf("}\n");
        }
        for (int i = 0; i < 4; i++)
            free(chains[i / 2][i % 2]);
    }
    for (int slides = 0; slides < 2; slides++)
        free(seconds[slides]);
    MPI_Finalize();
    return 0;
}
