/* run.c - the only loop: rounds over the points of a benchmark, and samples at each. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/random.h"
#include "core/registry.h"
#include "core/run.h"
#include "node.h"

enum { CLOCK_READS = 20 };

/* The point that makes a round this long is its last one [s]. */
static const double ROUND_SECONDS = 1;

/* The largest of all ranks' reports: a number that every rank knows. */
static hf_sample report_max(const hf_loop *l) {
    hf_sample most = {0};
    for (int rank = 0; rank < l->session->net->size; rank++) {
        most.elapsed = fmax(most.elapsed, l->reports[rank].elapsed);
        most.clock_cost = fmax(most.clock_cost, l->reports[rank].clock_cost);
    }
    return most;
}

/* Enough repetitions? Every rank decides from the same numbers. */
static bool point_done(const hf_loop *l, const hf_point *p, double *scratch) {
    if (p->timed.n == l->max_reps || report_max(l).elapsed > l->time_limit)
        return true;
    if (p->timed.n < HF_INTERVAL_SAMPLES)
        return false;
    memcpy(scratch, p->timed.slowest, p->timed.n * sizeof *scratch);
    hf_stats stats = hf_stats_of(p->timed.n, scratch);
    return stats.median - stats.low <= 0.05 * stats.median &&
           stats.high - stats.median <= 0.05 * stats.median;
}

/* Steps per sample: enough for CLOCK_READS readings, where the benchmark leaves a choice. */
static size_t inner_choose(const hf_loop *l, size_t index) {
    const hf_setting *setting = &l->points[index].setting;
    double best = hf_series_best(&l->points[index].warmup); /* there is one at least */
    double steps = ceil(CLOCK_READS * report_max(l).clock_cost / fmax(best, 1e-9));
    steps = fmin(fmax(steps, (double)setting->fewest), (double)setting->most);
    return steps < 1 ? 1 : (size_t)steps;
}

/* Repetitions until the end of a round, counted from the first one on; the first rounds have one
 * more where not all can have equally many. */
static size_t reps_until(const hf_loop *l, size_t round) {
    size_t each = l->reps / l->rounds, more = l->reps % l->rounds;
    return each * (round + 1) + (round < more ? round + 1 : more);
}

/* Enough for this round? */
static bool round_done(const hf_loop *l, const hf_point *p, size_t round,
                       double *scratch) {
    return l->reps ? p->timed.n == reps_until(l, round) : point_done(l, p, scratch);
}

static hf_status point_take(hf_loop *l, size_t index, size_t round, double *scratch) {
    hf_point *p = &l->points[index];
    HF_TRY(hf_agree(l->session->net, l->path->plan(l->state, index, &p->setting)));
    double began = hf_clock_now();
    for (size_t i = 0; i < l->n_warmup; i++)
        HF_TRY(hf_sample_keep(l, index, &p->warmup, 1, began));
    if (round == 0)
        p->inner = inner_choose(l, index);
    do
        HF_TRY(hf_sample_keep(l, index, &p->timed, p->inner, began));
    while (!round_done(l, p, round, scratch));
    return HF_OK;
}

static hf_status row_tell(const hf_loop *l, size_t index) {
    if (!l->run->tick)
        return HF_OK;
    const hf_point *p = &l->points[index];
    hf_quantity quantities[HF_MAX_VALUES];
    double values[HF_MAX_VALUES];
    size_t n = 0, n_labels = hf_quantity_count(l->bench->labels),
           n_metrics = hf_quantity_count(l->bench->metrics);
    assert(n_labels + n_metrics + 3 <= HF_MAX_VALUES);
    memcpy(values, p->setting.labels, n_labels * sizeof *values);
    for (size_t i = 0; i < n_labels; i++)
        quantities[n++] = l->bench->labels[i];
    hf_loop_metrics(l, index, p->stats.best, values + n);
    for (size_t i = 0; i < n_metrics; i++)
        quantities[n++] = l->bench->metrics[i];
    quantities[n] = (hf_quantity){.name = "time", .unit = "s"};
    values[n++] = p->stats.best;
    quantities[n] = (hf_quantity){.name = "time_median", .unit = "s"};
    values[n++] = p->stats.median;
    quantities[n] = (hf_quantity){.name = "verified", .unit = "1", .dtype = HF_BOOL};
    values[n++] = hf_point_verified(p);
    bool all = l->turns->n_turns == 1; /* of the run's points are in this call */
    hf_progress row = {all ? index : 0, all ? l->outline.n_points : 1, n, quantities,
                       values};
    return l->run->tick(l->run->context, &row);
}

