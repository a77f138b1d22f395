/* pages.c - large buffers of a CPU lie in large pages of the host, which go with them, whatever
 * fails.
 *
 * The linker leads allocations and the runtime's calls through here (--wrap), where they are
 * counted and made to fail.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "core/pages.h"
#include "device.h"
#include "scarce.h"

enum { LINE = 64, MOST = 1024 * LINE /* before a begin */, MANY = 64 };

extern const hf_device_ops hf_device_opencl;

static hf_device *device;
static char *pages;        /* those that were handed out last */
static size_t room;        /* that was asked for there [B] */
static long n_pages, left; /* handed out so far; of them, those that nobody freed */
static char *taken[2 * MANY];
static long n_mems;    /* buffers of the runtime that nobody has released */
static const char *at; /* where the last lies, in memory of the host; else NULL */
static int refusing;   /* 1: clCreateBuffer; 2: clSetMemObjectDestructorCallback */

void *__real_hf_pages_new(size_t);
void *__wrap_hf_pages_new(size_t);
void *__wrap_hf_pages_new(size_t bytes) {
    pages = __real_hf_pages_new(room = bytes);
    size_t i = 0;
    while (i < 2 * MANY - 1 && taken[i])
        i++;
    taken[i] = pages;
    n_pages++;
    left += pages != NULL;
    return pages;
}

void __real_free(void *);
void __wrap_free(void *);
void __wrap_free(void *memory) {
    for (size_t i = 0; memory && i < 2 * MANY; i++)
        if (taken[i] == memory) {
            taken[i] = NULL;
            left--;
        }
    __real_free(memory);
}

cl_mem __real_clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_mem __wrap_clCreateBuffer(cl_context, cl_mem_flags, size_t, void *, cl_int *);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes,
                             void *host, cl_int *code) {
    *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_mem mem =
        refusing == 1 ? NULL : __real_clCreateBuffer(context, flags, bytes, host, code);
    at = host;
    n_mems += mem != NULL;
    return mem;
}

cl_int __real_clReleaseMemObject(cl_mem);
cl_int __wrap_clReleaseMemObject(cl_mem);
cl_int __wrap_clReleaseMemObject(cl_mem mem) {
    n_mems--;
    return __real_clReleaseMemObject(mem);
}

typedef void(CL_CALLBACK *notify)(cl_mem, void *);
cl_int __real_clSetMemObjectDestructorCallback(cl_mem, notify, void *);
cl_int __wrap_clSetMemObjectDestructorCallback(cl_mem, notify, void *);
cl_int __wrap_clSetMemObjectDestructorCallback(cl_mem mem, notify call, void *data) {
    return refusing == 2 ? CL_OUT_OF_HOST_MEMORY
                         : __real_clSetMemObjectDestructorCallback(mem, call, data);
}

/* All that was taken has come back. */
static void none_left(const char *after, size_t bytes) {
    CHECK(left == 0 && n_mems == 0, "%s of %zu B: %ld in pages, %ld of the runtime",
          after, bytes, left, n_mems);
}

/* The bytes at both ends come back; they lie within the pages, at a line's begin. */
static void size_test(size_t bytes) {
    hf_buffer *buffer = NULL;
    const char first = 'f', last = 'l';
    char ends[2] = "";
    long before = n_pages;
    CHECK(device->ops->alloc(&buffer, device, bytes, NULL) == HF_OK, "%s", hf_error());
    CHECK((n_pages > before) == (bytes >= HF_LARGE_PAGE), "%zu B in pages", bytes);
    if (n_pages > before)
        CHECK((uintptr_t)pages % HF_LARGE_PAGE == 0 && (uintptr_t)at % LINE == 0 &&
                  at >= pages && at + bytes <= pages + room,
              "%zu B at %td of %zu B", bytes, at - pages, room);
    const hf_device_ops *ops = device->ops;
    CHECK(ops->write(device, buffer, 0, &first, 1, NULL, NULL) == HF_OK &&
          ops->write(device, buffer, bytes - 1, &last, 1, NULL, NULL) == HF_OK &&
          ops->read(device, buffer, 0, ends, 1, NULL, NULL) == HF_OK &&
          ops->read(device, buffer, bytes - 1, ends + 1, 1, NULL, NULL) == HF_OK);
    CHECK(ends[0] == first && ends[1] == last, "%zu B: %.2s", bytes, ends);
    ops->free(buffer);
    none_left("a buffer", bytes);
}

