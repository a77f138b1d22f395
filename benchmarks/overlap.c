/* overlap.c - do a copy and a kernel of one device run at the same time?
 *
 * overlap [DEVICE [MIB]]: times a copy alone, a kernel alone, and both in two queues of the
 * runtime `opencl`, a write and a read alike. The kernel is made as long as the copy. Target:
 * both together take at most 1.15 of the longer one. On a CPU both need the same cores and
 * the same memory, so that the ratio says less there. What the device says of both commands
 * stands below each row: when they began and ended, by its own clock.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "device.h"

extern const hf_device_ops hf_device_opencl;

static const hf_device_ops *const ops = &hf_device_opencl;
static hf_device *device;
static hf_kernel *chain;
static hf_buffer *there, *pinned, *words;

enum { ITEMS = 1 << 18, REPS = 21 };
static const double TARGET = 1.15;

/* Registers only: the kernel does not compete for memory. */
static const char source[] =
    "__kernel void chain(__global uint *words, uint rounds) {"
    "    uint x = (uint)get_global_id(0);"
    "    for (uint k = 0; k < rounds; k++) x = x * 1664525u + 1013904223u;"
    "    words[get_global_id(0)] = x;"
    "}";

static void must(hf_status status, const char *call) {
    if (status == HF_OK)
        return;
    fprintf(stderr, "overlap: %s: %s\n", call, hf_error());
    exit(1);
}
#define MUST(call) must(call, #call)

static void device_open(const char *selector, size_t bytes) {
    unsigned char *binary;
    size_t length;
    MUST(ops->open(&device, selector, 0, &(hf_vendors){0}));
    device->deadline = 60;
    MUST(ops->profile(device));
    MUST(ops->build(device, source, "", &binary, &length));
    MUST(ops->load(device, "overlap", binary, length));
    free(binary);
    MUST(ops->kernel(&chain, device, "chain", 0));
    MUST(ops->alloc(&there, device, bytes, NULL));
    MUST(ops->alloc(&words, device, ITEMS * sizeof(uint32_t), NULL));
    MUST(ops->pin(&pinned, device, NULL, bytes));
    memset(pinned->host, 1, bytes);
}

static void device_close(void) {
    ops->free(pinned);
    ops->free(words);
    ops->free(there);
    ops->kernel_free(chain);
    ops->close(device);
}

/* Of the kernel and the copy that ran last, start and end on the device's clock [ns]. */
static uint64_t spans[2][2];

/* Seconds of a kernel of so many rounds (0: none) beside a copy (0: none, 1: to the device,
 * 2: from it). */
static double together(uint32_t rounds, int copies) {
    const hf_arg args[] = {{.buffer = words},
                           {.value = &rounds, .bytes = sizeof rounds}};
    const hf_launch launch = {
        .kernel = chain, .args = args, .n_args = 2, .items = ITEMS};
    const hf_order copying = {.queue = 1}, computing = {.queue = 2};
    hf_event *events[2] = {NULL, NULL};
    double start = hf_clock_now();
    if (rounds)
        MUST(ops->launch(device, &launch, &computing, &events[0]));
    if (copies == 1)
        MUST(ops->write(device, there, 0, pinned->host, there->bytes, &copying,
                        &events[1]));
    if (copies == 2)
        MUST(ops->read(device, there, 0, pinned->host, there->bytes, &copying,
                       &events[1]));
    for (int i = 0; i < 2; i++) {
        MUST(ops->wait(device, events[i]));
        if (events[i])
            MUST(ops->times(device, spans[i]));
    }
    return hf_clock_now() - start;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(uint32_t rounds, int copies) {
    double seconds[REPS];
    together(rounds, copies);
    for (int i = 0; i < REPS; i++)
        seconds[i] = together(rounds, copies);
    qsort(seconds, REPS, sizeof *seconds, ascending);
    return seconds[REPS / 2];
}

int main(int argc, char **argv) {
    size_t bytes = (size_t)(argc > 2 ? atoi(argv[2]) : 64) << 20;
    bool met = true;
    if (argc > 3 || bytes == 0)
        return fprintf(stderr, "overlap [DEVICE [MIB]]\n"), 2;
    device_open(argc > 1 ? argv[1] : "", bytes);
    printf("%s, %zu MiB between pinned host memory and the device\n", device->info.name,
           bytes >> 20);
    printf("%-6s %10s %10s %10s %16s\n", "copy", "copy [ms]", "kernel", "both",
           "both / longer");
    for (int copies = 1; copies <= 2; copies++) {
        double copy = median(0, copies), kernel = 0;
        uint32_t rounds = 1000;
        for (int trial = 0; trial < 4; trial++) {
            kernel = median(rounds, 0);
            if (trial < 3)
                rounds = (uint32_t)(rounds * copy / kernel) + 1;
        }
        double both = median(rounds, copies);
        double ratio = both / (copy > kernel ? copy : kernel);
        met &= ratio <= TARGET;
        printf("%-6s %10.3f %10.3f %10.3f %10.3f (%.2f)\n",
               copies == 1 ? "write" : "read", copy * 1e3, kernel * 1e3, both * 1e3,
               ratio, TARGET);
        uint64_t began = spans[0][0] < spans[1][0] ? spans[0][0] : spans[1][0];
        for (int i = 0; i < 2; i++)
            printf("       %s from %.3f to %.3f ms\n", i ? "copy  " : "kernel",
                   1e-6 * (double)(spans[i][0] - began),
                   1e-6 * (double)(spans[i][1] - began));
    }
    device_close();
    return met ? 0 : (printf("target missed\n"), 1);
}
