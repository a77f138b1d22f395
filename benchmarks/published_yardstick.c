/* published_yardstick.c - kernels of the published suite on a CPU device, as they are.
 *
 * cc -O3 published_yardstick.c -o published_yardstick -lOpenCL
 * published_yardstick KERNEL FOLDER N REPETITIONS prints the best rate of a kernel of
 * https://github.com/pc2/HPCC_FPGA, checked out in FOLDER, with the knobs that the pipelines
 * of hpccfpga have by default. The suite's builds for the 520N board have a larger buffer in
 * stream, and in gemm blocks of 512 instead of 256 and a GLOBAL_MEM_UNROLL of 8 instead of 16:
 *     stream        triad of N floats [B/s]
 *     randomaccess  4 N updates of N words [1/s]
 *     gemm          N x N floats [FLOP/s]
 * The suite's generator of code only adds numbers to names, so a compiler can do without.
 */
#define _POSIX_C_SOURCE          200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ARGS = 9, GENERATORS = 32 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "published_yardstick: %s failed\n", what);
        exit(1);
    }
}

/* The first CPU that OpenCL knows. */
static void device_open(void) {
    cl_platform_id platforms[16];
    cl_uint n = 0;
    cl_int error = clGetPlatformIDs(16, platforms, &n);
    for (cl_uint p = 0; error == CL_SUCCESS && p < n && !device; p++)
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_CPU, 1, &device, NULL))
            device = NULL;
    check(device != NULL, "search for a CPU device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error == CL_SUCCESS, "context");
    queue = clCreateCommandQueue(context, device, 0, &error);
    check(error == CL_SUCCESS, "queue");
}

/* What the suite's build would write into parameters.h comes as options. */
static cl_kernel kernel_build(const char *folder, const char *file, const char *name,
                              const char *options) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "r");
    check(stream != NULL, path);
    static char source[1 << 18];
    size_t length = fread(source, 1, sizeof source - 1, stream);
    fclose(stream);
    char *include = strstr(source, "#include \"parameters.h\"");
    if (include)
        memset(include, ' ', strlen("#include \"parameters.h\""));
    const char *text = source;
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, &length, &error);
    check(error == CL_SUCCESS, path);
    check(clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS, path);
    cl_kernel kernel = clCreateKernel(program, name, &error);
    check(error == CL_SUCCESS, name);
    return kernel;
}

static cl_mem buffer_make(const void *data, size_t bytes) {
    cl_int error;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, (void *)data, &error);
    check(error == CL_SUCCESS, "memory");
    return buffer;
}

typedef struct argument {
    size_t bytes;
    const void *value;
} argument;

/* Seconds of the best of `reps` runs after a first one. */
static double best_of(cl_kernel kernel, const argument *args, cl_uint n, int reps) {
    double best = 1e30;
    for (cl_uint i = 0; i < n; i++)
        check(clSetKernelArg(kernel, i, args[i].bytes, args[i].value) == CL_SUCCESS,
              "argument");
    for (int rep = 0; rep <= reps; rep++) {
        size_t one = 1;
        double start = now();
        cl_int error =
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        check(error == CL_SUCCESS && clFinish(queue) == CL_SUCCESS, "run");
        double seconds = now() - start;
        if (rep > 0 && seconds < best)
            best = seconds;
    }
    return best;
}

static void result_read(cl_mem buffer, void *data, size_t bytes) {
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL) ==
              CL_SUCCESS,
          "read");
}

static void *memory(size_t bytes) {
    void *data = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    check(data != NULL, "memory");
    return data;
}

