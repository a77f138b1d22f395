/* b_eff_memory_device.c - kernels/b_eff_memory.cl through a device runtime.
 *
 * b_eff_memory_device host|opencl KERNEL_FOLDER [OPTIONS]
 */
#include "b_eff_memory.h"

#include <stdlib.h>
#include <string.h>

#include "check_kernel.h"
#include "device/device.h"
#include "source.h"
#include "verdict.h"

extern const hf_device_ops hf_device_host, hf_device_opencl;

enum { GUARD = 64 };

static const hf_device_ops *ops;
static hf_device *device;
static hf_kernel *fill, *check;

#define OK(call) CHECK((call) == HF_OK, "%s: %s", #call, hf_error())

static void program_load(const char *folder, const char *more) {
    static char source[1 << 18];
    char options[1200];
    unsigned char *binary = NULL;
    size_t bytes = 0;
    if (ops == &hf_device_opencl) {
        CHECK(source_read(source, sizeof source, folder, "b_eff_memory.cl"), "%s",
              folder);
        snprintf(options, sizeof options, "-I%s %s", folder, more);
        OK(ops->build(device, source, options, &binary, &bytes));
    }
    OK(ops->load(device, "b_eff_memory", binary, bytes));
    OK(ops->load(device, "b_eff_memory", binary, bytes));
    free(binary);
    OK(ops->kernel(&fill, device, "b_eff_fill", 0));
    OK(ops->kernel(&check, device, "b_eff_check", 0));
}

/** A device buffer with `bytes` of `memory` and a guard behind it. */
static hf_buffer *guarded(const unsigned char *memory, size_t bytes) {
    static const unsigned char guard[GUARD] = {1, 2, 3, 4, 5};
    hf_buffer *buffer;
    hf_event *done;
    OK(ops->alloc(&buffer, device, bytes + GUARD, NULL));
    OK(ops->write(device, buffer, 0, memory, bytes, NULL, &done));
    OK(ops->wait(device, done));
    OK(ops->write(device, buffer, bytes, guard, GUARD, NULL, NULL));
    return buffer;
}

static void guard_check(const hf_buffer *buffer, size_t bytes) {
    unsigned char guard[GUARD];
    OK(ops->read(device, buffer, bytes, guard, GUARD, NULL, NULL));
    for (size_t i = 0; i < GUARD; i++)
        CHECK(guard[i] == (i < 5 ? i + 1 : 0), "%zu B: byte %zu behind it changed",
              bytes, i);
}

static void device_fill(unsigned char *chain, size_t bytes, size_t items,
                        uint32_t slide, uint64_t stamp) {
    hf_buffer *buffer = guarded(chain, bytes);
    uint64_t n = bytes;
    uint32_t key = a_key;
    hf_arg args[] = {{.buffer = buffer},
                     {.value = &n, .bytes = sizeof n},
                     {.value = &slide, .bytes = sizeof slide},
                     {.value = &key, .bytes = sizeof key},
                     {.value = &stamp, .bytes = sizeof stamp}};
    hf_event *done;
    OK(ops->launch(device, &(hf_launch){fill, args, 5, items, 0}, NULL, &done));
    OK(ops->wait(device, done));
    OK(ops->read(device, buffer, 0, chain, bytes, NULL, &done));
    OK(ops->wait(device, done));
    guard_check(buffer, bytes);
    ops->free(buffer);
}

static uint64_t device_count(const unsigned char *chain, const told *what,
                             size_t items) {
    hf_buffer *buffer = guarded(chain, what->bytes);
    hf_seals seals = {0};
    const hf_env env = {.device = device, .seals = &seals};
    hf_verdict verdict = {0};
    double wrong;
    OK(hf_verdict_new(&verdict, &env, items, NULL));
    hf_arg args[9 + HF_VERDICT_ARGS] = {
        {.buffer = buffer},
        {.value = &what->bytes, .bytes = sizeof what->bytes},
        {.value = &what->message, .bytes = sizeof what->message},
        {.value = &what->steps, .bytes = sizeof what->steps},
        {.value = &what->slide, .bytes = sizeof what->slide},
        {.value = &what->which, .bytes = sizeof what->which},
        {.value = &what->key, .bytes = sizeof what->key},
        {.value = &what->own, .bytes = sizeof what->own},
        {.value = &what->from, .bytes = sizeof what->from}};
    OK(hf_verdict_take(&verdict, HF_VERDICT_COUNT, check, args, 9, 0, what->bytes,
                       &wrong));
    CHECK(wrong >= 0, "no verdict");
    hf_verdict_free(&verdict);
    ops->free(buffer);
    return (uint64_t)wrong;
}

int main(int argc, char **argv) {
    CHECK(argc >= 3, "usage: %s host|opencl KERNEL_FOLDER [OPTIONS]", argv[0]);
    ops = strcmp(argv[1], "host") == 0 ? &hf_device_host : &hf_device_opencl;
    OK(ops->open(&device, "", 0, NULL));
    program_load(argv[2], argc > 3 ? argv[3] : "");
    comparisons(&(runner){device_fill, device_count});
    ops->kernel_free(fill);
    ops->kernel_free(check);
    ops->close(device);
    return 0;
}
