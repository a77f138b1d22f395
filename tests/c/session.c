/* session.c - sessions and runs of one rank, on the device named in argv[1]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/param.h"
#include "core/run.h"
#include "core/session.h"
#include "runs.h"

static unsigned char *program;
static size_t program_bytes;

/* The kernel source compiled; nothing for the host. */
static void program_build(hf_session *session, const char *folder) {
    static char source[1 << 18];
    char options[1024];
    snprintf(options, sizeof options, "-I%s", folder);
    CHECK(source_read(source, sizeof source, folder, "b_eff_memory.cl"), "%s", folder);
    CHECK(hf_session_build(session, source, options, &program, &program_bytes) == HF_OK,
          "%s", hf_error());
}

static hf_status stop_after_first(void *context, const hf_progress *row) {
    int *rows = context;
    if (row)
        (*rows)++;
    return row ? hf_fail(HF_ECANCELED, "enough") : HF_OK;
}

static hf_args *args_make(const char *sizes, const char *reps) {
    hf_args *args;
    CHECK(hf_args_new(&args, "b_eff") == HF_OK);
    CHECK(hf_args_set(args, "sizes", 0, NULL, sizes) == HF_OK);
    CHECK(hf_args_set(args, "reps", 0, NULL, reps) == HF_OK);
    CHECK(hf_args_set(args, "loop_upper", 0, NULL, "8") == HF_OK);
    CHECK(hf_args_set(args, "time_limit", 0, NULL, "0.2") == HF_OK);
    return args;
}

static hf_run run_of(const hf_args *args) {
    return (hf_run){.bench = "b_eff",
                    .args = args,
                    .kernel = "b_eff_memory",
                    .binary = program,
                    .binary_bytes = program_bytes};
}

/* Columns that the samples determine are computed here again, the naive way. */
static void result_check(const hf_result *result, size_t points) {
    const hf_column *samples = column_find(result, "samples");
    const double *time = column_find(result, "time")->data;
    const double *rate = column_find(result, "bandwidth")->data;
    const int64_t *sizes = column_find(result, "message_size")->data;
    const int64_t *reps = column_find(result, "reps")->data;
    CHECK(samples->n_dims == 3 && samples->shape[0] == points &&
          samples->shape[2] == 1);
    double mean = 0;
    for (size_t p = 0; p < points; p++) {
        double best = INFINITY;
        for (size_t r = 0; r < samples->shape[1]; r++) {
            double sample = ((double *)samples->data)[p * samples->shape[1] + r];
            CHECK(isnan(sample) == (r >= (size_t)reps[p]), "point %zu rep %zu", p, r);
            best = sample < best ? sample : best;
        }
        CHECK(time[p] == best && best > 0, "point %zu", p);
        CHECK(fabs(rate[p] * time[p] / (double)sizes[p] - 1) < 1e-12, "point %zu", p);
        mean += rate[p] / (double)points;
    }
    const char *name, *unit;
    double value;
    CHECK(hf_result_summary(result, 0, &name, &unit, &value));
    CHECK(strcmp(name, "b_eff") == 0 && fabs(value / mean - 1) < 1e-12);
    CHECK(hf_result_verified(result));
    CHECK(strstr(hf_result_note(result, 0), "one rank"));
}

static void run_test(hf_session *session) {
    static const char *const reps[] = {"3", "0", "25"};
    for (size_t i = 0; i < sizeof reps / sizeof reps[0]; i++) {
        hf_args *args = args_make("1,3,64,4097,100000", reps[i]);
        hf_result *result = NULL;
        hf_run run = run_of(args);
        CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
        if (result)
            result_check(result, 5);
        hf_result_free(result);
        hf_args_free(args);
    }
}

static bool never_idle(const hf_device *device) {
    (void)device;
    return false;
}