/* Memory in which the host works, too, begins at a page, and goes with its buffer. */
static void in_place_test(size_t bytes) {
    const hf_device_ops *ops = device->ops;
    hf_buffer *buffer = NULL;
    CHECK(ops->wrap(&buffer, device, NULL, bytes) == HF_OK, "%s", hf_error());
    CHECK(buffer->host == at && (uintptr_t)at % HF_PAGE == 0 && at >= pages &&
              at + bytes <= pages + room,
          "%zu B at %td of %zu B", bytes, at - pages, room);
    ops->free(buffer);
    none_left("memory in place", bytes);
    buffer = NULL;
    for (refusing = 1; refusing <= 2; refusing++)
        CHECK(ops->wrap(&buffer, device, NULL, bytes) == HF_ENOMEM && !buffer, "%s",
              hf_error());
    refusing = 0;
    none_left("a failure in place", bytes);
    bytes = device->info.max_alloc + 1;
    CHECK(ops->wrap(&buffer, device, NULL, bytes) == HF_ENOMEM && !buffer &&
              strstr(hf_error(), "does not fit device"),
          "%s", hf_error());
}

/* Whatever is refused, there is one error, which says how much was asked for. */
static void failure_test(size_t bytes, int allocation, int call) {
    hf_buffer *buffer = NULL;
    char asked[48];
    lacked = false;
    refusing = call;
    scarce = allocation;
    hf_status status = device->ops->alloc(&buffer, device, bytes, NULL);
    scarce = -1;
    refusing = 0;
    snprintf(asked, sizeof asked, "a buffer of %zu B", bytes);
    if (!lacked && call == 0) {
        CHECK(status == HF_OK, "%s", hf_error());
        device->ops->free(buffer);
    } else {
        CHECK(status == HF_ENOMEM && !buffer && strstr(hf_error(), asked) &&
                  !strchr(hf_error(), '\n'),
              "allocation %d, call %d: %s", allocation, call, hf_error());
    }
    none_left("a failure", bytes);
}

/* They do not begin at the same line of a page, and go in another order than they came. */
static void many_test(void) {
    hf_buffer *buffers[MANY] = {NULL};
    size_t lines = 0, line[MANY];
    for (size_t i = 0; i < MANY; i++) {
        CHECK(device->ops->alloc(&buffers[i], device, HF_LARGE_PAGE, NULL) == HF_OK,
              "%s", hf_error());
        line[i] = (uintptr_t)at % HF_LARGE_PAGE / LINE;
        size_t j = 0;
        while (line[j] != line[i])
            j++;
        lines += j == i;
    }
    CHECK(left == MANY && lines > MANY / 2, "%d buffers at %zu lines", MANY, lines);
    for (size_t i = 0; i < MANY; i++)
        device->ops->free(buffers[i * 37 % MANY]);
    none_left("each", HF_LARGE_PAGE);
}

int main(void) {
    static const size_t sizes[] = {2,
                                   HF_LARGE_PAGE - 1,
                                   HF_LARGE_PAGE,
                                   HF_LARGE_PAGE + 1,
                                   2 * HF_LARGE_PAGE - MOST - 1,
                                   2 * HF_LARGE_PAGE - MOST,
                                   2 * HF_LARGE_PAGE - MOST + 1,
                                   2 * HF_LARGE_PAGE - 1,
                                   2 * HF_LARGE_PAGE};
    if (hf_device_opencl.open(&device, "cpu", 0, NULL) != HF_OK)
        return fprintf(stderr, "%s\n", hf_error()), 1;
    long before = n_mems; /* those of the device */
    n_mems = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_test(sizes[i]);
        for (int n = 0; n < 3; n++)
            failure_test(sizes[i], n, 0);
        failure_test(sizes[i], -1, 1);
    }
    failure_test(HF_LARGE_PAGE, -1, 2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        in_place_test(sizes[i]);
    many_test();
    n_mems = before;
    device->ops->close(device);
    CHECK(n_mems == 0, "%ld of the device", n_mems);
    return check_failures != 0;
}
