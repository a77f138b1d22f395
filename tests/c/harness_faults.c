/* harness_faults.c - which faults are tried, and how they end. */
#include "harness_faults.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/digest.h"
#include "core/random.h"
#include "harmless.h"
#include "plant_state.h"

enum { MAX_REASONS = 40 };

static struct {
    const char *reason;
    size_t n;
} reasons[MAX_REASONS];

void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (rank == 0)
        vprintf(format, list);
    va_end(list);
}

/* Seconds for a run with a fault, and for another one if a busy host took these up before it. */
typedef struct deadlines {
    const char *first, *again;
    bool waits; /* ranks wait for others until the deadline */
} deadlines;

/* A rank that loses a kernel, an answer, or alone a step or a check has the others wait. */
static deadlines deadlines_for(const plant_fault *f) {
    bool streams = now.session->exchange->ops->streams;
    if ((f->call == PLANT_STEP || f->call == PLANT_VERIFY) &&
        f->rank != PLANT_ALL_RANKS)
        return (deadlines){"0.3", "5", true};
    if ((streams && (f->call == PLANT_LAUNCH || f->call == PLANT_STREAM)) ||
        (f->call == PLANT_SENDRECV && f->kind == PLANT_REPEAT))
        return (deadlines){"0.3", "5", true};
    return (deadlines){"1", "60", false};
}

static void fault_print(const plant_fault *f, const char *end, const outcome *o) {
    say("%s %s %s %s %s: fault=%s,%s,%s,%s,%zu,%zu,%d,%zu: ", now.bench, now.exchange,
        now.device, now.shape, now.variant, plant_kinds[f->kind], plant_calls[f->call],
        plant_phases[f->phase], plant_places[f->place], f->count, f->spot, f->rank,
        f->period);
    const char *memory = o->report.right
                             ? o->report.checked ? "same" : "same after steps"
                         : o->report.checked ? "same after checks"
                                             : "differs";
    say("%zu of %d ranks' calls reached%s, %zu changed, %zu B, memory %s%s%s%s%s%s%s, "
        "numbers %s, error %g%s: %s\n",
        o->report.reached, size, o->report.spared ? "" : ", on a rank all",
        o->report.acted, o->report.changed, memory,
        o->report.given ? ", for checks the same" : "",
        o->report.alone ? ", but for what was damaged" : "",
        o->report.apart ? ", damage apart" : "", o->report.clears ? ", zeros" : "",
        o->report.fixed ? ", but for what is fixed" : "",
        o->report.made ? ", but for what is left" : "", o->counted ? "same" : "differ",
        o->report.error, o->report.other ? ", other than without it" : "", end);
}

static void reason_count(const char *reason) {
    size_t i = 0;
    while (i < MAX_REASONS - 1 && reasons[i].reason && reasons[i].reason != reason)
        i++;
    reasons[i].reason = reason;
    reasons[i].n++;
}

/* A run that fails before the fault has changed anything has met a busy host, and one that is
 * late perhaps: another one has more time. */
static outcome fault_run(const plant_fault *f) {
    deadlines patience = deadlines_for(f);
    outcome o = run(f, patience.first);
    if (now.session && o.late && o.report.acted > 0 && !patience.waits)
        o = run(f, "5");
    if (now.session && o.status != HF_OK && o.report.acted == 0)
        o = run(f, patience.again);
    if (now.session && o.status != HF_OK && o.report.acted == 0)
        o = run(f, "60");
    return o;
}

/* Are wrong results seen in this sample, 0 on a rank for none? */
static bool spoils_seen(const plant_fault *f, size_t sample, bool may_lack) {
    bool seen = now.session != NULL;
    for (int how = PLANT_LOST; seen && how < PLANT_SPOILS; how++) {
        plant_spoil(how, sample);
        outcome o = run(f, deadlines_for(f).first);
        if (now.session && o.status != HF_OK && o.report.spoiled == 0) {
            plant_spoil(how, sample); /* on a busy host it came to no steps */
            o = run(f, "60");
        }
        if (now.session && o.late) { /* so does a wrong result that others wait for */
            plant_spoil(how, sample);
            o = run(f, "5");
        }
        if (may_lack && o.status == HF_OK && o.report.spoiled == 0)
            return now.session != NULL;
        seen = o.report.spoiled > 0 && (o.status != HF_OK || !o.verified);
    }
    return seen;
}

/* Are wrong results seen in the sample that the fault reached on each rank, and, after a check
 * with a fault, which may leave memory to the next one, in the next sample, if there is one? */
