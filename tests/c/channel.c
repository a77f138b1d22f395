/* channel.c - b_eff over the scheme `channel`: sessions of any number of ranks, and its faults.
 *
 * channel DEVICE KERNEL_FOLDER                    the tests
 * channel DEVICE KERNEL_FOLDER NAME=VALUE ...     one run of b_eff with these parameters, a
 *                                                 row per size; -DNAME=VALUE is for kernels
 */
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "core/param.h"
#include "core/session.h"
#include "runs.h"
#include "world.h"

/* Whoever waits for this one hangs. */
#define LATE "deadline=1000"

typedef struct program {
    unsigned char *binary;
    size_t bytes;
} program;

static hf_session *session;
static const char *folder;
static bool on_host;
static int rank, size;

/* The kernels, with the first `was` after `behind` replaced by `is`. */
static program program_build(const char *knobs, const char *behind, const char *was,
                             const char *is) {
    program p = {0};
    char options[1400];
    char *source = calloc(1, 1 << 18), *text = calloc(1, 1 << 18);
    snprintf(options, sizeof options, "-DHF_REPLICATIONS=2 -I%s%s", folder, knobs);
    CHECK(source_read(source, 1 << 18, folder, "b_eff_stream.cl"), "%s", folder);
    char *start = strstr(source, behind), *at = start ? strstr(start, was) : NULL;
    CHECK(at, "no \"%s\" in b_eff_stream.cl", was);
    if (at)
        snprintf(text, 1 << 18, "%.*s%s%s", (int)(at - source), source, is,
                 at + strlen(was));
    if (!on_host)
        CHECK(world_build(session, text, options, &p.binary, &p.bytes) == HF_OK, "%s",
              hf_error());
    free(source);
    free(text);
    return p;
}

static double entry(const hf_result *result, const char *name, size_t i) {
    const hf_column *column = column_find(result, name);
    return column->dtype == HF_F64   ? ((double *)column->data)[i]
           : column->dtype == HF_I64 ? (double)((int64_t *)column->data)[i]
                                     : ((unsigned char *)column->data)[i];
}

static size_t point_count(const hf_result *result) {
    return column_find(result, "time")->shape[0];
}

/* Run b_eff with `n` parameters NAME=VALUE; the result, or NULL. */
static hf_result *run(const program *p, int n, char *const *params, hf_status *status) {
    hf_args *args;
    hf_result *result = NULL;
    /* Compilers may have kept a rank for longer than the deadline of this run. */
    CHECK(hf_session_agree(session, HF_OK) == HF_OK, "%s", hf_error());
    CHECK(hf_args_new(&args, "b_eff") == HF_OK);
    for (int i = 0; i < n; i++) {
        char name[64] = "";
        const char *equals = strchr(params[i], '=');
        if (params[i][0] == '-' || !equals)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - params[i]), params[i]);
        CHECK(hf_args_set(args, name, 0, NULL, equals + 1) == HF_OK, "%s", hf_error());
    }
    const hf_run what = {.bench = "b_eff",
                         .args = args,
                         .kernel = "b_eff_stream",
                         .binary = p->binary,
                         .binary_bytes = p->bytes};
    *status = hf_session_run(session, &result, &what);
    hf_args_free(args);
    return result;
}

#define RUN(p, status, ...)                                         \
    run(p, (int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), \
        (char *[]){__VA_ARGS__}, status)

/* ---- runs that must verify ---- */

static void result_check(const hf_result *result, double pairs, double width) {
    for (size_t i = 0; i < point_count(result); i++) {
        double bytes = entry(result, "message_size", i);
        double chunks = ceil(bytes / (2 * width)), steps = entry(result, "inner", i);
        double rate = entry(result, "bandwidth", i) * entry(result, "time", i);
        CHECK(entry(result, "error", i) == 0, "%g B", bytes);
        CHECK(fabs(rate / (size * pairs * bytes) - 1) < 1e-9, "%g B", bytes);
        double packets = size * 2 * pairs * chunks * steps * entry(result, "reps", i);
        CHECK(entry(result, "packets", i) == packets, "%g B: %g packets, not %g", bytes,
              entry(result, "packets", i), packets);
        CHECK(entry(result, "high_water", i) >= 1, "%g B", bytes);
    }
    CHECK(hf_result_verified(result));
}

