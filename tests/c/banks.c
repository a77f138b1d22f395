/* banks.c - how buffers tell a vendor's runtime their memory bank: in flags, or behind the
 * pointer of an extension.
 *
 * The linker leads the call through here (--wrap); no other runtime would take it.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "device.h"

extern const hf_device_ops hf_device_opencl;

static cl_mem_flags flags;
static unsigned extended; /* the extension's own flags; 0 without one */

cl_mem __real_clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_mem __wrap_clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags asked, size_t bytes,
                             void *host, cl_int *code) {
    flags = asked;
    extended = 0;
    if (host)
        memcpy(&extended, host, sizeof extended);
    return __real_clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, code);
}

static void alloc(hf_device *device, const char *platform, int bank) {
    hf_buffer *buffer = NULL;
    snprintf(device->info.platform, sizeof device->info.platform, "%s", platform);
    CHECK(device->ops->alloc(&buffer, device, 4096, bank) == HF_OK, "%s", hf_error());
    device->ops->free(buffer);
}

int main(void) {
    static const struct {
        const char *platform;
        int bank;
        cl_mem_flags flags;
        unsigned extended;
    } cases[] = {
        {"Intel(R) FPGA SDK for OpenCL(TM)", HF_ANY_BANK, 0, 0},
        {"Intel(R) FPGA SDK for OpenCL(TM)", 0, 1U << 16,
         0}, /* CL_CHANNEL_1_INTELFPGA */
        {"Intel(R) FPGA SDK for OpenCL(TM)", 1, 2U << 16, 0},
        {"Intel(R) FPGA SDK for OpenCL(TM)", 6, 7U << 16, 0},
        {"Xilinx", HF_ANY_BANK, 0, 0},
        {"Xilinx", 0, 1U << 31, 1U << 31}, /* CL_MEM_EXT_PTR_XILINX, XCL_MEM_TOPOLOGY */
        {"Xilinx", 1, 1U << 31, 1U << 31 | 1},
        {"Xilinx", 33, 1U << 31, 1U << 31 | 33},
        {"Portable Computing Language", 1, 0, 0},
    };
    hf_device *device;
    if (hf_device_opencl.open(&device, "", 0, NULL) != HF_OK)
        return fprintf(stderr, "%s\n", hf_error()), 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        alloc(device, cases[i].platform, cases[i].bank);
        CHECK(flags == (cases[i].flags | CL_MEM_READ_WRITE), "%s, bank %d: flags %llx",
              cases[i].platform, cases[i].bank, (unsigned long long)flags);
        CHECK(extended == cases[i].extended, "%s, bank %d: %x", cases[i].platform,
              cases[i].bank, extended);
    }
    hf_buffer *buffer = NULL;
    snprintf(device->info.platform, sizeof device->info.platform, "Intel(R) FPGA SDK");
    CHECK(device->ops->alloc(&buffer, device, 4096, 7) == HF_EARG && !buffer);
    CHECK(strstr(hf_error(), "bank 7: this runtime places buffers in banks 0 to 6"));
    device->ops->close(device);
    return check_failures != 0;
}
