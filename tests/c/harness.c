/* harness.c - no fault of a device or a transport ends in a run that says verified.
 *
 * harness KERNELS [NAME=VALUE ...], alone or on the ranks of an mpirun; the names are
 *   faults=N    that many faults of each kind in each call of each phase, for each benchmark over
 *               each scheme on each device in each shape and variant of its parameters: 7 are one
 *               call, a row of them and every so many, of all ranks and of one, and every call of
 *               all ranks. Without it one of each, for one of the schemes that move memory
 *   share=N     of those one in N, other ones for each number of ranks; of several ranks' faults
 *               of a transport one in 3
 *   part=K      another share: the shares of part=0 to part=N-1 together are all faults
 *   seconds=T   of all these, those that are reached in so many seconds
 *   seed=S      of the draw, and of the share
 *   fault=KIND,CALL,PHASE,PLACE,COUNT,SPOT[,RANK,PERIOD]    this one alone; without a rank on all
 *   seen=1      no fault is harmless: each must be seen
 *   bench=NAME exchange=NAME device=NAME shape=NAME kind=NAME call=NAME    only this one
 *   variant=NAME=VALUE    only this parameter that is not the default
 *   passes=TYPE devices pass for such ones, as an accelerator: exchanges treat CPUs apart
 *   relay=1     with passes=: these pass messages on by themselves, where a scheme can have that
 *   workers=N   of PoCL, which wakes all for each command; with fewer than a rank's kernels there
 *               are no schemes of kernels that wait for each other
 *   binaries=FOLDER "knobs=NAME=VALUE ..."  programs of a device that does not compile, as
 *               FILE.xclbin, and what is built into them
 *   guarded=1   device memory that is not the host's lies apart: kernels that go astray are stopped
 *   broken=verify       a benchmark whose verification finds every result right must show
 *   broken=neighbours   likewise a scheme that sends to the wrong rank
 *   broken=evidence     likewise a transport whose messages have no digest
 * Everything is taken from the registry. A fault that a run survives verified is a miss and
 * ends in code 1, unless harmless.c knows why it does no harm.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "check.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/random.h"
#include "core/registry.h"
#include "harness_faults.h"
#include "verbs.h"

enum { MAX_KERNELS = 8 /* of a rank, at the same time */ };

static score all;

static bool wanted(const char *filter, const char *name) {
    return !filter || strcmp(filter, name) == 0;
}

static int place_in(const char *const *names, int n, const char *word) {
    int i = 0;
    while (i < n && strcmp(names[i], word) != 0)
        i++;
    CHECK(i < n, "fault=%s: no \"%s\"", asked.fault, word);
    return i;
}

/* The one that was asked for, as fault_print tells it. */
static void fault_asked(score *s) {
    char kind[16] = "", call[16] = "", phase[16] = "", place[16] = "";
    plant_fault f = {.rank = PLANT_ALL_RANKS};
    CHECK(sscanf(asked.fault, "%15[^,],%15[^,],%15[^,],%15[^,],%zu,%zu,%d,%zu", kind,
                 call, phase, place, &f.count, &f.spot, &f.rank, &f.period) >= 6);
    f.kind = place_in(plant_kinds, PLANT_KINDS, kind);
    f.call = place_in(plant_calls, PLANT_CALLS, call);
    f.phase = place_in(plant_phases, PLANT_PHASES, phase);
    f.place = place_in(plant_places, PLANT_PLACES, place);
    fault_try(&f, s);
}

/* ---- what there is ---- */

static void score_print(const score *s) {
    say("%-13s %-8s %-7s %-9s %-18s %6zu %6zu %6zu %6zu %6zu %6zu\n", now.bench,
        now.exchange, now.device, now.shape, now.variant, s->planted, s->acted,
        s->unverified, s->errors, s->harmless, s->misses);
    fflush(stdout);
    all.planted += s->planted;
    all.acted += s->acted;
    all.unverified += s->unverified;
    all.errors += s->errors;
    all.harmless += s->harmless;
    all.misses += s->misses;
}

static bool swaps(void) {
    return asked.broken && strcmp(asked.broken, "neighbours") == 0;
}

