/* loud_runtime.c - an OpenCL runtime that prints when it is loaded and asked.
 *
 * cc -shared -fPIC [-DEND='abort()'] [-DWAIT=ms] [-DLINES=n] [-DDEVICES=...]
 *   loud_runtime.c -o libloud.so
 *
 * It has one device, "Loud Emulator", or those of DEVICES. None can be opened. With END it
 * ends the process when it is loaded, with WAIT it takes so long for it, with LINES it
 * prints so many further ones, of 1 KB.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef LINES
#define LINES 0
#endif
#ifndef END
#define END (void)0
#endif
#ifndef WAIT
#define WAIT 0
#endif
#ifndef DEVICES /* DEVICE(name, type, code of an error), ... */
#define DEVICES \
    DEVICE("Loud Emulator", CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_NOT_AVAILABLE)
#endif

typedef struct object {
    const cl_icd_dispatch *dispatch;
} object;

typedef struct device {
    object base;
    const char *name;
    cl_device_type type;
    cl_int code; /* of an attempt to open it */
} device;

static cl_int answer(const void *value, size_t bytes, size_t room, void *to,
                     size_t *length) {
    if (length)
        *length = bytes;
    if (to && room < bytes)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, value, bytes);
    return CL_SUCCESS;
}

static cl_int text(const char *value, size_t room, void *to, size_t *length) {
    return answer(value, strlen(value) + 1, room, to, length);
}

static cl_int platform_info(cl_platform_id platform, cl_platform_info what, size_t room,
                            void *to, size_t *length) {
    (void)platform;
    switch (what) {
    case CL_PLATFORM_EXTENSIONS:
        return text("cl_khr_icd", room, to, length);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return text("LOUD", room, to, length);
    case CL_PLATFORM_VERSION:
        return text("OpenCL 1.2 loud", room, to, length);
    default:
        return text("Loud Platform", room, to, length);
    }
}

static cl_int device_info(cl_device_id id, cl_device_info what, size_t room, void *to,
                          size_t *length) {
    const device *self = (const device *)id;
    cl_ulong memory = 1 << 30;
    cl_uint units = 1;
    switch (what) {
    case CL_DEVICE_TYPE:
        return answer(&self->type, sizeof self->type, room, to, length);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return answer(&memory, sizeof memory, room, to, length);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return answer(&units, sizeof units, room, to, length);
    default:
        return text(self->name, room, to, length);
    }
}

static cl_int device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                         cl_device_id *ids, cl_uint *n);

static cl_context context_create(const cl_context_properties *properties, cl_uint n,
                                 const cl_device_id *ids,
                                 void(CL_CALLBACK *notify)(const char *, const void *,
                                                           size_t, void *),
                                 void *data, cl_int *code) {
    (void)properties, (void)n, (void)notify, (void)data;
    *code = ((const device *)ids[0])->code;
    return NULL;
}

static const cl_icd_dispatch dispatch = {
    .clGetPlatformInfo = platform_info,
    .clGetDeviceIDs = device_ids,
    .clGetDeviceInfo = device_info,
    .clCreateContext = context_create,
};
static object the_platform = {&dispatch};
#define DEVICE(...) \
    { {&dispatch}, __VA_ARGS__ }
static device the_devices[] = {DEVICES};

static cl_int device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                         cl_device_id *ids, cl_uint *n) {
    (void)platform, (void)type;
    cl_uint all = sizeof the_devices / sizeof the_devices[0];
    for (cl_uint i = 0; ids && i < all && i < room; i++)
        ids[i] = (cl_device_id)&the_devices[i];
    if (n)
        *n = all;
    return CL_SUCCESS;
}

static cl_int platform_ids(cl_uint room, cl_platform_id *platforms, cl_uint *n) {
    fprintf(stderr, "LOUD: asked\n");
    if (platforms && room > 0)
        *platforms = (cl_platform_id)&the_platform;
    if (n)
        *n = 1;
    return CL_SUCCESS;
}

void *clGetExtensionFunctionAddress(const char *name) {
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)platform_ids : NULL;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t room,
                         void *to, size_t *length) {
    return platform_info(platform, what, room, to, length);
}

__attribute__((constructor)) static void loaded(void) {
    printf("LOUD: loaded\n"); /* stays in a buffer if standard output is a pipe */
    fprintf(stderr, "LOUD: Unknown host CPU.\n");
    for (int line = 0; line < LINES; line++) /* a pipe holds 64 KiB */
        fprintf(stderr, "LOUD: line %1000d\n", line);
    nanosleep(&(struct timespec){WAIT / 1000, WAIT % 1000 * 1000000L}, NULL);
    END;
}
