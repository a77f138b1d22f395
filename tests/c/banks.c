/* banks.c - how buffers tell a vendor's runtime their memory, in flags or behind the pointer
 * of an extension, and kernels their compute unit, in their name.
 *
 * The linker leads the calls through here (--wrap); no other runtime would take them.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "device.h"

extern const hf_device_ops hf_device_opencl;

static cl_mem_flags flags;
static struct { /* the extension; all-zero without one */
    unsigned flags;
    void *host, *kernel;
} extended;
static char asked_name[160];

cl_mem __real_clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_mem __wrap_clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags asked, size_t bytes,
                             void *host, cl_int *code) {
    flags = asked;
    memset(&extended, 0, sizeof extended);
    if (host)
        memcpy(&extended, host, sizeof extended);
    return __real_clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, code);
}

/* Programs and kernels are names alone: to compile one takes ten seconds under sanitizers. */
cl_program __wrap_clCreateProgramWithBinary(cl_context, cl_uint, const cl_device_id *,
                                            const size_t *, const unsigned char **,
                                            cl_int *, cl_int *);
cl_program __wrap_clCreateProgramWithBinary(cl_context context, cl_uint n,
                                            const cl_device_id *devices,
                                            const size_t *bytes,
                                            const unsigned char **binary,
                                            cl_int *verdict, cl_int *code) {
    (void)context, (void)n, (void)devices, (void)bytes, (void)binary;
    *verdict = *code = CL_SUCCESS;
    return (cl_program) "program";
}

typedef void(CL_CALLBACK built_fn)(cl_program, void *);
cl_int __wrap_clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *,
                             built_fn *, void *);
cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                             const char *options, built_fn *built, void *context) {
    (void)program, (void)n, (void)devices, (void)options, (void)built, (void)context;
    return CL_SUCCESS;
}

cl_int __wrap_clReleaseProgram(cl_program);
cl_int __wrap_clReleaseProgram(cl_program which) {
    (void)which;
    return CL_SUCCESS;
}

cl_kernel __wrap_clCreateKernel(cl_program, const char *, cl_int *);
cl_kernel __wrap_clCreateKernel(cl_program program, const char *name, cl_int *code) {
    (void)program;
    *code = CL_SUCCESS;
    snprintf(asked_name, sizeof asked_name, "%s", name);
    return (cl_kernel) "kernel";
}

cl_int __wrap_clReleaseKernel(cl_kernel);
cl_int __wrap_clReleaseKernel(cl_kernel which) {
    (void)which;
    return CL_SUCCESS;
}

static void alloc(hf_device *device, const char *platform, const hf_spot *spot) {
    hf_buffer *buffer = NULL;
    snprintf(device->info.platform, sizeof device->info.platform, "%s", platform);
    CHECK(device->ops->alloc(&buffer, device, 4096, spot) == HF_OK, "%s", hf_error());
    device->ops->free(buffer);
}

/* Kernels of several compute units, and buffers where their arguments lie. */
static void kernel_test(hf_device *device) {
    static const struct {
        const char *platform;
        unsigned unit;
        const char *name;
    } cases[] = {
        {"Xilinx", 0, "k"}, {"Xilinx", 3, "k:{k_3}"}, {"Intel(R) FPGA", 3, "k"}};
    const hf_device_ops *ops = device->ops;
    CHECK(ops->load(device, "k", (const unsigned char *)"k", 1) == HF_OK, "%s",
          hf_error());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_kernel *kernel;
        snprintf(device->info.platform, sizeof device->info.platform, "%s",
                 cases[i].platform);
        CHECK(ops->kernel(&kernel, device, "k", cases[i].unit) == HF_OK, "%s",
              hf_error());
        CHECK(strcmp(asked_name, cases[i].name) == 0, "%s", asked_name);
        bool xilinx = i < 2;
        alloc(device, cases[i].platform, &(hf_spot){.kernel = kernel, .arg = 1});
        CHECK(flags == (CL_MEM_READ_WRITE | (xilinx ? 1U << 31 : 0)), "%s: flags %llx",
              cases[i].platform, (unsigned long long)flags);
        CHECK(extended.flags == xilinx && (extended.kernel == kernel) == xilinx);
        alloc(device, "Xilinx", &(hf_spot){.kernel = kernel, .arg = 1, .bank = 5});
        CHECK(extended.flags == (1U << 31 | 4) && !extended.kernel,
              "a bank comes first");
        ops->kernel_free(kernel);
    }
}

int main(void) {
    static const struct {
        const char *platform;
        int bank;
        cl_mem_flags flags;
        unsigned extended;
    } cases[] = {
        {"Intel(R) FPGA SDK for OpenCL(TM)", -1, 0, 0},
        {"Intel(R) FPGA SDK for OpenCL(TM)", 0, 1U << 16,
         0}, /* CL_CHANNEL_1_INTELFPGA */
        {"Intel(R) FPGA SDK for OpenCL(TM)", 1, 2U << 16, 0},
        {"Intel(R) FPGA SDK for OpenCL(TM)", 6, 7U << 16, 0},
        {"Xilinx", -1, 0, 0},
        {"Xilinx", 0, 1U << 31, 1U << 31}, /* CL_MEM_EXT_PTR_XILINX, XCL_MEM_TOPOLOGY */
        {"Xilinx", 1, 1U << 31, 1U << 31 | 1},
        {"Xilinx", 33, 1U << 31, 1U << 31 | 33},
        {"Portable Computing Language", 1, 0, 0},
    };
    hf_device *device;
    if (hf_device_opencl.open(&device, "", 0, NULL) != HF_OK)
        return fprintf(stderr, "%s\n", hf_error()), 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hf_spot spot = {.bank = (unsigned)(cases[i].bank + 1)};
        alloc(device, cases[i].platform, &spot);
        CHECK(flags == (cases[i].flags | CL_MEM_READ_WRITE), "%s, bank %d: flags %llx",
              cases[i].platform, cases[i].bank, (unsigned long long)flags);
        CHECK(extended.flags == cases[i].extended && !extended.kernel,
              "%s, bank %d: %x", cases[i].platform, cases[i].bank, extended.flags);
    }
    hf_buffer *buffer = NULL;
    snprintf(device->info.platform, sizeof device->info.platform, "Intel(R) FPGA SDK");
    CHECK(device->ops->alloc(&buffer, device, 4096, &(hf_spot){.bank = 8}) == HF_EARG &&
          !buffer);
    CHECK(strstr(hf_error(), "bank 7: this runtime places buffers in banks 0 to 6"));
    kernel_test(device);
    device->ops->close(device);
    return check_failures != 0;
}
