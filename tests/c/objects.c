/* objects.c - OpenCL objects of many runs, and of failures at each call: none is left, but
 * one context of a CPU.
 *
 * The linker leads the library's calls through here (--wrap), where they are counted and
 * made to fail. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/param.h"
#include "runs.h"

enum { RUNS = 1000, SESSIONS = 4, CALLS = 10000 };

static struct {
    const char *type;
    long made, left;
} objects[] = {{"cl_context", 0, 0}, {"cl_command_queue", 0, 0}, {"cl_mem", 0, 0},
               {"cl_program", 0, 0}, {"cl_kernel", 0, 0},        {"cl_event", 0, 0}};
enum { N_TYPES = sizeof objects / sizeof objects[0] };

static void count(const char *type, int made, int change) {
    size_t i = 0;
    while (strcmp(objects[i].type, type) != 0)
        i++;
    objects[i].made += made;
    objects[i].left += change;
}

static long calls, failing_call; /* from 1; 0: none fails */

static bool refused(void) {
    return ++calls == failing_call;
}

#define CREATE(type, name, parameters, ...)                        \
    type __real_##name parameters;                                 \
    type __wrap_##name parameters;                                 \
    type __wrap_##name parameters {                                \
        *code = CL_OUT_OF_RESOURCES;                               \
        type made = refused() ? NULL : __real_##name(__VA_ARGS__); \
        if (made)                                                  \
            count(#type, 1, 1);                                    \
        return made;                                               \
    }
#define ENQUEUE(name, parameters, ...)                                              \
    cl_int __real_##name parameters;                                                \
    cl_int __wrap_##name parameters;                                                \
    cl_int __wrap_##name parameters {                                               \
        cl_int code = refused() ? CL_OUT_OF_RESOURCES : __real_##name(__VA_ARGS__); \
        if (event && code == CL_SUCCESS)                                            \
            count("cl_event", 1, 1);                                                \
        return code;                                                                \
    }
#define CHANGE(name, type, change)      \
    cl_int __real_##name(type object);  \
    cl_int __wrap_##name(type object);  \
    cl_int __wrap_##name(type object) { \
        count(#type, 0, change);        \
        return __real_##name(object);   \
    }
