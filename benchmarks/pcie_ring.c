/* pcie_ring.c - the least a ring between OpenCL devices costs: the yardstick of `pcie`.
 *
 * mpirun -n RANKS pcie_ring DEVICE SAMPLES SIZE:STEPS:SLIDE...
 * DEVICE is part of a platform's or a device's name, "" for any; the ranks of a node
 * take turns. In odd steps every rank sends SIZE bytes of device memory to its right,
 * in even steps to its left neighbour: read, exchange, write, one after the other. What
 * came is sent next, SLIDE bytes further on: `samples`. In turn with them others are taken in
 * place: `in_place`. One JSON line per size; samples in seconds per step, each the maximum over
 * the ranks.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yardstick.h"

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "pcie_ring: %s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static cl_device_id choose(const char *part) {
    cl_platform_id platforms[16];
    cl_device_id found[64], listed[64];
    cl_uint n_platforms = 0, n_found = 0;
    check(clGetPlatformIDs(16, platforms, &n_platforms) == CL_SUCCESS, "platforms");
    for (cl_uint p = 0; p < n_platforms && p < 16; p++) {
        char platform[128] = "", name[128] = "";
        cl_uint n = 0;
        clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform, platform,
                          NULL);
        clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 64, listed, &n);
        for (cl_uint d = 0; d < n && d < 64 && n_found < 64; d++) {
            clGetDeviceInfo(listed[d], CL_DEVICE_NAME, sizeof name, name, NULL);
            if (strstr(platform, part) || strstr(name, part))
                found[n_found++] = listed[d];
        }
    }
    check(n_found > 0, "search for a device");

    MPI_Comm node;
    int local_rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank);
    MPI_Comm_free(&node);
    return found[(cl_uint)local_rank % n_found];
}

static void ring(cl_command_queue queue, cl_mem const chain[2],
                 unsigned char *const host[2], size_t bytes, size_t slide, long steps,
                 int left, int right) {
    for (long i = 0; i < steps; i++) {
        int to = i % 2 ? left : right, from = i % 2 ? right : left;
        size_t at = slide * (size_t)(i + 1), came = at + slide / 2;
        cl_int good = clEnqueueReadBuffer(queue, chain[i % 2], CL_TRUE, at, bytes,
                                          host[0], 0, NULL, NULL);
        check(good == CL_SUCCESS, "read");
        MPI_Sendrecv(host[0], (int)bytes, MPI_BYTE, to, 0, host[1], (int)bytes,
                     MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good = clEnqueueWriteBuffer(queue, chain[(i + 1) % 2], CL_TRUE, came, bytes,
                                    host[1], 0, NULL, NULL);
        check(good == CL_SUCCESS, "write");
    }
}

/* As b_eff is settled before a sample where threads share a core: docs/adr/0047. */
static void settle(cl_command_queue queue, cl_mem chain) {
    unsigned char byte;
    for (double begin = now(); now() - begin < 3e-3;) {
        cl_int good =
            clEnqueueReadBuffer(queue, chain, CL_TRUE, 0, 1, &byte, 0, NULL, NULL);
        check(good == CL_SUCCESS, "read");
    }
}

static cl_mem chain_new(cl_context context, cl_command_queue queue, size_t bytes,
                        int value) {
    cl_int good;
    cl_mem chain = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &good);
    check(good == CL_SUCCESS, "device memory");
    void *fill = malloc(bytes);
    check(fill != NULL, "host memory");
    memset(fill, value, bytes);
    good = clEnqueueWriteBuffer(queue, chain, CL_TRUE, 0, bytes, fill, 0, NULL, NULL);
    check(good == CL_SUCCESS, "write");
    free(fill);
    return chain;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    cl_int good;
    cl_device_id device = choose(argc > 1 ? argv[1] : "");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &good);
    check(good == CL_SUCCESS, "context");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &good);
    check(good == CL_SUCCESS, "queue");

    long samples = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    double *seconds[2];
    for (int slides = 0; slides < 2; slides++) {
        seconds[slides] = calloc((size_t)samples + 1, sizeof **seconds);
        check(seconds[slides] != NULL, "memory");
    }
    for (int arg = 3; arg < argc; arg++) {
        unsigned long bytes, slide;
        long steps;
        check(sscanf(argv[arg], "%lu:%ld:%lu", &bytes, &steps, &slide) == 3, argv[arg]);
        cl_mem chains[2][2];
        unsigned char *host[2];
        for (int i = 0; i < 2; i++) {
            host[i] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
            check(host[i] != NULL, "host memory");
            memset(host[i], rank, bytes);
            chains[0][i] = chain_new(context, queue, bytes, rank);
            chains[1][i] =
                chain_new(context, queue, bytes + slide * (size_t)(steps + 1), rank);
        }
        for (long sample = -2; sample < 2 * samples; sample++) { /* two to warm up */
            int slides = sample & 1;
            settle(queue, chains[0][0]);
            MPI_Barrier(MPI_COMM_WORLD);
            double start = now();
            ring(queue, chains[slides], host, bytes, slides ? slide : 0, steps, left,
                 right);
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
            clReleaseMemObject(chains[i / 2][i % 2]);
        for (int i = 0; i < 2; i++)
            free(host[i]);
    }
    for (int slides = 0; slides < 2; slides++)
        free(seconds[slides]);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    MPI_Finalize();
    return 0;
}