/* A scheme that sends elsewhere must show wherever its messages went astray. */
static void neighbours_try(void) {
    plant_swap(true);
    outcome o = run(NULL, "2");
    unsigned long mine = plant_swapped(), sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    plant_swap(false);
    say("%s %s %s %s: %lu messages or links to the wrong rank: %s\n", now.bench,
        now.exchange, now.device, now.shape, sum, o.verified ? "verified" : "seen");
    all.acted += sum > 0;
    CHECK(sum == 0 || o.status != HF_OK || !o.verified,
          "%s over %s: wrong neighbours verify", now.bench, now.exchange);
}

/* Wrong results must show. */
static void spoils_try(void) {
    for (int how = PLANT_LOST; how < PLANT_SPOILS && !asked.broken; how++) {
        plant_spoil(how, WARMUP + 1);
        outcome o = run(NULL, "60");
        CHECK(o.report.spoiled > 0 && (o.status != HF_OK || !o.verified),
              "%s %s %s %s %s: %s steps verify, %zu B changed", now.bench, now.exchange,
              now.device, now.shape, now.variant, how == PLANT_LOST ? "lost" : "wrong",
              o.report.spoiled);
    }
}

/* Seals of ranks and of runs are never the same. */
static void keys_check(uint64_t key) {
    static uint64_t before;
    uint64_t *keys = malloc((size_t)size * sizeof *keys);
    CHECK(keys && key != before, "two runs seal alike");
    before = key;
    if (keys)
        MPI_Allgather(&key, 1, MPI_UINT64_T, keys, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; keys && i < size; i++)
        CHECK(i == rank || keys[i] != key, "ranks %d and %d seal alike", rank, i);
    free(keys);
}

/* Has the benchmark kernels of the kind that the scheme needs, or none anywhere? */
static bool kernels_there(void) {
    const hf_bench *ops;
    CHECK(hf_bench_find(&ops, now.bench) == HF_OK);
    bool streams = now.session->exchange->ops->streams;
    return (ops->kernels & (streams ? HF_KERNELS_STREAM : HF_KERNELS_MEMORY)) ||
           (ops->kernels == 0 && !streams);
}

/* Runtimes that have a thread for each kernel are told of so many. */
static void streams_check(const hf_args *args, size_t most) {
    const hf_bench *ops;
    const hf_param *param;
    CHECK(hf_bench_find(&ops, now.bench) == HF_OK);
    size_t told = ops->streams ? ops->streams->side_by_side : 0;
    for (size_t i = 0; (param = hf_args_param(args, i)); i++)
        if (strcmp(param->name, "replications") == 0)
            told *= (size_t)hf_args_number(args, param->name);
    CHECK(most <= told, "%s %s: %zu kernels wait for each other, it tells of %zu",
          now.bench, now.variant, most, told);
}

/* The benchmark as it stands, then with faults. False if it refuses these parameters. */
static bool case_try(void) {
    hf_args *args = args_make("60");
    hf_status status = program_make(args);
    if (status != HF_OK) {
        CHECK(*now.variant || !kernels_there(), "%s", hf_error());
        hf_args_free(args);
        return true; /* a type that the device lacks, or a benchmark without kernels */
    }
    plant_learn();
    outcome o = run(NULL, "60");
    streams_check(args, o.report.streams);
    hf_args_free(args);
    if (o.status == HF_EARG || o.status == HF_ENOTSUP) {
        say("%s %s %s %s %s: %s\n", now.bench, now.exchange, now.device, now.shape,
            now.variant, hf_error());
        return false;
    }
    bool first = path_begin() || asked.faults || asked.fault || asked.broken;
    score s = {0};
    if (!first && o.verified && faults_try(NULL) == 0) {
        score_print(&s); /* another scheme has tried all that this one has */
        return true;
    }
    keys_check(o.report.key);
    if (swaps() && o.verified) {
        neighbours_try();
        return true;
    }
    for (int again = 0; again < 2 && o.verified; again++)
        o = run(NULL, "60");
    bool sound = o.status == HF_OK && o.verified && o.report.right &&
                 o.report.checked && !o.report.other;
    CHECK(sound, "%s %s %s %s %s: without a fault: %s", now.bench, now.exchange,
          now.device, now.shape, now.variant,
          o.status != HF_OK ? hf_error()
          : o.verified      ? "memory or what the check finds is not the same again"
                            : "not verified");
    if (!sound)
        return true;
    if (first)
        spoils_try();
    plant_blind(asked.broken != NULL);
    if (asked.fault)
        fault_asked(&s);
    else
        faults_try(&s);
    plant_blind(false);
    score_print(&s);
    CHECK(now.session, "no session after a fault: %s", hf_error());
    CHECK((s.misses > 0) == (asked.broken != NULL), "%s %s %s %s %s: %zu misses",
          now.bench, now.exchange, now.device, now.shape, now.variant, s.misses);
    return true;
}