#define SHORT "reps=1", "loop_upper=9", "loop_lower=3"
#define SMALL "sizes=1,3,64,65,1000,70001", SHORT, "reps=2"

enum { ONCE = 1, ALL = 7 };

static void good_runs(const program *p, size_t n) {
    static char *const more[ALL][2] = {
        {"topology=published", "replications=2"},
        {"topology=published", "replications=1"},
        {"topology=ring", "replications=2"},
        {"topology=pairs", "replications=1"},
        {"channel_depth=8192", "reps=3"},
        {"channel_depth=33", "reps=1"},
        {"channel_depth=1000", "seed=5"},
    };
    for (size_t i = 0; i < n; i++) {
        hf_status status;
        hf_result *result = RUN(p, &status, SMALL, more[i][0], more[i][1]);
        CHECK(status == HF_OK, "%s %s: %s", more[i][0], more[i][1], hf_error());
        if (result)
            result_check(result, strstr(more[i][1], "ions=1") ? 1 : 2, 32);
        hf_result_free(result);
    }
}

/* One packet fits: each is a switch between threads. */
static void shallow_run(const program *p) {
    hf_status status;
    hf_result *result = RUN(p, &status, "sizes=1,100,321", "reps=1", "loop_upper=3",
                            "loop_lower=2", "warmup=1", "channel_depth=1");
    CHECK(status == HF_OK, "%s", hf_error());
    if (result) {
        result_check(result, 2, 32);
        CHECK(entry(result, "stalls", point_count(result) - 1) >= 1);
    }
    hf_result_free(result);
}

enum { MANY_YIELDS = 80 };
static bool crowded;
static atomic_int late_yields;

