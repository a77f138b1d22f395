/* published_yardstick.c - kernels of the published suite on a CPU device, as they are.
 *
 * cc -O3 published_yardstick.c -o published_yardstick -lOpenCL -lm
 * published_yardstick KERNEL FOLDER N REPETITIONS prints the best rate of a kernel of
 * https://github.com/pc2/HPCC_FPGA, checked out in FOLDER, with the knobs that the pipelines
 * of hpccfpga have by default. The suite's builds for the 520N board have a larger buffer in
 * stream, and in gemm blocks of 512 instead of 256 and a GLOBAL_MEM_UNROLL of 8 instead of 16:
 *     stream        triad of N floats [B/s]
 *     randomaccess  4 N updates of N words [1/s]
 *     gemm          N x N floats [FLOP/s]
 *     linpack       factorisation of N x N floats in blocks of 256, without pivoting [FLOP/s]
 * The suite's generator of code only adds numbers to names, so a compiler can do without. In
 * linpack two queues take the blocks of an iteration in turns, as on a board with two
 * replications, and an iteration ends before the next begins.
 */
#define _POSIX_C_SOURCE          200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yardstick.h"

enum { MAX_ARGS = 9, GENERATORS = 32 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

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

/* Its generator's words, in {% %} and {{ }}, become blanks. */
static void words_blank(char *source) {
    for (char *at = source; (at = strchr(at, '{')); at++) {
        const char *ends = at[1] == '%' ? "%}" : "}}";
        char *end = at[1] == '%' || at[1] == '{' ? strstr(at, ends) : NULL;
        if (end)
            memset(at, ' ', (size_t)(end - at) + 2);
    }
}

/* What the suite's build would write into parameters.h comes as options. */
static cl_program program_build(const char *folder, const char *file,
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
    words_blank(source);
    const char *text = source;
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, &length, &error);
    check(error == CL_SUCCESS, path);
    check(clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS, path);
    return program;
}

static cl_kernel kernel_of(cl_program program, const char *name) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    check(error == CL_SUCCESS, name);
    return kernel;
}