/* ---- the run ---- */

/* In one turn, one point needs one round. So does a trace, which has the spans of one sample of the
 * point that is being visited. */
static hf_status turns_open(hf_loop *l) {
    hf_turns *turns = l->turns = l->run->turns ? l->run->turns : &l->own;
    bool traced = l->session->trace != NULL;
    if (turns == &l->own)
        *turns = hf_turns_whole(l->run->args);
    if (turns->n_turns > 1 && traced)
        return hf_fail(HF_EARG, "a run in turns has no trace");
    HF_TRY(hf_turns_begin(turns, l->digest, l->run->args, l->outline.n_points,
                          (size_t)l->session->net->size));
    bool one = turns->n_turns == 1 && (l->outline.n_points == 1 || traced);
    l->points = turns->points;
    l->rounds = one ? 1 : turns->rounds;
    return HF_OK;
}

static hf_status loop_open(hf_loop *l, hf_session *session, const hf_run *run) {
    const hf_args *args = run->args;
    l->session = session;
    l->run = run;
    l->reps = (size_t)hf_args_number(args, "reps");
    l->max_reps = (size_t)hf_args_number(args, "max_reps");
    l->n_warmup = (size_t)hf_args_number(args, "warmup");
    l->time_limit = hf_args_number(args, "time_limit");
    l->clock_cost = hf_clock_cost();
    l->state = calloc(1, l->path->state_size);
    l->reports = calloc((size_t)session->net->size, sizeof *l->reports);
    if (!l->state || !l->reports)
        return hf_fail(HF_ENOMEM, "no memory for a run");
    hf_device *device = session->device;
    HF_TRY(hf_device_check(device));
    if (l->bench->kernels && !run->kernel)
        return hf_fail(HF_EARG, "benchmark \"%s\" needs a kernel file", run->bench);
    if (run->kernel)
        HF_TRY(device->ops->load(device, run->kernel, run->binary, run->binary_bytes));
    uint64_t seed = (uint64_t)hf_args_number(args, "seed"),
             run_key = hf_random(session->number, seed);
    l->seals.key = hf_random(run_key, (uint64_t)session->net->rank);
    hf_env env = {
        .device = device,
        .exchange = session->exchange,
        .rank = session->net->rank,
        .size = session->net->size,
        .memory_left = l->memory_left,
        .seed = seed,
        .seals = &l->seals,
        .laps = l->bench->parts ? &l->laps : NULL,
        .stages = l->bench->stages ? &l->stages : NULL,
        .loop = l,
    };
    if (l->bench->kernels & HF_KERNELS_NDRANGE)
        env.ndrange =
            hf_session_ndrange(session, l->bench, hf_args_word(args, "shape"));
    if (env.stages)
        HF_TRY(
            hf_stages_new(env.stages, hf_quantity_count(l->bench->stages), &l->laps));
    if (l->path->ranks_check)
        HF_TRY(l->path->ranks_check(args, session->exchange->ops->name, env.size));
    if (l->bench->brief && !env.exchange->ops->streams && hf_device_on_one_core(device))
        HF_TRY(device->ops->alloc(&l->settling, device, 1, NULL));
    HF_TRY(l->path->setup(l->state, args, &env, &l->outline));
    HF_TRY(turns_open(l));
    HF_TRY(hf_session_take(session, args, l->outline.longest));
    hf_exchange_lap(session->exchange, env.laps);
    session->exchange->run = run;
    return hf_trace_start(session->trace, l->outline.n_points);
}