/* A device that still works when the clock has been read makes an error, no time. */
static void late_test(hf_session *session) {
    const hf_device_ops *table = session->device->ops;
    hf_device_ops late = *table;
    hf_args *args = args_make("64", "1");
    hf_result *result = NULL;
    hf_run run = run_of(args);
    late.idle = never_idle;
    session->device->ops = &late;
    CHECK(hf_session_run(session, &result, &run) == HF_EDEVICE && !result);
    CHECK(strstr(hf_error(), "outlasted the steps that gave it"), "%s", hf_error());
    session->device->ops = table;
    hf_args_free(args);
}

static const hf_transport_ops *own_net;
static hf_sample before; /* what this rank told after a sample */

static hf_status gather_stale(hf_transport *net, void *all, const void *mine,
                              size_t bytes) {
    if (bytes != sizeof before)
        return own_net->gather(net, all, mine, bytes);
    hf_sample stale = before;
    memcpy(&before, mine, sizeof before);
    return own_net->gather(net, all, stale.number ? &stale : mine, bytes);
}

/* A report of the sample before, in the second, ends the run. */
static void stale_report_test(hf_session *session) {
    hf_args *args = args_make("64", "3");
    hf_result *result = NULL;
    hf_run run = run_of(args);
    own_net = session->net->ops;
    hf_transport_ops stale = *own_net;
    stale.gather = gather_stale;
    session->net->ops = &stale;
    CHECK(hf_session_run(session, &result, &run) == HF_ECOMM && !result);
    CHECK(strstr(hf_error(), "the report of rank 0 is not of sample 2, but of 1"), "%s",
          hf_error());
    session->net->ops = own_net;
    hf_args_free(args);
}

/* What the library takes for the cost of a reading: the linker leads its call here (--wrap). */
static const double reading = 1e-5;

double __wrap_hf_clock_cost(void);
double __wrap_hf_clock_cost(void) {
    return reading;
}

/* A sample is 20 readings of the clock long, as its shortest warm-up tells. */
static void timer_test(hf_session *session) {
    hf_args *args = args_make("1", "3");
    hf_result *result = NULL;
    hf_run run = run_of(args);
    CHECK(hf_args_set(args, "loop", 0, NULL, "timer") == HF_OK);
    CHECK(hf_args_set(args, "loop_upper", 0, NULL, "50000") == HF_OK);
    CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
    if (result) {
        const hf_column *warmup = column_find(result, "warmup");
        double steps = (double)*(int64_t *)column_find(result, "inner")->data;
        double best = INFINITY;
        for (size_t r = 0; r < warmup->shape[1]; r++)
            best = fmin(best, ((double *)warmup->data)[r]);
        CHECK(steps == ceil(20 * reading / best), "%g steps of %g s", steps, best);
    }
    hf_result_free(result);
    hf_args_free(args);
}

static void cancel_test(hf_session *session) {
    int rows = 0;
    hf_args *args = args_make("1,2,3", "3");
    hf_result *result = NULL;
    hf_run run = run_of(args);
    run.tick = stop_after_first;
    run.context = &rows;
    CHECK(hf_session_run(session, &result, &run) == HF_ECANCELED && !result &&
          rows == 1);
    CHECK(strcmp(hf_error(), "enough") == 0, "%s", hf_error());
    hf_args_free(args);
}

/* Too large for the device: refused by a line that names the largest that fits, beside the
 * 17 hops of a sample of 8 steps; these are pages where the host's memory is moved. */