static bool wrong_seen(const plant_fault *f, const plant_report *report) {
    bool checks = f->phase == PLANT_WARM_CHECK || f->phase == PLANT_CHECK;
    size_t sample = report->sample;
    return spoils_seen(f, sample, false) &&
           (!checks || spoils_seen(f, sample + (sample > 0), true));
}

/* Is a fault of a warm-up's input seen in the first timed sample's, which takes more steps; is
 * one of steps seen in those of another timed sample? */
static bool later_seen(const plant_fault *f) {
    plant_later(f->phase == PLANT_STEPS ? PLANT_STEPS : PLANT_INPUT);
    outcome o = run(f, "60");
    return now.session && (o.status != HF_OK || !o.verified);
}

void fault_try(const plant_fault *f, score *s) {
    outcome o = fault_run(f);
    s->planted++;
    if (!now.session)
        return;
    bool acted = o.report.acted > 0, seen = o.status != HF_OK || !o.verified;
    s->acted += acted;
    if (acted && seen) {
        s->errors += o.status != HF_OK;
        s->unverified += o.status == HF_OK;
        return;
    }
    const char *reason = !asked.seen && !seen && o.counted && o.report.reached > 0
                             ? harmless(f, &o.report, wrong_seen, later_seen)
                             : NULL;
    if (reason) {
        s->harmless++;
        reason_count(reason);
        return;
    }
    s->misses++;
    if (!asked.broken)
        fault_print(f,
                    acted  ? "VERIFIED"
                    : seen ? "FAILS WITHOUT IT"
                           : "CHANGES NOTHING",
                    &o);
}

/* A call in a phase, and the ranks that make it there, one bit each. */
typedef struct pair {
    int call, phase;
    uint64_t ranks;
} pair;

static size_t pairs_list(pair pairs[PLANT_CALLS * PLANT_PHASES]) {
    uint64_t mine[PLANT_CALLS][PLANT_PHASES], all[PLANT_CALLS][PLANT_PHASES];
    size_t n = 0;
    for (int call = 0; call < PLANT_CALLS; call++)
        for (int phase = 0; phase < PLANT_PHASES; phase++)
            mine[call][phase] = (uint64_t)(plant_total(call, phase) > 0) << rank;
    MPI_Allreduce(mine, all, PLANT_CALLS * PLANT_PHASES, MPI_UINT64_T, MPI_BOR,
                  MPI_COMM_WORLD);
    for (int call = 0; call < PLANT_CALLS; call++)
        for (int phase = 0; phase < PLANT_PHASES; phase++)
            if (all[call][phase] &&
                (size > 1 || call < PLANT_GATHER)) /* else nothing travels */
                pairs[n++] = (pair){call, phase, all[call][phase]};
    return n;
}

/* The numbers of a draw, one after the other. */
typedef struct lots {
    uint64_t seed, taken;
} lots;

static size_t draw(lots *from, size_t n) {
    return (size_t)(hf_random(from->seed, from->taken++) % n);
}

/* One call, a row of them, or every so many, of all ranks or of one; or every call of all. */
static const struct {
    bool row, often, every, alone;
} turns[] = {{0},
             {.row = true},
             {.often = true},
             {.alone = true},
             {.row = true, .alone = true},
             {.often = true, .alone = true},
             {.every = true}};
enum { TURNS = sizeof turns / sizeof *turns };

/* A fault of this kind, the `turn`-th. Where one rank alone made a call twice, it would meet the
 * others in another one. */
static plant_fault fault_drawn(const pair *at, int kind, size_t turn, lots from) {
    static const size_t periods[] = {1, 2, 3, 6};
    bool together = plant_tells(at->call) && kind == PLANT_REPEAT;
    size_t row = 2 + draw(&from, 11), period = periods[draw(&from, 4)];
    int one = (int)draw(&from, (size_t)size);
    while (!(at->ranks >> one & 1))
        one = (one + 1) % size;
    return (plant_fault){.call = at->call,
                         .phase = at->phase,
                         .kind = kind,
                         .count = turns[turn].row ? row : 1,
                         .period = turns[turn].every   ? 1
                                   : turns[turn].often ? period
                                                       : 0,
                         .rank = turns[turn].alone && !together ? one : PLANT_ALL_RANKS,
                         .place = (int)draw(&from, PLANT_PLACES),
                         .spot = draw(&from, 12)};
}

/* ---- slots: one kind of fault in one call of one phase ---- */

/* Those of a path of a benchmark: schemes that move memory share it. */
typedef struct path {
    uint64_t name;
    bool begun;
    struct slot {
        bool there, tried;
        size_t before; /* paths that have it, too */
    } slots[PLANT_CALLS][PLANT_PHASES][PLANT_KINDS];
} path;