static void loop_close(hf_loop *l) {
    if (l->state)
        l->path->teardown(l->state);
    l->session->device->ops->free(l->settling);
    hf_trace_stop(l->session->trace);
    hf_exchange_lap(l->session->exchange, NULL);
    l->session->exchange->run = NULL;
    hf_turns_clear(&l->own);
    hf_stages_free(&l->stages);
    free(l->reports);
    free(l->state);
}

static hf_status point_end(const hf_loop *l, size_t index, double *scratch) {
    hf_point *p = &l->points[index];
    memcpy(scratch, p->timed.slowest, p->timed.n * sizeof *scratch);
    p->stats = hf_stats_of(p->timed.n, scratch);
    HF_TRY(hf_trace_point(l->session->trace, index));
    return row_tell(l, index);
}

/* What follows the first round; then the caller hears of these points. */
static hf_status points_complete(hf_loop *l, size_t first, size_t end,
                                 double *scratch) {
    for (size_t round = 1; round < l->rounds; round++)
        for (size_t i = first; i < end; i++)
            HF_TRY(point_take(l, i, round, scratch));
    for (size_t i = first; i < end; i++) {
        HF_TRY(hf_agree(l->session->net, point_end(l, i, scratch)));
        HF_TRY(hf_loop_stages_gather(l, i));
    }
    return HF_OK;
}

/* Points from `first` on, in rounds, up to the one that makes the first round ROUND_SECONDS long.
 * If it takes as long by itself, nobody waits for it. */
static hf_status group_take(hf_loop *l, size_t first, size_t *end, double *scratch) {
    double elapsed = 0, last;
    *end = first;
    do {
        HF_TRY(hf_trace_clocks(l->session->trace, *end));
        HF_TRY(point_take(l, *end, 0, scratch));
        last = report_max(l).elapsed;
        elapsed += last;
        ++*end;
    } while (*end < l->outline.n_points && l->rounds > 1 && elapsed < ROUND_SECONDS);
    size_t others = last < ROUND_SECONDS ? *end : *end - 1;
    HF_TRY(points_complete(l, first, others, scratch));
    return points_complete(l, others, *end, scratch);
}

static hf_status rounds_take(hf_loop *l, double *scratch) {
    for (size_t i = 0; i < l->outline.n_points;)
        HF_TRY(group_take(l, i, &i, scratch));
    return hf_trace_clocks(l->session->trace, l->outline.n_points);
}

/* Stages are those of the last samples of a whole run: see hf_loop_stages_gather. */
static hf_status visit_take(hf_loop *l, size_t visit, double *scratch) {
    size_t index = visit % l->outline.n_points;
    assert(!l->bench->stages);
    HF_TRY(point_take(l, index, visit / l->outline.n_points, scratch));
    return hf_agree(l->session->net, point_end(l, index, scratch));
}

/* After one that failed here there is none: it may have taken some of its samples. */
static hf_status turn_take(hf_loop *l, double *scratch) {
    hf_turns *turns = l->turns;
    size_t turn = turns->taken;
    turns->taken = turns->n_turns;
    HF_TRY(turns->n_turns == 1 ? rounds_take(l, scratch)
                               : visit_take(l, turn, scratch));
    turns->taken = turn + 1;
    return HF_OK;
}

static hf_status points_take(hf_loop *l) {
    size_t room = l->reps ? l->reps : l->max_reps;
    double *scratch = malloc(room * sizeof *scratch);
    hf_status status =
        scratch ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %zu samples", room);
    status = hf_agree(l->session->net, status);
    assert(status != HF_OK || scratch);
    if (status == HF_OK)
        status = turn_take(l, scratch);
    if (status == HF_OK)
        status = hf_trace_gather(l->session->trace);
    free(scratch);
    return status;
}

void hf_leave(const hf_env *env, hf_records records) {
    env->loop->left = records;
}

