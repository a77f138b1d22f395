/* xrt_card.c - opened for each test, and again where a test has broken it. */
#include "xrt_card.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

volatile int gate_is_open;
hf_device *device;
hf_kernel *gate, *echo[3];
hf_buffer *words;
unsigned char *binary;
size_t binary_bytes;

void binary_take(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        exit(2);
    CHECK(fseek(file, 0, SEEK_END) == 0, "%s", path);
    binary_bytes = (size_t)ftell(file);
    binary = malloc(binary_bytes);
    CHECK(fseek(file, 0, SEEK_SET) == 0, "%s", path);
    CHECK(fread(binary, 1, binary_bytes, file) == binary_bytes, "%s", path);
    fclose(file);
}

void said(hf_status status, hf_status wanted, const char *text) {
    CHECK(status == wanted && strstr(hf_error(), text), "%d: %s, not %s", status,
          hf_error(), text);
}

void words_write(uint32_t value) {
    uint32_t all[WORDS];
    for (size_t i = 0; i < WORDS; i++)
        all[i] = value;
    OK(ops->write(device, words, 0, all, BYTES, NULL, NULL));
}

uint32_t word_read(size_t i, const hf_order *order) {
    uint32_t value = 0;
    OK(ops->read(device, words, i * sizeof value, &value, sizeof value, order, NULL));
    return value;
}

void device_open(void) {
    OK(ops->open(&device, "0", 0, NULL));
    device->deadline = 20;
    OK(ops->load(device, "xrt", binary, binary_bytes));
    OK(ops->kernel(&gate, device, "gate", 0));
    OK(ops->kernel(&echo[0], device, "echo", 1));
    OK(ops->kernel(&echo[1], device, "echo", 2));
    OK(ops->kernel(&echo[2], device, "echo", 0));
    OK(ops->alloc(&words, device, BYTES, &(hf_spot){.bank = 1}));
}

void device_close(void) {
    ops->free(words);
    ops->kernel_free(gate);
    for (int i = 0; i < 3; i++)
        ops->kernel_free(echo[i]);
    ops->close(device);
}

hf_status gate_launch(uint32_t value, const hf_order *order, hf_event **done) {
    const hf_arg args[] = {{.buffer = words}, {.value = &value, .bytes = sizeof value}};
    return ops->launch(device, &(hf_launch){.kernel = gate, .args = args, .n_args = 2},
                       order, done);
}

hf_status echo_launch(hf_kernel *kernel, hf_buffer *buffer, const values *v,
                      const hf_order *order, hf_event **done) {
    const hf_arg args[] = {{.buffer = buffer},
                           {.value = &v->single, .bytes = sizeof v->single},
                           {.value = &v->twice, .bytes = sizeof v->twice},
                           {.value = &v->number, .bytes = sizeof v->number},
                           {.value = &v->large, .bytes = sizeof v->large}};
    return ops->launch(
        device, &(hf_launch){.kernel = kernel, .args = args, .n_args = 5}, order, done);
}

bool has_ended(hf_event *event, double seconds) {
    bool ended = false;
    OK(ops->test(device, event, seconds, &ended));
    return ended;
}

void *gate_open_later(void *unused) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    gate_is_open = 1;
    return unused;
}