enum { MAX_PATHS = 128 };
static path paths[MAX_PATHS];

static path *path_now(void) {
    char text[256];
    snprintf(text, sizeof text, "%s %s %s %s %d", now.bench, now.device, now.shape,
             now.variant, now.session->exchange->ops->streams != NULL);
    uint64_t name = hf_digest(HF_DIGEST_START, text, strlen(text));
    size_t i = 0;
    while (i < MAX_PATHS && paths[i].name != 0 && paths[i].name != name)
        i++;
    plant_must(i < MAX_PATHS);
    paths[i].name = name;
    return &paths[i];
}

/* Kernels that draw numbers from zeros never end, as only a deadline sees; they would run beside
 * all that follows. A process of its own tries that: tests/plain.cmake. */
static bool endless(int call, int kind) {
    return strcmp(now.bench, "randomaccess") == 0 && call == PLANT_WRITE &&
           kind == PLANT_ZERO;
}

/* Wrong indices, which come to a device before its steps. */
static bool astray(const pair *at, int kind) {
    return !plant_guards() && !asked.guarded && at->phase != PLANT_STEPS &&
           (kind == PLANT_FLIP || kind == PLANT_SHORTEN || kind == PLANT_STALE);
}

/* How many faults of a slot are tried: as many as were asked for; else one in the first scheme
 * that has it, where it belongs to the share of these ranks: of N paths that have it, one in N, so
 * that each slot is tried in some path. Without a number of faults, what ranks tell each other has
 * a share that is twice as large: one rank alone cannot try it. */
static size_t turns_of(const struct slot *slot, int call, size_t number) {
    bool twice = asked.share > 1 && plant_tells(call) && !asked.faults;
    size_t share = twice ? asked.share / 2 : asked.share;
    uint64_t first = hf_random(asked.seed, number) + (uint64_t)size + asked.part;
    bool shared = (slot->before + first) % share == 0;
    if (asked.broken)
        return 1;
    return asked.faults ? shared * asked.faults : shared && !slot->tried;
}

static bool asked_for(const char *name, const char *is) {
    return !name || strcmp(name, is) == 0;
}

bool path_begin(void) {
    path *of = path_now();
    bool first = !of->begun;
    of->begun = true;
    return first;
}

/* Draw faults of a slot, and try them; without a score, only count them. */
static size_t slot_try(path *of, const pair *at, int kind, score *s) {
    if (!plant_can(at->call, kind) || endless(at->call, kind) || astray(at, kind) ||
        !asked_for(asked.call, plant_calls[at->call]) ||
        !asked_for(asked.kind, plant_kinds[kind]))
        return 0;
    size_t number =
        (size_t)(at->call * PLANT_PHASES + at->phase) * PLANT_KINDS + (size_t)kind;
    uint64_t own = hf_random(of->name, number) + asked.seed;
    static size_t paths_with[PLANT_CALLS * PLANT_PHASES * PLANT_KINDS];
    struct slot *slot = &of->slots[at->call][at->phase][kind];
    if (!slot->there)
        slot->before = paths_with[number]++;
    slot->there = true;
    size_t n = turns_of(slot, at->call, number);
    for (size_t k = 0; s && k < n && goes_on(s); k++) {
        lots from = {own + (uint64_t)size, 16 * k};
        plant_fault f = fault_drawn(at, kind, (own / 256 + k) % TURNS, from);
        slot->tried = true;
        fault_try(&f, s);
    }
    return n;
}

size_t faults_try(score *s) {
    pair pairs[PLANT_CALLS * PLANT_PHASES];
    size_t n = 0, n_pairs = pairs_list(pairs);
    path *of = path_now();
    for (size_t i = 0; i < n_pairs; i++)
        for (int kind = 0; kind < PLANT_KINDS; kind++)
            n += slot_try(of, &pairs[i], kind, s);
    return n;
}

void slots_say(void) {
    size_t n = 0, tried = 0;
    for (size_t i = 0; i < MAX_PATHS; i++)
        for (int call = 0; call < PLANT_CALLS; call++)
            for (int phase = 0; phase < PLANT_PHASES; phase++)
                for (int kind = 0; kind < PLANT_KINDS; kind++) {
                    n += paths[i].slots[call][phase][kind].there;
                    tried += paths[i].slots[call][phase][kind].tried;
                }
    say("%zu of %zu slots tried: kinds of faults in calls of phases\n", tried, n);
}

void reasons_say(void) {
    for (size_t i = 0; i < MAX_REASONS && reasons[i].reason; i++)
        say("%6zu harmless: %s\n", reasons[i].n, reasons[i].reason);
}