/* Do all ranks run the same benchmark with the same parameters and kernels? *digest is of these.
 * Collective. */
static hf_status run_agree(uint64_t *digest, const hf_session *session,
                           const hf_run *run) {
    hf_statement facts = {0};
    const hf_param *param;
    hf_fact(&facts, "benchmark");
    hf_fact_add(&facts, "%s", run->bench);
    for (size_t i = 0; (param = hf_args_param(run->args, i)); i++) {
        const char *word = hf_args_text(run->args, i);
        size_t n = word ? 0 : hf_args_count(run->args, i);
        hf_fact(&facts, param->name);
        hf_fact_add(&facts, "%s", word ? word : "");
        for (size_t k = 0; k < n; k++)
            hf_fact_add(&facts, "%s%.17g", k ? "," : "",
                        hf_args_numbers(run->args, i)[k]);
    }
    hf_fact(&facts, "kernel");
    hf_fact_add(&facts, "%s %s", run->kernel ? run->kernel : "none",
                run->kernel_hash ? run->kernel_hash : "");
    hf_fact(&facts, "ranks");
    hf_fact_add(&facts, "%d over exchange %s", session->net->size,
                session->exchange->ops->name);
    *digest = facts.failed ? 0 : hf_digest(HF_DIGEST_START, facts.text, facts.bytes);
    const hf_turns whole = {.n_turns = 1}, *turns = run->turns ? run->turns : &whole;
    hf_fact(&facts, "turn");
    hf_fact_add(&facts, "%zu of %zu", turns->taken + 1, turns->n_turns);
    return hf_same(session->net, &facts);
}

/* Remarks are taken while what they are about is open. */
static void exchange_notes_take(const hf_loop *l) {
    const hf_exchange *exchange = l->session->exchange;
    unsigned schemes = hf_loop_schemes(l);
    if (*exchange->note)
        hf_turns_note(l->turns, exchange->note);
    for (size_t i = 0; i < exchange->n_choices; i++)
        if (schemes >> i & 1 && *exchange->choices[i]->note)
            hf_turns_note(l->turns, exchange->choices[i]->note);
}

static hf_status result_make(hf_result **out, const hf_loop *l) {
    exchange_notes_take(l);
    if (hf_turns_left(l->turns) > 0)
        return HF_OK;
    HF_TRY(hf_loop_result(out, l));
    return hf_result_set_records(*out, l->left);
}

static hf_status loop_run(hf_session *session, hf_result **out, const hf_run *run) {
    hf_loop l = {0};
    hf_result *result = NULL;
    hf_transport *net = session->net;
    /* Before they have agreed, no rank takes memory for the run. */
    l.crowded = hf_node_crowded(net->local_size);
    l.memory_left = hf_host_memory_of("").free / (uint64_t)net->local_size;
    HF_TRY(run_agree(&l.digest, session, run));
    HF_TRY(hf_bench_find(&l.bench, run->bench));
    HF_TRY(hf_session_path(&l.path, session, l.bench));
    hf_status status = hf_agree(net, loop_open(&l, session, run));
    if (status == HF_OK && l.path->connect)
        status = hf_agree(net, l.path->connect(l.state));
    if (status == HF_OK)
        status = points_take(&l);
    if (status == HF_OK)
        status = hf_agree(net, result_make(&result, &l));
    loop_close(&l);
    if (status == HF_OK)
        *out = result;
    else
        hf_result_free(result);
    return status;
}

hf_status hf_session_run(hf_session *session, hf_result **out, const hf_run *run) {
    hf_transport *net = session->net;
    hf_device *device = session->device;
    double deadline = net->deadline;
    HF_TRY(hf_session_check(session));
    session->number++;
    net->deadline = device->deadline = hf_args_number(run->args, "deadline");
    hf_status status = hf_agree(net, net->ops->renew(net));
    if (status == HF_OK)
        status = loop_run(session, out, run);
    net->deadline = device->deadline = deadline;
    return status;
}
