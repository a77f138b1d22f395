/* harness_faults.c - which faults are tried, and how they end. */
#include "harness_faults.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/random.h"
#include "harmless.h"

enum { MAX_REASONS = 16 };

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
} deadlines;

/* A rank that loses a kernel, an answer, or alone a step or a check has the others wait. */
static deadlines deadlines_for(const plant_fault *f) {
    bool streams = now.session->exchange->ops->streams;
    if ((f->call == PLANT_STEP || f->call == PLANT_VERIFY) &&
        f->rank != PLANT_ALL_RANKS)
        return (deadlines){"1", "5"};
    if ((streams && (f->call == PLANT_LAUNCH || f->call == PLANT_STREAM)) ||
        (f->call == PLANT_SENDRECV && f->kind == PLANT_REPEAT))
        return (deadlines){"0.3", "5"};
    return (deadlines){"20", "60"};
}

static void fault_print(const plant_fault *f, const char *end, const outcome *o) {
    say("%s %s %s %s %s: %s %s, %s ", now.bench, now.exchange, now.device, now.shape,
        now.variant, plant_kinds[f->kind], plant_calls[f->call],
        plant_phases[f->phase]);
    if (f->period)
        say("every %zu from %d", f->period, f->place);
    else
        say("%s %zu", plant_places[f->place], f->count);
    const char *memory = o->report.right
                             ? o->report.checked ? "same" : "same after steps"
                         : o->report.checked ? "same after checks"
                                             : "differs";
    say(" spot %zu rank %d of %d: %zu reached, %zu B changed, memory %s, numbers "
        "%s, error %g: %s\n",
        f->spot, f->rank, size, o->report.acted, o->report.changed, memory,
        o->counted ? "same" : "differ", o->report.error, end);
}

static void reason_count(const char *reason) {
    size_t i = 0;
    while (i < MAX_REASONS - 1 && reasons[i].reason && reasons[i].reason != reason)
        i++;
    reasons[i].reason = reason;
    reasons[i].n++;
}

/* Are wrong results seen, in the sample that the fault reached on each rank? */
static bool wrong_seen(const plant_fault *f, const plant_report *report) {
    bool seen = now.session != NULL;
    for (int how = PLANT_LOST; seen && how < PLANT_SPOILS; how++) {
        plant_spoil(how, report->sample);
        outcome o = run(f, f ? deadlines_for(f).first : "60");
        seen = o.report.spoiled > 0 && (o.status != HF_OK || !o.verified);
    }
    return seen;
}

void fault_try(const plant_fault *f, score *s) {
    deadlines patience = deadlines_for(f);
    outcome o = run(f, patience.first);
    if (now.session && o.report.acted == 0 && o.status != HF_OK)
        o = run(f, patience.again);
    s->planted++;
    if (now.session && o.report.acted == 0 && o.status != HF_OK) {
        s->misses++;
        fault_print(f, "FAILS WITHOUT IT", &o);
    }
    if (!now.session || o.report.acted == 0)
        return;
    s->acted++;
    s->errors += o.status != HF_OK;
    s->unverified += o.status == HF_OK && !o.verified;
    if (o.status != HF_OK || !o.verified)
        return;
    const char *reason = o.counted ? harmless(f, &o.report, wrong_seen) : NULL;
    if (reason) {
        s->harmless++;
        reason_count(reason);
        return;
    }
    s->misses++;
    if (!asked.broken)
        fault_print(f, "VERIFIED", &o);
}

/* Calls of a kind in a phase, on the rank that has most. */
static size_t total(int call, int phase) {
    unsigned long mine = plant_total(call, phase), most;
    MPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

typedef struct pair {
    int call, phase;
} pair;

static size_t pairs_list(pair *pairs) {
    size_t n = 0;
    for (int call = 0; call < PLANT_CALLS; call++)
        for (int phase = 0; phase < PLANT_PHASES; phase++)
            if (total(call, phase) > 0)
                pairs[n++] = (pair){call, phase};
    return n;
}

static size_t draw(uint64_t *state, size_t n) {
    return (size_t)(hf_random(asked.seed, (*state)++) % n);
}

static void faults_draw(const pair *pairs, size_t n_pairs, score *s) {
    static const size_t periods[] = {1, 2, 3, 6};
    uint64_t state = 0;
    for (size_t i = 0; i < asked.faults && goes_on(s); i++) {
        pair at = pairs[draw(&state, n_pairs)];
        plant_fault f = {.call = at.call, .phase = at.phase};
        f.kind = (int)draw(&state, PLANT_KINDS);
        f.place = (int)draw(&state, PLANT_PLACES);
        f.count = 1 + draw(&state, 12);
        if (draw(&state, 3) == 0)
            f.period = periods[draw(&state, 4)];
        f.rank = draw(&state, 2) ? PLANT_ALL_RANKS : (int)draw(&state, (size_t)size);
        f.spot = draw(&state, 12);
        fault_try(&f, s);
    }
}

/* One for each call of each phase, more for those in steps. Where a run takes long, some of
 * them: every third on a device that compiles, every seventh with other ranks, where each
 * number of them begins with another. Schemes that move memory share them out: what a
 * benchmark does is the same over each. */
static void faults_fixed(const pair *pairs, size_t n_pairs, score *s) {
    static const plant_fault list[] = {
        {.kind = PLANT_DROP, .place = PLANT_LAST, .count = 1, .rank = PLANT_ALL_RANKS},
        {.kind = PLANT_DROP, .place = PLANT_MIDDLE, .count = 1},
        {.kind = PLANT_DROP, .period = 2, .rank = PLANT_ALL_RANKS},
        {.kind = PLANT_STALE, .period = 1, .rank = PLANT_ALL_RANKS},
        {.kind = PLANT_FLIP, .place = PLANT_FIRST, .count = 1},
        {.kind = PLANT_DROP,
         .place = PLANT_MIDDLE,
         .count = 8,
         .rank = PLANT_ALL_RANKS},
    };
    bool shares =
        !now.session->exchange->ops->streams && !asked.exchange && !asked.broken;
    size_t number = (size_t)size + now.scheme, every = 1;
    every *= size > 1 ? 7 : now.compiles ? 3 : 1;
    every *= shares ? 2 : 1;
    for (size_t i = 0; i < n_pairs; i++) {
        size_t n = pairs[i].phase == PLANT_STEPS ? sizeof list / sizeof *list : 1;
        for (size_t k = 0; k < n && goes_on(s); k++) {
            plant_fault f = list[k];
            f.call = pairs[i].call;
            f.phase = pairs[i].phase;
            f.spot = i;
            if (number++ % every == 0)
                fault_try(&f, s);
        }
    }
}

void faults_try(score *s) {
    pair pairs[PLANT_CALLS * PLANT_PHASES];
    size_t n = pairs_list(pairs);
    asked.faults ? faults_draw(pairs, n, s) : faults_fixed(pairs, n, s);
}

void reasons_say(void) {
    for (size_t i = 0; i < MAX_REASONS && reasons[i].reason; i++)
        say("%6zu harmless: %s\n", reasons[i].n, reasons[i].reason);
}