#define HOLD(noun, type)            \
    CHANGE(clRetain##noun, type, 1) \
    CHANGE(clRelease##noun, type, -1)

CREATE(cl_context, clCreateContext,
       (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
        void *data, cl_int *code),
       properties, n, devices, notify, data, code)
CREATE(cl_command_queue, clCreateCommandQueue,
       (cl_context context, cl_device_id device, cl_command_queue_properties properties,
        cl_int *code),
       context, device, properties, code)
CREATE(cl_mem, clCreateBuffer,
       (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code),
       context, flags, bytes, host, code)
CREATE(cl_program, clCreateProgramWithSource,
       (cl_context context, cl_uint n, const char **text, const size_t *lengths,
        cl_int *code),
       context, n, text, lengths, code)
CREATE(cl_program, clCreateProgramWithBinary,
       (cl_context context, cl_uint n, const cl_device_id *devices,
        const size_t *lengths, const unsigned char **binaries, cl_int *states,
        cl_int *code),
       context, n, devices, lengths, binaries, states, code)
CREATE(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code),
       program, name, code)
ENQUEUE(clEnqueueNDRangeKernel,
        (cl_command_queue queue, cl_kernel kernel, cl_uint n_dims, const size_t *at,
         const size_t *items, const size_t *group, cl_uint n, const cl_event *after,
         cl_event *event),
        queue, kernel, n_dims, at, items, group, n, after, event)
ENQUEUE(clEnqueueTask,
        (cl_command_queue queue, cl_kernel kernel, cl_uint n, const cl_event *after,
         cl_event *event),
        queue, kernel, n, after, event)
ENQUEUE(clEnqueueReadBuffer,
        (cl_command_queue queue, cl_mem from, cl_bool wait, size_t at, size_t bytes,
         void *to, cl_uint n, const cl_event *after, cl_event *event),
        queue, from, wait, at, bytes, to, n, after, event)
ENQUEUE(clEnqueueWriteBuffer,
        (cl_command_queue queue, cl_mem to, cl_bool wait, size_t at, size_t bytes,
         const void *from, cl_uint n, const cl_event *after, cl_event *event),
        queue, to, wait, at, bytes, from, n, after, event)
HOLD(Context, cl_context)
HOLD(CommandQueue, cl_command_queue)
HOLD(MemObject, cl_mem)
HOLD(Program, cl_program)
HOLD(Kernel, cl_kernel)
HOLD(Event, cl_event)

static unsigned char *program;
static size_t program_bytes;

static hf_status once(hf_session *session) {
    static const char *const params[] = {
        "sizes", "1,1000", "reps", "1", "loop_upper", "1", "loop_lower", "1", NULL};
    bool right = false;
    hf_run run = {.bench = "b_eff",
                  .kernel = "b_eff_memory",
                  .binary = program,
                  .binary_bytes = program_bytes};
    hf_status status = run_take(&right, session, run, params);
    CHECK(status != HF_OK || right);
    return status;
}

static hf_session *session_open(void) {
    hf_options options = {.device = "opencl", .exchange = "pcie"};
    hf_session *session = NULL;
    return hf_session_open(&session, &options) == HF_OK ? session : NULL;
}

static void none_left(const char *after, long number) {
    for (size_t i = 0; i < N_TYPES; i++)
        CHECK(objects[i].left <= (i == 0), "after %s %ld: %ld %s", after, number,
              objects[i].left, objects[i].type);
}

/* One session's runs hold as much after the last as after the first, in a CPU's only
 * context. */
static void runs_test(void) {
    hf_session *session = session_open();
    CHECK(session, "%s", hf_error());
    long held[N_TYPES];
    for (int run = 0; session && run < RUNS / SESSIONS; run++) {
        CHECK(once(session) == HF_OK, "%s", hf_error());
        for (size_t i = 0; i < N_TYPES; i++) {
            held[i] = run ? held[i] : objects[i].left;
            CHECK(objects[i].left == held[i], "run %d: %ld %s, not %ld", run,
                  objects[i].left, objects[i].type, held[i]);
        }
        CHECK(objects[0].made == 1 || session->device->info.type != HF_CPU,
              "%ld contexts of one CPU were made", objects[0].made);
    }
    hf_session_close(session);
}

/* Each call that makes an object or a command fails once, until a run has no more. */
static void failures_test(void) {
    bool failed = true;
    for (failing_call = 1; failed && failing_call < CALLS; failing_call++) {
        calls = 0;
        hf_session *session = session_open();
        failed = !session || once(session) != HF_OK;
        CHECK(failed == (calls >= failing_call), "call %ld", failing_call);
        CHECK(!failed || strstr(hf_error(), "CL_OUT_OF_RESOURCES"), "call %ld: %s",
              failing_call, hf_error());
        hf_session_close(session);
        none_left("a failure at call", failing_call);
    }
    CHECK(!failed);
    printf("%ld calls failed in turn\n", failing_call - 2);
    failing_call = 0;
}

static void program_build(const char *folder) {
    static char source[1 << 18];
    char options[1024];
    snprintf(options, sizeof options, "-I%s", folder);
    CHECK(source_read(source, sizeof source, folder, "b_eff_memory.cl"), "%s", folder);
    hf_session *session = session_open();
    CHECK(session && hf_session_build(session, source, options, &program,
                                      &program_bytes) == HF_OK,
          "%s", hf_error());
    hf_session_close(session);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return fprintf(stderr, "objects KERNEL_FOLDER\n"), 2;
    failing_call = 1; /* the context, which is kept from the next on */
    CHECK(!session_open() && strstr(hf_error(), "CL_OUT_OF_RESOURCES"));
    failing_call = 0;
    none_left("no context", 1);
    program_build(argv[1]);
    none_left("a build", 1);
    for (int i = 0; i < SESSIONS; i++) {
        runs_test();
        none_left("session", i);
    }
    for (size_t i = 0; i < N_TYPES; i++) {
        printf("%s: %ld made, %ld left\n", objects[i].type, objects[i].made,
               objects[i].left);
        CHECK(objects[i].made > 0, "%s is not counted", objects[i].type);
    }
    failures_test();
    free(program);
    return check_failures != 0;
}
