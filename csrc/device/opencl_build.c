/* opencl_build.c - programs of the runtime `opencl`, from source and from binaries, and the
 * context that they share. */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/text.h"

hf_status hf_opencl_context(hf_opencl_device *device) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static cl_device_id cpu;
    static cl_context kept;
    cl_int code;
    pthread_mutex_lock(&lock);
    if (kept && cpu == device->id) {
        device->context = kept;
        code = clRetainContext(kept);
    } else {
        device->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
        if (!kept && device->base.info.type == HF_CPU && code == CL_SUCCESS &&
            clRetainContext(device->context) == CL_SUCCESS) {
            cpu = device->id;
            kept = device->context;
        }
    }
    pthread_mutex_unlock(&lock);
    return hf_opencl_check(code, "clCreateContext");
}

/** The first two lines of `log` that name an error, else its first, on one line. */
static void log_trim(char *line, size_t size, const char *log) {
    size_t used = 0, n_errors = 0;
    line[0] = '\0';
    for (const char *at = log; *at && n_errors < 2; at += strcspn(at, "\r\n")) {
        at += strspn(at, "\r\n \t");
        size_t length = strcspn(at, "\r\n");
        char text[256];
        size_t kept = length < sizeof text ? length : sizeof text - 1;
        memcpy(text, at, kept);
        text[kept] = '\0';
        bool error = hf_text_contains(text, "error:");
        if (kept == 0 || (!error && used > 0))
            continue;
        if (error && n_errors++ == 0)
            used = 0; /* drops a first line that was no error */
        if (used + kept + 3 > size)
            break;
        if (used > 0) {
            memcpy(line + used, "; ", 2);
            used += 2;
        }
        memcpy(line + used, text, kept + 1);
        used += kept;
    }
}

/** Fail with what the compiler said about `program`. */
static hf_status build_fail(const hf_opencl_device *device, cl_program program,
                            cl_int code) {
    char line[360] = "";
    size_t bytes = 0;
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    char *log = calloc(bytes + 1, 1);
    if (log && clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes,
                                     log, NULL) == CL_SUCCESS)
        log_trim(line, sizeof line, log);
    free(log);
    return hf_fail(HF_EDEVICE, "the kernels do not compile: %s",
                   line[0] ? line : hf_opencl_code(code));
}

/** The binary of a built program for its only device; malloc'ed. */
static hf_status program_binary(cl_program program, unsigned char **binary,
                                size_t *bytes) {
    size_t size = 0;
    HF_TRY(hf_opencl_check(
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL),
        "clGetProgramInfo"));
    if (size == 0)
        return hf_fail(HF_ENOTSUP, "the OpenCL compiler gives no program binary");
    unsigned char *data = malloc(size);
    if (!data)
        return hf_fail(HF_ENOMEM, "no memory for a program binary of %zu B", size);
    hf_status status = hf_opencl_check(
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, NULL),
        "clGetProgramInfo");
    if (status != HF_OK) {
        free(data);
        return status;
    }
    *binary = data;
    *bytes = size;
    return HF_OK;
}

hf_status hf_opencl_build(hf_device *base, const char *source, const char *options,
                          unsigned char **binary, size_t *bytes) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    cl_bool compiler = CL_FALSE;
    clGetDeviceInfo(device->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler,
                    &compiler, NULL);
    if (!compiler)
        return hf_fail(HF_ENOTSUP,
                       "device \"%s\" has no OpenCL compiler: give a program binary",
                       base->info.name);
    cl_int code;
    sigset_t own;
    cl_program program =
        clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    HF_TRY(hf_opencl_check(code, "clCreateProgramWithSource"));
    hf_opencl_enter(&own, NULL);
    code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    hf_status status = code == CL_SUCCESS ? program_binary(program, binary, bytes)
                                          : build_fail(device, program, code);
    hf_opencl_leave(&own, NULL);
    clReleaseProgram(program);
    return status;
}

void hf_opencl_unload(hf_opencl_device *device) {
    if (device->program)
        clReleaseProgram(device->program);
    free(device->binary);
    device->program = NULL;
    device->binary = NULL;
    device->binary_bytes = 0;
}

cl_int hf_opencl_program(cl_program *out, cl_context context, cl_device_id id,
                         const unsigned char *binary, size_t bytes) {
    cl_int code, verdict = CL_SUCCESS;
    sigset_t own;
    hf_opencl_enter(&own, NULL);
    *out = clCreateProgramWithBinary(context, 1, &id, &bytes, &binary, &verdict, &code);
    if (code == CL_SUCCESS && verdict != CL_SUCCESS)
        code = verdict;
    if (code == CL_SUCCESS)
        code = clBuildProgram(*out, 1, &id, "", NULL, NULL);
    hf_opencl_leave(&own, NULL);
    return code;
}

hf_status hf_opencl_load(hf_device *base, const char *name, const unsigned char *binary,
                         size_t bytes) {
    hf_opencl_device *device = (hf_opencl_device *)base;
    if (bytes == 0)
        return hf_fail(HF_EDEVICE, "the program binary of \"%s\" is empty", name);
    device->kernels = hf_kernels_of(name);
    if (device->program && bytes == device->binary_bytes &&
        memcmp(binary, device->binary, bytes) == 0)
        return HF_OK;
    hf_opencl_unload(device); /* first: some boards hold one program only */
    unsigned char *copy = malloc(bytes);
    if (!copy)
        return hf_fail(HF_ENOMEM, "no memory for a program binary of %zu B", bytes);
    memcpy(copy, binary, bytes);

    cl_program program;
    cl_int code =
        hf_opencl_program(&program, device->context, device->id, binary, bytes);
    if (code != CL_SUCCESS) {
        if (program)
            clReleaseProgram(program);
        free(copy);
        return hf_fail(HF_EDEVICE,
                       "device \"%s\" refuses the program binary of \"%s\" (%zu B): %s",
                       base->info.name, name, bytes, hf_opencl_code(code));
    }
    device->program = program;
    device->binary = copy;
    device->binary_bytes = bytes;
    return HF_OK;
}