/* In place of libc's: where others use the cores, one that is given away comes back late. */
int sched_yield(void) {
    if (crowded) {
        atomic_fetch_add(&late_yields, 1);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return (int)syscall(SYS_sched_yield);
}

/* All kernels of a rank share one core with others, and each packet takes a wait: it gives the core
 * away a few times, not again and again. About 3 to 36 times were seen for all packets. */
static void crowded_run(const program *p) {
    cpu_set_t all, one;
    hf_status status;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET(core, &all))
            CPU_SET(core, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    crowded = true;
    hf_result *result = RUN(p, &status, "sizes=100", "reps=1", "loop_upper=2",
                            "loop_lower=1", "channel_depth=1");
    crowded = false;
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
    CHECK(status == HF_OK, "%s", hf_error());
    int late = atomic_load(&late_yields);
    CHECK(late > 0 && late < MANY_YIELDS, "%d late yields", late);
    if (result)
        result_check(result, 2, 32);
    hf_result_free(result);
}

/* ---- runs that must not ---- */

static void bad_parameters(const program *p) {
    static const struct {
        char *param;
        hf_status status;
        const char *says;
    } bad[] = {
        {"topology=star", HF_EARG, "no wiring \"star\""},
        {"topology=torus:3x7", HF_EARG, "no torus:PxQ of"},
        {"topology=0:0-0:1", HF_EARG, "0:2 is not connected"},
        {"topology=0:0-0:1,0:2-0:2,0:3-0:9", HF_EARG, "ports are 0 .. 3"},
        {"topology=0:0-99:1", HF_EARG, "ranks are 0 .. "},
        {"topology=0:0-0:1,0:0-0:2", HF_EARG, "sends twice"},
        {"topology=0:0-0:1,0:2>0:1", HF_EARG, "receives twice"},
        {"topology=0:0>0:1,0:1>0:2,0:2>0:0", HF_EARG, "does not send back"},
        {"channel_depth=1073741824", HF_ENOMEM, "channel_depth: "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hf_status status;
        hf_result *result = RUN(p, &status, "sizes=1", "reps=1", bad[i].param);
        CHECK(status == bad[i].status && !result && strstr(hf_error(), bad[i].says),
              "%s: %s", bad[i].param, hf_error());
        hf_result_free(result);
    }
}

/* With this kernel on rank 0, and `depth`: all ranks end, with one line. */
static void deadlock_test(const program *good, const char *kernel, const char *was,
                          const char *is, char *depth, const char *says) {
    program bad = program_build("", kernel, was, rank == 0 ? is : was);
    hf_status status;
    hf_result *result =
        RUN(&bad, &status, "sizes=100", "reps=1", "loop_upper=2", "loop_lower=1");
    CHECK(status == HF_OK, "%s", hf_error()); /* and PoCL has compiled the kernels */
    hf_result_free(result);
    /* A busy machine gets there late. */
    static char *const deadlines[] = {"deadline=2", "deadline=8", "deadline=32"};
    bool told = false;
    for (size_t i = 0; !told && i < sizeof deadlines / sizeof *deadlines; i++) {
        result = RUN(&bad, &status, "sizes=100", "reps=1", "loop_upper=9",
                     "loop_lower=4", deadlines[i], depth);
        told = status == HF_EDEVICE && !result && strstr(hf_error(), "deadlock: ") &&
               strstr(hf_error(), says);
        hf_result_free(result);
    }
    CHECK(told, "%s", hf_error());
    if (rank == 0)
        printf("%s\n", hf_error());
    free(bad.binary);
    good_runs(good, ONCE);
}

/* A packet too few: one rank alone waits for itself in the message that lacks it, 8 packets
 * long with the others; else the neighbours take the next for it and miss the last. A
 * receiver that leaves after 2 messages: a packet of the next fits. */
static void deadlock_tests(const program *good) {
    deadlock_test(good, "HF_STREAM(b_eff_send", "chunk < chunks",
                  "chunk + (message == 2) < chunks", "channel_depth=100",
                  size == 1 ? "b_eff_recv_0 in 0: empty after 5 packets"
                            : "b_eff_recv_0 in 0: empty after 7 packets");
    deadlock_test(good, "HF_STREAM(b_eff_recv", "message < messages",
                  "message < messages && message < 2", "channel_depth=1",
                  "b_eff_send_0 out 0: full after 5 packets");
}

/* One bit of one packet of one message: all ranks see a run that is not verified. */
static void damage_test(void) {
    program bad =
        program_build("", "HF_STREAM(b_eff_send", "packet_mark(b, mark)",
                      rank == 0 ? "packet_mark(b, mark ^ (message == 1 && chunk == 1))"
                                : "packet_mark(b, mark)");
    hf_status status;
    hf_result *result =
        RUN(&bad, &status, "sizes=64,200", "reps=2", "loop_upper=9", "loop_lower=5");
    CHECK(status == HF_OK, "%s", hf_error());
    if (result) {
        CHECK(!hf_result_verified(result));
        CHECK(entry(result, "error", 0) == 0 && entry(result, "error", 1) >= 1);
        CHECK(isnan(entry(result, "bandwidth", 1)));
    }
    hf_result_free(result);
    free(bad.binary);
}

/* A program for other packets than the host believes. */
static void misfit_test(void) {
    program wide =
        program_build(" -DHF_CHANNEL_WIDTH=64", "#include", "#include", "#include");
    hf_status status;
    hf_result *result = RUN(&wide, &status, SMALL, "channel_width=64");
    CHECK(status == HF_OK, "%s", hf_error()); /* and PoCL has compiled the kernels */
    if (result)
        result_check(result, 2, 64);
    hf_result_free(result);
    result = RUN(&wide, &status, "sizes=1", "reps=1");
    CHECK(status == HF_EARG && strstr(hf_error(), "channel_width"), "%s", hf_error());
    hf_result_free(result);
    result = RUN(&wide, &status, SMALL, "channel_width=64");
    CHECK(status == HF_OK, "%s", hf_error());
    hf_result_free(result);
    free(wide.binary);
}

/* The device's table with a look at kernels that sees none of them end. */
static hf_status blind_test(hf_device *device, hf_event *event, double seconds,
                            bool *ended) {
    (void)device, (void)event, (void)seconds;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    *ended = false;
    return HF_OK;
}

/* Rank 0's kernels do not stop: later runs are refused on all ranks, at once, and the
 * session closes. The last of the tests. */
static void stuck_test(const program *p) {
    const hf_device_ops *ops = session->device->ops;
    hf_device_ops blind = *ops;
    hf_status status;
    blind.test = blind_test;
    if (rank == 0)
        session->device->ops = &blind;
    hf_result *result = RUN(p, &status, "sizes=1", "reps=1", "deadline=5");
    CHECK(status == HF_EDEVICE && strstr(hf_error(), "cannot be stopped"), "%s",
          hf_error());
    hf_result_free(result);
    session->device->ops = ops;
    result = RUN(p, &status, "sizes=1", "reps=1", LATE);
    CHECK(status == HF_EDEVICE && strstr(hf_error(), "an earlier run"), "%s",
          hf_error());
    hf_result_free(result);
}

/* The largest size that a refusal names fits, and none above. */
static void too_large_test(const program *p) {
    size_t *most = &session->device->info.max_alloc, all = *most, largest = 0;
    char fits[32], over[32];
    hf_status status;
    *most = 10000;
    hf_result_free(RUN(p, &status, "sizes=20000", "reps=1"));
    const char *said = strstr(hf_error(), "the largest size is ");
    CHECK(status == HF_ENOMEM && said && sscanf(said, "%*s %*s %*s %*s %zu", &largest),
          "%s", hf_error());
    snprintf(fits, sizeof fits, "sizes=%zu", largest);
    snprintf(over, sizeof over, "sizes=%zu", largest + 1);
    hf_result_free(RUN(p, &status, fits, SHORT));
    CHECK(status == HF_OK, "%s", hf_error());
    hf_result_free(RUN(p, &status, over, "reps=1"));
    CHECK(status == HF_ENOMEM, "%s", hf_error());
    *most = all;
}

static const hf_stream_ops *own_streams;
static int miscounted; /* packets more than came through a port */

static void traffic_miscount(const hf_exchange *exchange, hf_traffic *out) {
    own_streams->traffic(exchange, out);
    out->packets += miscounted;
}

/* The last rank's channels count a packet more or less than its kernels ought to send: all
 * that they hand back is right, and no rank takes it for that. */
static void miscounted_test(const program *p) {
    const hf_exchange_ops *ops = session->exchange->ops;
    hf_exchange_ops other = *ops;
    own_streams = ops->streams;
    hf_stream_ops streams = *own_streams;
    hf_status status;
    streams.traffic = traffic_miscount;
    other.streams = &streams;
    if (rank == size - 1)
        session->exchange->ops = &other;
    for (miscounted = -1; miscounted <= 1; miscounted++) {
        hf_result *result = RUN(p, &status, "sizes=100", SHORT);
        CHECK(status == HF_OK, "%s", hf_error());
        if (result) {
            CHECK(hf_result_verified(result) == (miscounted == 0), "%d", miscounted);
            CHECK(entry(result, "error", 0) == abs(miscounted), "%d", miscounted);
        }
        hf_result_free(result);
    }
    session->exchange->ops = ops;
}

static const hf_device_ops *own_ops;
static int launches_left; /* of kernels that stream, until one fails */

static hf_status launch_some(hf_device *device, const hf_launch *launch,
                             const hf_order *order, hf_event **done) {
    if (order && order->queue > 0 && launches_left-- == 0)
        return hf_fail(HF_EDEVICE, "planted: a launch failed");
    return own_ops->launch(device, launch, order, done);
}

/* Some of rank 0's kernels start and wait for those that do not: all ranks end, soon. */
static void half_launched_test(const program *p) {
    own_ops = session->device->ops;
    hf_device_ops failing = *own_ops;
    hf_status status;
    failing.launch = launch_some;
    for (int some = 0; some < 4; some++) {
        launches_left = some;
        if (rank == 0)
            session->device->ops = &failing;
        hf_result *result = RUN(p, &status, "sizes=1", "reps=1", LATE);
        CHECK(status == HF_EDEVICE && strstr(hf_error(), "planted"), "%s", hf_error());
        hf_result_free(result);
        session->device->ops = own_ops;
        result = RUN(p, &status, "sizes=1,100", SHORT);
        CHECK(status == HF_OK, "%s", hf_error());
        if (result)
            result_check(result, 2, 32);
        hf_result_free(result);
    }
}

/* Rank 0 alone refuses: nobody waits for it, and the next run finds all ranks. */
static void lone_refusal_test(const program *p) {
    size_t memory = session->device->info.memory;
    hf_status status;
    if (rank == 0)
        session->device->info.memory = 1 << 16;
    hf_result *result = RUN(p, &status, "sizes=1", "reps=1", LATE);
    CHECK(status == HF_ENOMEM && strstr(hf_error(), "channel_depth: "), "%s",
          hf_error());
    hf_result_free(result);
    session->device->info.memory = memory;
    result = RUN(p, &status, "sizes=1", SHORT);
    CHECK(status == HF_OK, "%s", hf_error());
    hf_result_free(result);
}

/* As if the ranks of this node were not all: never none. */
static void many_nodes_test(const program *p) {
    int *local = &session->net->local_size, here = *local;
    hf_status status;
    *local = size > 1 ? size - 1 : 2;
    hf_result *result = RUN(p, &status, "sizes=1", "reps=1");
    CHECK(status == HF_ENOTSUP && !result && strstr(hf_error(), " on this node: "),
          "%s", hf_error());
    hf_result_free(result);
    *local = here;
    result = RUN(p, &status, "sizes=1", SHORT);
    CHECK(status == HF_OK, "%s", hf_error());
    hf_result_free(result);
}

static void tests(const program *p) {
    good_runs(p, ALL);
    too_large_test(p);
    lone_refusal_test(p);
    many_nodes_test(p);
    half_launched_test(p);
    miscounted_test(p);
    shallow_run(p);
    crowded_run(p);
    bad_parameters(p);
    good_runs(p, ONCE);
    if (on_host)
        return;
    damage_test();
    misfit_test();
    deadlock_tests(p);
    if (size > 1) /* alone, a rank leaks what it keeps */
        stuck_test(p);
}

static void rows_print(const hf_result *result) {
    for (size_t i = 0; rank == 0 && i < point_count(result); i++)
        printf(
            "%8.0f B %9.3f us %9.3f us %8.3f GB/s  inner %.0f  error %g  packets %g  "
            "stalls %g  most %g\n",
            entry(result, "message_size", i), 1e6 * entry(result, "time", i),
            1e6 * entry(result, "time_median", i), 1e-9 * entry(result, "bandwidth", i),
            entry(result, "inner", i), entry(result, "error", i),
            entry(result, "packets", i), entry(result, "stalls", i),
            entry(result, "high_water", i));
}

static void once(int n, char *const *params) {
    char knobs[256] = "";
    hf_status status;
    for (int i = 0; i < n; i++)
        if (params[i][0] == '-')
            snprintf(knobs + strlen(knobs), sizeof knobs - strlen(knobs), " %s",
                     params[i]);
    program p = program_build(knobs, "#include", "#include", "#include");
    hf_result *result = run(&p, n, params, &status);
    CHECK(status == HF_OK, "%s", hf_error());
    if (result) {
        CHECK(hf_result_verified(result));
        rows_print(result);
    }
    hf_result_free(result);
    free(p.binary);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return fprintf(stderr, "channel DEVICE KERNEL_FOLDER [NAME=VALUE ...]\n"), 2;
    setenv("POCL_MAX_PTHREAD_COUNT", "8", 1);
    setenv("POCL_CPU_MAX_CU_COUNT", "8", 1);
    MPI_Init(&argc, &argv);
    CHECK(world_open(&session, (hf_options){.device = argv[1],
                                            .exchange = "channel",
                                            .has_comm = true}) == HF_OK,
          "%s", hf_error());
    if (!session)
        return 1;
    folder = argv[2];
    on_host = strcmp(argv[1], "host") == 0;
    rank = hf_session_facts(session).rank;
    size = hf_session_facts(session).size;
    char stem[64];
    CHECK(hf_session_kernel(session, "b_eff", "auto", stem, sizeof stem) == HF_OK &&
              strcmp(stem, "b_eff_stream") == 0,
          "%s", stem);
    if (argc > 3) {
        once(argc - 3, argv + 3);
    } else {
        program p = program_build("", "#include", "#include", "#include");
        tests(&p);
        free(p.binary);
    }
    hf_session_close(session);
    MPI_Finalize();
    return check_failures != 0;
}