static double stream(const char *folder, size_t n, int reps) {
    enum { TRIAD = 3 };
    cl_kernel kernel = kernel_build(
        folder, "STREAM/src/device/stream_kernels_single.cl", "calc_",
        "-DDATA_TYPE_SIZE=4 -DDEVICE_ARRAY_DATA_TYPE=float16 -DVECTOR_COUNT=16 "
        "-DDEVICE_SCALAR_DATA_TYPE=float -DUNROLL_COUNT=1 -DBUFFER_SIZE=256 "
        "-DINNER_LOOP_BUFFERS -DADD_KERNEL_TYPE=2 -DTRIAD_KERNEL_TYPE=3");
    float *a = memory(n * sizeof *a), scalar = 3;
    cl_uint size = (cl_uint)n, operation = TRIAD;
    for (size_t i = 0; i < n; i++)
        a[i] = (float)(i % 1024);
    cl_mem one = buffer_make(a, n * sizeof *a), two = buffer_make(a, n * sizeof *a);
    cl_mem out = buffer_make(a, n * sizeof *a);
    const argument args[] = {
        {sizeof one, &one},       {sizeof two, &two},   {sizeof out, &out},
        {sizeof scalar, &scalar}, {sizeof size, &size}, {sizeof operation, &operation},
    };
    double seconds = best_of(kernel, args, 6, reps);
    result_read(out, a, n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        check(a[i] == 4 * (float)(i % 1024), "triad");
    return 3 * (double)n * sizeof *a / seconds;
}

static double randomaccess(const char *folder, size_t n, int reps) {
    cl_kernel kernel = kernel_build(
        folder, "RandomAccess/src/device/random_access_kernels_single.cl",
        "accessMemory_",
        "-DDEVICE_DATA_TYPE=long -DDEVICE_DATA_TYPE_UNSIGNED=ulong -DSINGLE_KERNEL "
        "-DHPCC_FPGA_RA_RNG_COUNT_LOG=5 -DHPCC_FPGA_RA_RNG_DISTANCE=5 "
        "-DGLOBAL_MEM_UNROLL_LOG=0 -DBUFFER_SIZE=1");
    cl_ulong *words = memory(n * sizeof *words), starts[GENERATORS], size = n;
    cl_uint zero = 0;
    for (size_t i = 0; i < n; i++)
        words[i] = i;
    for (cl_ulong i = 0; i < GENERATORS; i++)
        starts[i] = (i + 1) * 0x9e3779b97f4a7c15u;
    cl_mem table = buffer_make(words, n * sizeof *words);
    cl_mem first = buffer_make(starts, sizeof starts);
    const argument args[] = {
        {sizeof table, &table}, {sizeof first, &first}, {sizeof size, &size},
        {sizeof size, &size},   {sizeof zero, &zero},   {sizeof zero, &zero},
    };
    reps |= 1; /* and the first: after an even number of runs all is as it was */
    double seconds = best_of(kernel, args, 6, reps);
    result_read(table, words, n * sizeof *words);
    size_t wrong = 0; /* a few: slots of the shift register that hold no number yet */
    for (size_t i = 0; i < n; i++)
        wrong += words[i] != i;
    check(wrong * 100 <= n, "1 % of the updates");
    return 4 * (double)n / seconds;
}

static double gemm(const char *folder, size_t n, int reps) {
    enum { BLOCK = 256 };
    check(n % BLOCK == 0, "a size that is no multiple of 256");
    cl_kernel kernel = kernel_build(
        folder, "GEMM/src/device/gemm_base.cl", "gemm",
        "-DDATA_TYPE_SIZE=4 -DDEVICE_DATA_TYPE=float -DBLOCK_SIZE=256 -DGEMM_BLOCK=8 "
        "-DGLOBAL_MEM_UNROLL=16");
    float *m = memory(n * n * sizeof *m), half = 0.5f;
    cl_uint blocks = (cl_uint)(n / BLOCK), zero = 0;
    for (size_t i = 0; i < n * n; i++)
        m[i] = (float)(i * 2654435761u % 61) / 64;
    cl_mem a = buffer_make(m, n * n * sizeof *m),
           out = buffer_make(m, n * n * sizeof *m);
    const argument args[] = {
        {sizeof a, &a},           {sizeof a, &a},       {sizeof a, &a},
        {sizeof out, &out},       {sizeof half, &half}, {sizeof half, &half},
        {sizeof blocks, &blocks}, {sizeof zero, &zero}, {sizeof blocks, &blocks},
    };
    double seconds = best_of(kernel, args, MAX_ARGS, reps);
    float *c = memory(n * n * sizeof *c);
    result_read(out, c, n * n * sizeof *c);
    for (size_t i = 0; i < n; i++) {
        double sum = m[i * n + i];
        for (size_t k = 0; k < n; k++)
            sum += (double)m[i * n + k] * (double)m[k * n + i];
        double off = c[i * n + i] - sum / 2;
        check(off * off < 1e-6 * sum * sum, "product");
    }
    return 2 * (double)n * (double)n * (double)n / seconds;
}

int main(int argc, char **argv) {
    const char *names[] = {"stream", "randomaccess", "gemm"};
    double (*const runs[])(const char *, size_t, int) = {stream, randomaccess, gemm};
    size_t n = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
    int reps = argc > 4 ? atoi(argv[4]) : 0;
    for (int i = 0; i < 3 && n > 0 && reps > 0; i++)
        if (strcmp(argv[1], names[i]) == 0) {
            device_open();
            printf("%.6g\n", runs[i](argv[2], n, reps));
            return 0;
        }
    fprintf(stderr, "usage: published_yardstick stream|randomaccess|gemm FOLDER N "
                    "REPETITIONS\n");
    return 2;
}