/* Has a parameter one value in all kernels that there are? Those in this library have the
 * default, but are there for each type; those from files have that of `knobs`. */
static bool is_built_in(const hf_param *param) {
    bool counts = strcmp(param->name, "replications") == 0;
    return asked.knobs ? param->macro || counts
                       : param->macro && (counts || !param->choices);
}

/* Try the defaults. Where many faults are asked for, or the benchmark has no kernels, or the
 * defaults are refused, try every other choice of words, and two replications, too. */
static void variants_try(void) {
    hf_args *args;
    const hf_param *param;
    const hf_bench *ops;
    snprintf(now.variant, sizeof now.variant, "%s", asked.variant ? asked.variant : "");
    bool ran = case_try();
    CHECK(hf_bench_find(&ops, now.bench) == HF_OK);
    bool bytes = ops->problem.power == 1 && !ops->problem.shared;
    CHECK(hf_args_new(&args, now.bench) == HF_OK);
    bool every = asked.faults || asked.fault || ops->kernels == 0,
         others = !asked.variant && (every || !ran);
    for (size_t i = 0; others && (param = hf_args_param(args, i)); i++) {
        bool words = param->choices && strcmp(param->name, "shape") != 0;
        if (!now.compiles && is_built_in(param))
            continue;
        if (bytes && strcmp(param->name, "sizes") == 0) {
            snprintf(now.variant, sizeof now.variant, "sizes=1");
            ran = case_try() || ran;
        }
        if (strcmp(param->name, "replications") == 0) {
            bool two = strcmp(param->fallback, "2") == 0;
            snprintf(now.variant, sizeof now.variant, "replications=%d", two ? 1 : 2);
            ran = case_try() || ran;
        }
        for (const char *at = words ? param->choices : ""; *at;) {
            int length = (int)strcspn(at, "|");
            snprintf(now.variant, sizeof now.variant, "%s=%.*s", param->name, length,
                     at);
            if (strlen(param->fallback) != (size_t)length ||
                strncmp(param->fallback, at, (size_t)length) != 0)
                ran = case_try() || ran;
            at += length + (at[length] == '|');
        }
    }
    CHECK(ran || size > 1, "%s %s %s %s: no parameters ran", now.bench, now.exchange,
          now.device, now.shape);
    hf_args_free(args);
}

/* Benchmarks in all shapes, in one session. */
static void benchmarks_try(void) {
    const char *summary;
    const hf_bench *ops;
    for (size_t b = 0; hf_component("bench", b, &now.bench, &summary); b++) {
        if (!wanted(asked.bench, now.bench) || !now.session)
            continue;
        CHECK(hf_bench_find(&ops, now.bench) == HF_OK);
        bool streams = now.session->exchange->ops->streams;
        static const char *const shapes[] = {"pipeline", "ndrange"};
        for (int i = 0; i < 2; i++) {
            now.shape = shapes[i];
            bool there = i == 0 || (now.compiles && !streams &&
                                    (ops->kernels & HF_KERNELS_NDRANGE));
            if (there && wanted(asked.shape, now.shape) && now.session)
                variants_try();
        }
    }
}

/* Open a session, unless its scheme cannot be over this device, as its table says. */
static bool session_try(void) {
    const hf_exchange_ops *ops;
    CHECK(hf_exchange_find(&ops, now.exchange) == HF_OK);
    bool fits = !ops->host_memory || strcmp(ops->device, now.device) == 0;
    if (ops->streams && asked.workers < MAX_KERNELS)
        return false;
    hf_status status = session_open();
    if (status == HF_OK && fits)
        return true;
    say("%s %s: %s\n", now.exchange, now.device, hf_error());
    CHECK(status == HF_ENOTSUP && (!fits || ops->streams), "%s over %s: %s",
          now.exchange, now.device, hf_error()); /* a GPU has no channels */
    return false;
}