static cl_kernel kernel_build(const char *folder, const char *file, const char *name,
                              const char *options) {
    return kernel_of(program_build(folder, file, options), name);
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

/* ---- linpack ---- */

enum { LU_BLOCK = 256, TURNS = 2 };

typedef struct lu {
    cl_kernel diagonal, top, left, inner;
    cl_command_queue queues[TURNS];
    cl_mem a, l, u, *lefts, *tops; /* packed blocks: of the diagonal, of an iteration */
    cl_uint blocks;
} lu;

/* Block (row, column) is the work of one launch; behind three buffers, or two and a flag. */
static void block_run(const lu *s, cl_command_queue q, cl_kernel kernel, cl_mem one,
                      cl_mem other, const cl_uint *first, cl_uint row, cl_uint column) {
    const size_t work = 1;
    const argument args[] = {{sizeof s->a, &s->a},          {sizeof one, &one},
                             {sizeof other, &other},        {sizeof *first, first},
                             {sizeof column, &column},      {sizeof row, &row},
                             {sizeof s->blocks, &s->blocks}};
    cl_uint n = 0;
    for (size_t i = 0; i < sizeof args / sizeof args[0]; i++)
        if (args[i].value)
            check(clSetKernelArg(kernel, n++, args[i].bytes, args[i].value) ==
                      CL_SUCCESS,
                  "argument");
    check(clEnqueueNDRangeKernel(q, kernel, 1, NULL, &work, &work, 0, NULL, NULL) ==
              CL_SUCCESS,
          "launch");
}

static void queues_finish(const lu *s) {
    for (int i = 0; i < TURNS; i++)
        clFlush(s->queues[i]);
    for (int i = 0; i < TURNS; i++)
        check(clFinish(s->queues[i]) == CL_SUCCESS, "run");
}

static void factor(const lu *s) {
    for (cl_uint k = 0; k < s->blocks; k++) {
        unsigned turn = 0;
        block_run(s, s->queues[0], s->diagonal, s->l, s->u, NULL, k, k);
        queues_finish(s);
        for (cl_uint i = k + 1; i < s->blocks; i++) {
            cl_uint first = i == k + 1;
            block_run(s, s->queues[0], s->top, s->tops[i], s->l, &first, k, i);
            block_run(s, s->queues[1], s->left, s->lefts[i], s->u, &first, i, k);
        }
        queues_finish(s);
        for (cl_uint i = k + 1; i < s->blocks; i++)
            for (cl_uint j = k + 1; j < s->blocks; j++)
                block_run(s, s->queues[turn++ % TURNS], s->inner, s->lefts[i],
                          s->tops[j], NULL, i, j);
        queues_finish(s);
    }
}

/* L has -1 / its diagonal, U without its own of ones the other sign. */
static void factors_check(const float *lu, const float *a, size_t n) {
    for (size_t i = 0; i < n; i += 37)
        for (size_t j = i % 41; j < n; j += 41) {
            double sum = 0;
            for (size_t k = 0; k <= i && k <= j; k++) {
                double l = k < i ? lu[i * n + k] : -1 / lu[i * n + k];
                sum += k < j ? -l * lu[k * n + j] : l;
            }
            check(fabs(sum - a[i * n + j]) < 1e-6 * (double)n, "factorisation");
        }
}

static double linpack(const char *folder, size_t n, int reps) {
    check(n % LU_BLOCK == 0, "a size that is no multiple of 256");
    cl_program program =
        program_build(folder, "LINPACK/src/device/hpl_torus_PCIE.cl",
                      "-DDEVICE_DATA_TYPE=float -DLOCAL_MEM_BLOCK_LOG=8 "
                      "-DREGISTER_BLOCK_LOG=3 -DREGISTER_BLOCK_MM_LOG=3 "
                      "-DINTEL_FPGA -D__fpga_reg(x)=x");
    size_t bytes = n * n * sizeof(float), block = LU_BLOCK * LU_BLOCK * sizeof(float);
    lu s = {.diagonal = kernel_of(program, "lu"),
            .top = kernel_of(program, "top_update"),
            .left = kernel_of(program, "left_update"),
            .inner = kernel_of(program, "inner_update_mm"),
            .blocks = (cl_uint)(n / LU_BLOCK)};
    float *a = memory(bytes), *found = memory(bytes);
    for (size_t i = 0; i < n * n; i++)
        a[i] = i % (n + 1) == 0 ? (float)n / 2
                                : (float)((i * 2654435761u >> 8) % 4096) / 4096 - 0.5f;
    s.a = buffer_make(a, bytes);
    s.l = buffer_make(a, block);
    s.u = buffer_make(a, block);
    s.lefts = calloc(2 * s.blocks, sizeof *s.lefts);
    check(s.lefts != NULL, "memory");
    s.tops = s.lefts + s.blocks;
    for (size_t i = 0; i < 2 * s.blocks; i++)
        s.lefts[i] = buffer_make(a, block);
    for (int i = 0; i < TURNS; i++)
        s.queues[i] = clCreateCommandQueue(context, device, 0, NULL);
    double best = 1e30;
    for (int rep = 0; rep <= reps; rep++) {
        check(clEnqueueWriteBuffer(queue, s.a, CL_TRUE, 0, bytes, a, 0, NULL, NULL) ==
                  CL_SUCCESS,
              "write");
        double start = now();
        factor(&s);
        best = rep > 0 ? fmin(best, now() - start) : best;
    }
    result_read(s.a, found, bytes);
    factors_check(found, a, n);
    return 2 * pow((double)n, 3) / 3 / best;
}

int main(int argc, char **argv) {
    const char *names[] = {"stream", "randomaccess", "gemm", "linpack"};
    double (*const runs[])(const char *, size_t, int) = {stream, randomaccess, gemm,
                                                         linpack};
    size_t n = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
    int reps = argc > 4 ? atoi(argv[4]) : 0;
    for (int i = 0; i < 4 && n > 0 && reps > 0; i++)
        if (strcmp(argv[1], names[i]) == 0) {
            device_open();
            printf("%.6g\n", runs[i](argv[2], n, reps));
            return 0;
        }
    fprintf(stderr,
            "usage: published_yardstick stream|randomaccess|gemm|linpack FOLDER "
            "N REPETITIONS\n");
    return 2;
}
