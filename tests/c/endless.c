/* endless.c - a kernel of the last rank never ends: an error on all ranks, by the deadline,
 * that names it, also where the others' deadline passes first. Then the session is refused on
 * all ranks.
 *
 * endless host|opencl KERNEL_FOLDER [late]
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "runs.h"
#include "world.h"

extern const hf_device_ops hf_device_host;

enum {
    CHECK_KERNEL = 4
}; /* of the first sample: it fills two chains and checks both */

static const hf_device_ops *table;
static int launches, endless; /* number of the launch that never ends */
static bool late;             /* the others' deadline passes before that of its rank */

static void never_call(void *const *args, size_t items) {
    (void)args, (void)items;
    for (;;)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

static hf_status endless_launch(hf_device *device, const hf_launch *launch,
                                const hf_order *order, hf_event **done) {
    static const hf_arg_info args[] = {{"a", HF_ARG_WRITE, 1, 0}};
    static const hf_kernel_info never = {
        .name = "never", .args = args, .n_args = 1, .call = never_call};
    hf_launch what = *launch;
    if (++launches != endless)
        return table->launch(device, launch, order, done);
    if (late)
        device->deadline = 100;
    what.n_args = 1;
    what.kernel = (hf_kernel *)&never;
    if (table != &hf_device_host)
        CHECK(table->kernel(&what.kernel, device, "never", 0) == HF_OK);
    return table->launch(device, &what, order, done);
}

/* The benchmark's kernels, and one that never ends. */
static void program_build(hf_run *run, hf_session *session, const char *folder) {
    static char source[1 << 18];
    static unsigned char *program;
    char options[1024];
    snprintf(options, sizeof options, "-I%s", folder);
    CHECK(source_read(source, sizeof source, folder, "b_eff_memory.cl"), "%s", folder);
    size_t used = strlen(source);
    snprintf(
        source + used, sizeof source - used,
        "\n__kernel void never(volatile __global uchar *a) { while (a[0] < 256) {} }");
    CHECK(world_build(session, source, options, &program, &run->binary_bytes) == HF_OK,
          "%s", hf_error());
    run->binary = program;
}

static void endless_test(const char *device, const char *folder, int number) {
    static const char *const params[] = {"sizes",    "1", "reps", "1",
                                         "deadline", "2", NULL};
    static const char *const patient[] = {"sizes", "1", "reps", "1", NULL};
    hf_session *session;
    hf_run run = {.bench = "b_eff", .kernel = "b_eff_memory"};
    bool right;
    CHECK(world_open(&session, (hf_options){.device = device,
                                            .exchange = "pcie",
                                            .has_comm = true}) == HF_OK,
          "%s", hf_error());
    table = session->device->ops;
    hf_device_ops ops = *table;
    ops.launch = endless_launch;
    if (table != &hf_device_host)
        program_build(&run, session, folder);
    hf_status status = run_take(&right, session, run, patient);
    CHECK(status == HF_OK, "%s", hf_error()); /* and PoCL has compiled the kernels */
    if (session->net->rank == session->net->size - 1)
        session->device->ops = &ops;
    launches = 0;
    endless = number;
    double start = hf_clock_now();
    status = run_take(&right, session, run, params);
    if (late) /* the rank is asked while it waits for the kernel */
        CHECK(status == HF_ECOMM &&
                  strstr(hf_error(), "rank 1 waits for kernel \"never\"; the deadline"),
              "%s", hf_error());
    else
        CHECK(status == HF_EDEVICE &&
                  strstr(hf_error(), "kernel \"never\" has not ended within 2 s"),
              "%s", hf_error());
    double seconds = hf_clock_now() - start;
    CHECK(seconds >= 2, "%g s", seconds);
    status = run_take(&right, session, run, params);
    CHECK(late ? status == HF_ECOMM
               : status == HF_EDEVICE && strstr(hf_error(), "open a new session"),
          "%s", hf_error());
    session->device->ops = table;
    hf_session_close(session);
    free((void *)run.binary);
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4)
        return fprintf(stderr, "endless host|opencl KERNEL_FOLDER [late]\n"), 2;
    MPI_Init(&argc, &argv);
    late = argc > 3;
    if (argc == 3 && strcmp(argv[1], "host") == 0) /* PoCL's would spin to the end */
        endless_test(argv[1], argv[2], 2);
    endless_test(argv[1], argv[2], CHECK_KERNEL);
    MPI_Finalize();
    _exit(check_failures != 0); /* destructors would take what the kernels use */
}