/* The transport, without a benchmark. It knows no device: one is enough. */
static void transport_try(void) {
    static bool tried;
    now.bench = now.session->net->ops->name;
    now.shape = now.variant;
    now.variant[0] = '\0';
    if (tried || strcmp(now.device, "host") != 0 || !wanted(asked.bench, now.bench) ||
        (asked.broken && strcmp(asked.broken, "evidence") != 0))
        return;
    score s = verbs_try();
    score_print(&s);
    CHECK((s.misses > 0) == (asked.broken != NULL), "%s: %zu misses", now.bench,
          s.misses);
    tried = true;
}

/* Whether there is a device of the runtime here; a CPU, unless the first is emulated. */
static bool device_there(void) {
    hf_device_info info;
    bool found = false;
    CHECK(hf_device_list(&info, now.device, 0, &found, NULL) == HF_OK, "%s",
          hf_error());
    now.type = hf_device_types[found && info.emulated ? info.type : HF_CPU];
    return found;
}

static void sessions_try(void) {
    const char *summary;
    for (size_t d = 0; hf_component("device", d, &now.device, &summary); d++)
        for (size_t e = 0; hf_component("exchange", e, &now.exchange, &summary); e++) {
            if (!wanted(asked.device, now.device) || !device_there() ||
                !wanted(asked.exchange, now.exchange) ||
                strcmp(now.exchange, "fault") == 0) /* a scheme of the tests */
                continue;
            if (!session_try())
                continue;
            now.scheme = e;
            unsigned char *nothing = NULL;
            size_t bytes;
            now.compiles =
                hf_session_build(now.session, "", "", &nothing, &bytes) != HF_ENOTSUP;
            free(nothing);
            size_t astray = all.acted;
            transport_try();
            benchmarks_try();
            CHECK(all.acted > astray || size < 3 || asked.bench || !swaps(),
                  "%s over %s: nothing was sent astray", now.exchange, now.device);
            session_close();
        }
}

static void words_take(int argc, char **argv) {
    asked.folder = argc > 1 ? argv[1] : "kernels";
    asked.workers = MAX_KERNELS;
    asked.share = 1;
    for (int i = 2; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        const char *value = equals ? equals + 1 : "";
        const struct {
            const char *name;
            const char **to;
        } names[] = {{"bench=", &asked.bench},     {"exchange=", &asked.exchange},
                     {"device=", &asked.device},   {"shape=", &asked.shape},
                     {"broken=", &asked.broken},   {"binaries=", &asked.binaries},
                     {"knobs=", &asked.knobs},     {"fault=", &asked.fault},
                     {"variant=", &asked.variant}, {"kind=", &asked.kind},
                     {"call=", &asked.call},       {"passes=", &asked.passes}};
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (strncmp(argv[i], names[n].name, strlen(names[n].name)) == 0)
                *names[n].to = value;
        const struct {
            const char *name;
            size_t *to;
        } numbers[] = {{"faults=", &asked.faults},   {"share=", &asked.share},
                       {"part=", &asked.part},       {"seed=", &asked.seed},
                       {"seconds=", &asked.seconds}, {"workers=", &asked.workers},
                       {"guarded=", &asked.guarded}, {"seen=", &asked.seen},
                       {"relay=", &asked.relay}};
        for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
            if (strncmp(argv[i], numbers[n].name, strlen(numbers[n].name)) == 0)
                *numbers[n].to = strtoul(value, NULL, 10);
    }
    char workers[24];
    snprintf(workers, sizeof workers, "%zu", asked.workers);
    setenv("POCL_MAX_PTHREAD_COUNT", workers, 1);
    setenv("POCL_CPU_MAX_CU_COUNT", workers, 1);
}

int main(int argc, char **argv) {
    words_take(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double start = hf_clock_now();
    say("%-13s %-8s %-7s %-9s %-18s %6s %6s %6s %6s %6s %6s\n", "benchmark", "exchange",
        "device", "shape", "variant", "tried", "acted", "wrong", "error", "harml.",
        "MISS");
    sessions_try();
    say("%d ranks: %zu faults tried, %zu acted: %zu unverified, %zu errors, %zu "
        "harmless, %zu missed; %.1f s\n",
        size, all.planted, all.acted, all.unverified, all.errors, all.harmless,
        all.misses, hf_clock_now() - start);
    slots_say();
    reasons_say();
    CHECK(all.acted > 0 || (size < 3 && asked.broken), "nothing was tried");
    MPI_Finalize();
    return check_failures != 0;
}
