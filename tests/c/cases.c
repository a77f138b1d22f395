/* cases.c - what the harness tries: sessions, parameters and kernels, and a run of them. */
#include "cases.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/random.h"
#include "core/registry.h"
#include "core/result.h"
#include "meet.h"
#include "source.h"
#include "world.h"

case_request asked;
case_state now;
int rank, size;

/* What the harness itself needs. */
static void must(hf_status status) {
    if (status == HF_OK)
        return;
    fprintf(stderr, "%s: %s\n", now.bench, hf_error());
    abort();
}

/* ---- parameters ---- */

enum { MANY = 12 };       /* as the longest row of lost calls */
enum { ELEMENTS = 1024 }; /* of an array, where millions are usual */

/* Is this one that every benchmark has? */
static bool common(const hf_param *param) {
    const hf_param *at = hf_session_params;
    while (at->name && strcmp(at->name, param->name) != 0)
        at++;
    return at->name != NULL;
}

/* A small value, by what the table tells of a parameter; what is small already stays. */
static void small_set(hf_args *args, const hf_param *param) {
    double value = param->low, usual = atof(param->fallback);
    bool counts = !param->macro;
    if (param->kind != HF_INT || common(param) || (!counts && !now.compiles))
        return;
    if (counts)
        value = usual > 1e6 ? ELEMENTS : MANY;
    if (counts ? usual > 2 : param->low > 1)
        must(hf_args_set(args, param->name, 1, &value, NULL));
}

/* Sizes are bytes or words, rows of matrices that are shared, or of whole ones: enough of them
 * for several ranks or replications. */
static const char *sizes_for(const hf_problem *problem) {
    bool several = size > 1 || strncmp(now.variant, "replications", 12) == 0;
    if (problem->power == 1)
        return problem->shared ? "256" : "1000,1000"; /* twice: nothing is left over */
    bool knobs = now.compiles || asked.knobs;         /* that are small */
    return problem->power == 3 ? "48" : knobs ? "96" : several ? "768" : "512";
}

static void arg_set(hf_args *args, const char *name, const char *value) {
    must(hf_args_set(args, name, 0, NULL, value));
}