static void too_large_test(hf_session *session) {
    hf_args *args = args_make("1,2097152", "3");
    hf_result *result = NULL;
    hf_run run = run_of(args);
    size_t *most = &session->device->info.max_alloc, all = *most;
    char line[64];
    *most = 1000000;
    CHECK(hf_session_run(session, &result, &run) == HF_ENOMEM && !result);
    bool pages = session->exchange->ops->host_memory;
    const char *fits = pages ? "930368" : "998912";
    snprintf(line, sizeof line, "the largest size is %s B", fits);
    CHECK(strstr(hf_error(), line), "%s", hf_error());
    CHECK(hf_args_set(args, "sizes", 0, NULL, fits) == HF_OK);
    CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
    hf_result_free(result);
    result = NULL;
    CHECK(hf_args_set(args, "loop_upper", 0, NULL, "100000000") == HF_OK);
    CHECK(hf_args_set(args, "sizes", 0, NULL, "100") == HF_OK);
    CHECK(hf_session_run(session, &result, &run) == HF_ENOMEM && !result);
    CHECK(strstr(hf_error(), "loop_upper: 100000000 steps") &&
              strstr(hf_error(), pages ? "messages of 100 B is 62493"
                                       : "messages of 100 B is 7811"),
          "%s", hf_error());
    /* Shorter messages take more steps: they may not fit where longer ones do. */
    CHECK(hf_args_set(args, "loop_upper", 0, NULL, "200000") == HF_OK);
    CHECK(hf_args_set(args, "sizes", 0, NULL, "1") == HF_OK);
    CHECK(hf_session_run(session, &result, &run) == HF_ENOMEM && !result);
    CHECK(strstr(hf_error(), "loop_upper: 200000 steps"), "%s", hf_error());
    *most = all;
    hf_args_free(args);
}

static void kernel_faults_test(hf_session *session) {
    hf_args *args = args_make("1", "1");
    hf_result *result = NULL;
    hf_run run = {.bench = "b_eff",
                  .args = args,
                  .kernel = "nonsense",
                  .binary = (const unsigned char *)"nonsense",
                  .binary_bytes = 8};
    bool on_host = strcmp(hf_session_facts(session).device->runtime, "host") == 0;
    hf_status status = hf_session_run(session, &result, &run);
    CHECK(status == (on_host ? HF_ENOTSUP : HF_EDEVICE) && !result, "%d", status);
    CHECK(strstr(hf_error(), on_host ? "has no kernels \"nonsense\""
                                     : "refuses the program binary of \"nonsense\""),
          "%s", hf_error());
    hf_args_free(args);
}

/* Another scheme on the same device; what there is not leaves the one of before. */
static void exchange_test(hf_session *session, const char *own) {
    CHECK(hf_session_exchange(session, "pigeon", NULL) == HF_ENOENT);
    CHECK(strcmp(hf_session_facts(session).exchange, own) == 0);
    CHECK(hf_session_exchange(session, "shared", NULL) == HF_OK, "%s", hf_error());
    CHECK(strcmp(hf_session_facts(session).exchange, "shared") == 0);
    run_test(session);
    CHECK(hf_session_exchange(session, own, NULL) == HF_OK, "%s", hf_error());
}

int main(int argc, char **argv) {
    if (argc != 4)
        return fprintf(stderr, "session DEVICE EXCHANGE KERNEL_FOLDER\n"), 2;
    hf_options options = {.device = argv[1], .exchange = argv[2]};
    hf_session *session = NULL;
    CHECK(hf_session_open(&session, &options) == HF_OK, "%s", hf_error());
    if (!session)
        return 1;
    char stem[64];
    CHECK(hf_session_kernel(session, "b_eff", "auto", stem, sizeof stem) == HF_OK);
    CHECK(strcmp(stem, "b_eff_memory") == 0, "%s", stem);
    CHECK(hf_session_kernel(session, "transfer", "auto", stem, sizeof stem) == HF_OK &&
          !*stem);
    if (strcmp(argv[1], "host") != 0)
        program_build(session, argv[3]);
    else
        CHECK(hf_session_build(session, "", "", &program, &program_bytes) ==
              HF_ENOTSUP);
    run_test(session);
    late_test(session);
    stale_report_test(session);
    timer_test(session);
    cancel_test(session);
    too_large_test(session);
    kernel_faults_test(session);
    exchange_test(session, argv[2]);
    run_test(session);
    hf_session_close(session);
    hf_session_close(NULL);
    free(program);
    options = (hf_options){.device = "opencl", .exchange = "host"};
    CHECK(hf_session_open(&session, &options) == HF_ENOTSUP, "%s", hf_error());
    options = (hf_options){.exchange = "smoke"};
    CHECK(hf_session_open(&session, &options) == HF_ENOENT);
    return check_failures != 0;
}