/* A text that ends with the logarithm of a size, such as kron:16, gets a small one. */
static void small_text_set(hf_args *args, const hf_param *param) {
    const char *colon = param->kind == HF_TEXT ? strrchr(param->fallback, ':') : NULL;
    char text[64];
    if (!colon || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return;
    snprintf(text, sizeof text, "%.*s:6", (int)(colon - param->fallback),
             param->fallback);
    must(hf_args_set(args, param->name, 0, NULL, text));
}

/* A knob that is a file in the place of a header. */
static bool names_file(const hf_param *param) {
    const char *dot = param->macro ? strrchr(param->macro, '.') : NULL;
    return dot && strcmp(dot, ".h") == 0;
}

/* What program binaries were built with. */
static void knobs_set(hf_args *args) {
    const hf_param *param;
    for (size_t i = 0; asked.knobs && (param = hf_args_param(args, i)); i++) {
        size_t length = strlen(param->name);
        for (const char *at = asked.knobs; at; at = strchr(at, ' ')) {
            char value[32];
            at += *at == ' ';
            if (strncmp(at, param->name, length) == 0 && at[length] == '=' &&
                sscanf(at + length + 1, "%31s", value) == 1)
                arg_set(args, param->name, value);
        }
    }
}

/* The parameters of a run; NULL if it does not have the variant's. */
hf_args *args_make(const char *deadline) {
    hf_args *args;
    const hf_bench *ops;
    must(hf_bench_find(&ops, now.bench));
    must(hf_args_new(&args, now.bench));
    const hf_param *param;
    for (size_t i = 0; (param = hf_args_param(args, i)); i++) {
        small_set(args, param);
        small_text_set(args, param);
        if (param->kind == HF_INTS && ops->problem.param &&
            strcmp(param->name, ops->problem.param) == 0)
            arg_set(args, param->name, sizes_for(&ops->problem));
    }
    knobs_set(args);
    arg_set(args, "reps", "2");
    arg_set(args, "warmup", "1");
    if (ops->kernels & HF_KERNELS_NDRANGE)
        arg_set(args, "shape", now.shape);
    arg_set(args, "deadline", deadline);
    char *value = strchr(now.variant, '=');
    if (value) {
        *value = '\0';
        must(hf_args_set(args, now.variant, 0, NULL, value + 1));
        *value = '=';
    }
    return args;
}

/* ---- kernels ---- */

static void program_share(hf_status status) {
    unsigned long bytes = status == HF_OK ? now.program_bytes : 0;
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    now.program_bytes = bytes;
    if (rank > 0)
        now.program = malloc(bytes + 1);
    MPI_Bcast(now.program, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void binary_take(const char *stem) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.xclbin", asked.binaries, stem);
    FILE *file = fopen(path, "rb");
    enum { ROOM = 1 << 22 };
    now.program = malloc(ROOM);
    if (!file || !now.program)
        abort();
    now.program_bytes = fread(now.program, 1, ROOM, file);
    fclose(file);
}

/* The kernels of a run: compiled by rank 0, from a file, or in this library. */
hf_status program_make(const hf_args *args) {
    static char source[1 << 18];
    char stem[48], name[64], options[2048] = "";
    free(now.program);
    now.program = NULL;
    now.program_bytes = 0;
    now.stem[0] = '\0';
    HF_TRY(hf_session_kernel(now.session, now.bench, now.shape, stem, sizeof stem));
    if (!*stem)
        return HF_OK;
    const hf_param *param;
    snprintf(now.stem, sizeof now.stem, "%s", stem);
    size_t used = (size_t)snprintf(options, sizeof options, "-I%s", asked.folder);
    for (size_t i = 0; (param = hf_args_param(args, i)); i++) {
        const char *text = hf_args_text(args, i);
        const double *number = hf_args_numbers(args, i);
        if (!now.compiles &&
            (strcmp(param->name, "data_type") == 0 || names_file(param)))
            snprintf(now.stem, sizeof now.stem, "%s_%s", stem, text);
        else if (names_file(param))
            continue; /* the folder has that of the default */
        else if (param->macro && number)
            used += (size_t)snprintf(options + used, sizeof options - used,
                                     " -D%s=%.0f", param->macro, *number);
        else if (param->macro)
            used += (size_t)snprintf(options + used, sizeof options - used, " -D%s=%s",
                                     param->macro, text);
    }
    if (!now.compiles && asked.binaries)
        binary_take(stem);
    if (!now.compiles)
        return HF_OK;
    hf_status status = HF_OK;
    snprintf(name, sizeof name, "%s.cl", stem);
    if (rank == 0 && !source_read(source, sizeof source, asked.folder, name))
        status = hf_fail(HF_ENOENT, "no %s in %s", name, asked.folder);
    if (rank == 0 && status == HF_OK)
        status = hf_session_build(now.session, source, options, &now.program,
                                  &now.program_bytes);
    program_share(status);
    return hf_session_agree(now.session, status);
}

/* ---- runs ---- */

/* PoCL's kernels see the host's memory. Those of two ranks share cores: only tests want that. */
static hf_status relay_take(void) {
    char options[1024];
    unsigned char *binary = NULL;
    size_t bytes;
    snprintf(options, sizeof options, "-I%s", asked.folder);
    HF_TRY(world_build(now.session, "#include \"relay_ndrange.cl\"\n", options, &binary,
                       &bytes));
    hf_status status = hf_session_relay(now.session, binary, bytes);
    free(binary);
    return status;
}

hf_status session_open(void) {
    char device[64];
    snprintf(device, sizeof device, "%s:%s", now.device, now.type);
    HF_TRY(world_open(&now.session, (hf_options){.device = device,
                                                 .exchange = now.exchange,
                                                 .has_comm = size > 1}));
    if (asked.passes &&
        !hf_device_type_named(&now.session->device->info.type, asked.passes))
        return hf_fail(HF_EARG, "passes=%s: no type of a device", asked.passes);
    if (asked.relay && now.session->exchange->ops->relays)
        HF_TRY(relay_take());
    plant_open(now.session);
    return HF_OK;
}

void session_close(void) {
    if (now.session) {
        plant_close();
        hf_session_close(now.session);
    }
    now.session = NULL;
}

/* Sizes, counts, what supersteps were: all that is told but times, rates and errors. */
static uint64_t numbers_digest(const hf_result *result) {
    const hf_column *column;
    uint64_t sum = 0;
    for (size_t i = 0; result && (column = hf_result_column(result, i)); i++) {
        size_t n = column->dtype == HF_I64;
        for (int k = 0; k < column->n_dims; k++)
            n *= column->shape[k];
        for (size_t k = 0; k < n; k++)
            sum = hf_random(sum, (uint64_t)((const int64_t *)column->data)[k]);
    }
    return sum;
}

/* Did a deadline end the run? */
static bool late_here(hf_status status) {
    const char *text = status == HF_OK ? "" : hf_error();
    return strstr(text, "deadline of") || strstr(text, " ended within ");
}

/* What a report says that holds on all ranks if it holds on each, or, `any`, if on one. */
#define OF(member) offsetof(plant_report, member)
static const struct {
    size_t at;
    bool any;
} flags[] = {
    {OF(right), false}, {OF(checked), false}, {OF(given), false},  {OF(told), false},
    {OF(alone), false}, {OF(fixed), false},   {OF(made), false},   {OF(idler), false},
    {OF(apart), false}, {OF(clears), false},  {OF(spared), false}, {OF(tells), true},
    {OF(busy), true},   {OF(other), true},
};
static const size_t sums[] = {OF(reached), OF(acted), OF(changed), OF(spoiled)};
enum { N_FLAGS = sizeof flags / sizeof *flags, N_SUMS = sizeof sums / sizeof *sums };

/* The report of all ranks together. */
static plant_report report_join(plant_report report) {
    char *of = (char *)&report;
    bool mine[N_FLAGS], all[N_FLAGS], one[N_FLAGS];
    for (size_t i = 0; i < N_FLAGS; i++)
        mine[i] = *(bool *)(of + flags[i].at);
    MPI_Allreduce(mine, all, N_FLAGS, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    MPI_Allreduce(mine, one, N_FLAGS, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
    for (size_t i = 0; i < N_FLAGS; i++)
        *(bool *)(of + flags[i].at) = flags[i].any ? one[i] : all[i];
    for (size_t i = 0; i < N_SUMS; i++) {
        unsigned long sum = *(size_t *)(of + sums[i]);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM,
                      MPI_COMM_WORLD);
        *(size_t *)(of + sums[i]) = sum;
    }
    MPI_Allreduce(MPI_IN_PLACE, &report.error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return report;
}

/* Run once with this fault on all ranks; a session that failed is opened anew. */
outcome run(const plant_fault *fault, const char *deadline) {
    hf_args *args = args_make(deadline);
    hf_result *result = NULL;
    const hf_run what = {.bench = now.bench,
                         .args = args,
                         .kernel = *now.stem ? now.stem : NULL,
                         .binary = now.program,
                         .binary_bytes = now.program_bytes};
    all_meet();
    plant_start(fault, WARMUP);
    hf_status status = hf_session_run(now.session, &result, &what);
    plant_report report = plant_end();
    bool verified = result && hf_result_verified(result);
    uint64_t numbers = numbers_digest(result);
    if (!fault && report.spoiled == 0)
        now.numbers = numbers;
    enum { STATUS, WRONG, LATE, RECOUNTED, N_WORST };
    int worst[N_WORST] = {[STATUS] = (int)status,
                          [WRONG] = !verified,
                          [LATE] = late_here(status),
                          [RECOUNTED] = numbers != now.numbers};
    all_meet();
    MPI_Allreduce(MPI_IN_PLACE, worst, N_WORST, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    report = report_join(report);
    hf_result_free(result);
    hf_args_free(args);
    if (worst[STATUS] != HF_OK && worst[STATUS] != HF_EARG &&
        worst[STATUS] != HF_ENOTSUP) {
        session_close();
        session_open();
    }
    return (outcome){.status = (hf_status)worst[STATUS],
                     .verified = !worst[WRONG],
                     .late = worst[LATE],
                     .counted = !worst[RECOUNTED],
                     .report = report};
}

bool goes_on(const score *s) {
    static double start;
    start = start > 0 ? start : hf_clock_now();
    int late = asked.seconds > 0 && hf_clock_now() - start > (double)asked.seconds;
    MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return now.session && !late && !(asked.broken && s->misses > 0);
}
