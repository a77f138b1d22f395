/* run.c - the only loop and the only clock: samples of a benchmark. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/random.h"
#include "core/registry.h"
#include "core/run.h"
#include "node.h"

enum { CLOCK_READS = 20 };

static hf_status series_grow(hf_series *s, size_t ranks) {
    if (s->n < s->room)
        return HF_OK;
    size_t room = s->room ? 2 * s->room : 16;
    double *all = realloc(s->ranks, room * ranks * sizeof *all);
    s->ranks = all ? all : s->ranks;
    double *slowest = realloc(s->slowest, room * sizeof *slowest);
    s->slowest = slowest ? slowest : s->slowest;
    if (!all || !slowest)
        return hf_fail(HF_ENOMEM, "no memory for %zu samples", room);
    s->room = room;
    return HF_OK;
}

/* The shortest sample; infinity without any. */
static double series_best(const hf_series *s) {
    double best = INFINITY;
    for (size_t i = 0; i < s->n; i++)
        best = fmin(best, s->slowest[i]);
    return best;
}

/* A step ends by the deadline, or when the caller asks for it. Kernels that send to each other
 * are not left so: those of other ranks would wait for ever. */
hf_status hf_go_on(const hf_env *env, bool ends) {
    hf_loop *l = env->loop;
    double now = hf_clock_now(), deadline = l->session->net->deadline;
    if (!ends && now - l->step_began > deadline)
        return hf_fail(
            HF_EDEVICE,
            "a step, or its check, has not ended within the deadline of %g s",
            deadline);
    if (!l->run->tick || now - l->heard < HF_HEARING ||
        l->session->exchange->ops->streams)
        return HF_OK;
    l->heard = now;
    return l->run->tick(l->run->context, NULL);
}

void hf_leave(const hf_env *env, hf_records records) {
    env->loop->left = records;
}

/* The timed part. Where it is long, Ctrl-C is heard between two steps. */
static hf_status steps_take(const hf_loop *l, size_t index, size_t inner) {
    const hf_series *warmup = &l->points[index].warmup;
    size_t most = inner;
    if (warmup->n > 0 && l->run->tick && !l->session->exchange->ops->streams)
        most = (size_t)fmax(1, fmin((double)inner, HF_HEARING / series_best(warmup)));
    for (size_t taken = 0; taken < inner; taken += most) {
        if (taken > 0)
            HF_TRY(l->run->tick(l->run->context, NULL));
        size_t left = inner - taken;
        HF_TRY(l->path->step(l->state, index, left < most ? left : most));
    }
    return HF_OK;
}

/* What still runs when the clock is read is in no sample's time. */
static hf_status idle_check(const hf_device *device) {
    return device->ops->idle(device)
               ? HF_OK
               : hf_fail(HF_EDEVICE,
                         "a command of device \"%s\" outlasted the steps that gave it",
                         device->info.name);
}

static double power_now(hf_device *device) {
    return device->ops->power ? device->ops->power(device) : NAN;
}

/* Take what `laps` counted, and start it anew. */
static void parts_add(double *parts, hf_laps *laps, size_t inner) {
    for (size_t i = 0; i < HF_N_LAPS; i++)
        parts[i] += laps->seconds[i] / (double)inner;
    *laps = (hf_laps){.since = hf_clock_now()};
}

/* Sample all ranks at once; each of them leaves with the same reports, and with room for
 * them in `s`. */
static hf_status sample_take(hf_loop *l, size_t index, hf_series *s, size_t inner,
                             double began) {
    hf_transport *net = l->session->net;
    hf_status status = series_grow(s, (size_t)net->size);
    if (status == HF_OK && l->run->tick)
        status = l->run->tick(l->run->context, NULL);
    hf_sample mine = {.outcome.error = NAN};
    for (size_t i = 0; i < HF_MAX_FINDINGS; i++)
        mine.outcome.findings[i] = NAN;
    l->laps = (hf_laps){.since = hf_clock_now()};
    if (status == HF_OK)
        status = l->path->prepare(l->state, index, l->sample);
    l->sample++;
    parts_add(mine.parts, &l->laps, 1);
    if (status == HF_OK)
        status = hf_trace_ready(l->session->trace);
    HF_TRY(hf_agree(net, status));
    HF_TRY(net->ops->barrier(net));
    hf_exchange_used(l->session->exchange); /* what `prepare` moves does not count */
    hf_trace_begin(l->session->trace);
    hf_stages_begin(&l->stages);
    double start = hf_clock_now();
    l->laps.since = l->step_began = l->heard = start;
    status = steps_take(l, index, inner);
    double end = hf_clock_now();
    if (status == HF_OK)
        status = idle_check(l->session->device);
    hf_trace_end(l->session->trace, start, end);
    mine.schemes = hf_exchange_used(l->session->exchange);
    mine.power = power_now(l->session->device);
    mine.seconds = (end - start) / (double)inner;
    mine.elapsed = end - began;
    mine.clock_cost = l->clock_cost;
    parts_add(mine.parts, &l->laps, inner);
    if (status != HF_OK)
        net->ops->alarm(net);
    HF_TRY(hf_agree(net, status)); /* nobody verifies while another rank is timed */
    status = hf_trace_settle(l->session->trace);
    l->laps.since = l->step_began = hf_clock_now();
    if (status == HF_OK)
        status = l->path->verify(l->state, index, inner, &mine.outcome);
    if (status != HF_OK)
        net->ops->alarm(net); /* others may wait for this rank */
    hf_lap(&l->laps, HF_LAP_VERIFY);
    parts_add(mine.parts, &l->laps, 1);
    const hf_exchange *exchange = l->session->exchange;
    if (exchange->ops->streams)
        exchange->ops->streams->traffic(exchange, &mine.traffic);
    mine.status = (int)status;
    mine.number = l->sample;
    HF_TRY(net->ops->gather(net, l->reports, &mine, sizeof mine));
    for (int rank = 0; rank < net->size; rank++)
        if (l->reports[rank].number != l->sample) {
            net->ops->alarm(net);
            return hf_fail(HF_ECOMM,
                           "the report of rank %d is not of sample %llu, but of %llu",
                           rank, (unsigned long long)l->sample,
                           (unsigned long long)l->reports[rank].number);
        }
    for (int rank = 0; rank < net->size; rank++)
        if (l->reports[rank].status != HF_OK)
            return hf_agree(net, status);
    return HF_OK;
}

static void traffic_add(hf_traffic *sum, const hf_traffic *one) {
    sum->packets += one->packets;
    sum->stalls += one->stalls;
    sum->high_water = hf_larger(sum->high_water, one->high_water);
}

static void worst_take(hf_outcome *worst, const hf_outcome *one) {
    worst->error = hf_larger(worst->error, one->error);
    for (size_t i = 0; i < HF_MAX_FINDINGS; i++)
        worst->findings[i] = hf_larger(worst->findings[i], one->findings[i]);
}

static hf_status sample_keep(hf_loop *l, size_t index, hf_series *s, size_t inner,
                             double began) {
    size_t ranks = (size_t)l->session->net->size;
    HF_TRY(sample_take(l, index, s, inner, began));
    hf_point *p = &l->points[index];
    double slowest = 0;
    size_t last = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        traffic_add(&p->traffic, &l->reports[rank].traffic);
        p->schemes |= l->reports[rank].schemes;
        s->ranks[s->n * ranks + rank] = l->reports[rank].seconds;
        if (l->reports[rank].seconds > slowest)
            last = rank;
        slowest = l->reports[last].seconds;
        worst_take(&p->shares[rank].worst, &l->reports[rank].outcome);
        worst_take(&p->worst, &p->shares[rank].worst);
    }
    if (s->n == 0 || slowest < p->best) {
        hf_trace_keep(l->session->trace);
        hf_stages_keep(&l->stages);
        p->best = slowest;
        p->slowest = (int)last;
        for (size_t rank = 0; rank < ranks; rank++)
            p->shares[rank].best = l->reports[rank];
    }
    s->slowest[s->n++] = slowest;
    return HF_OK;
}

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
    if (l->reps)
        return p->timed.n == l->reps;
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
    double best = series_best(&l->points[index].warmup); /* there is one at least */
    double steps = ceil(CLOCK_READS * report_max(l).clock_cost / fmax(best, 1e-9));
    steps = fmin(fmax(steps, (double)setting->fewest), (double)setting->most);
    return steps < 1 ? 1 : (size_t)steps;
}

static hf_status point_take(hf_loop *l, size_t index, double *scratch) {
    hf_point *p = &l->points[index];
    HF_TRY(hf_agree(l->session->net, l->path->plan(l->state, index, &p->setting)));
    double began = hf_clock_now();
    for (size_t i = 0; i < l->n_warmup; i++)
        HF_TRY(sample_keep(l, index, &p->warmup, 1, began));
    p->inner = inner_choose(l, index);
    p->traffic = (hf_traffic){0};
    do
        HF_TRY(sample_keep(l, index, &p->timed, p->inner, began));
    while (!point_done(l, p, scratch));
    memcpy(scratch, p->timed.slowest, p->timed.n * sizeof *scratch);
    p->stats = hf_stats_of(p->timed.n, scratch);
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
    hf_progress row = {index, l->outline.n_points, n, quantities, values};
    return l->run->tick(l->run->context, &row);
}

/* ---- the run ---- */

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
    HF_TRY(l->path->setup(l->state, args, &env, &l->outline));
    HF_TRY(hf_session_take(session, args, l->outline.longest));
    hf_exchange_lap(session->exchange, env.laps);
    session->exchange->run = run;
    size_t ranks = (size_t)env.size;
    l->points = calloc(l->outline.n_points, sizeof *l->points);
    struct hf_share *shares = calloc(l->outline.n_points * ranks, sizeof *shares);
    if (!l->points || !shares) {
        free(shares);
        return hf_fail(HF_ENOMEM, "no memory for %zu points", l->outline.n_points);
    }
    for (size_t i = 0; i < l->outline.n_points; i++)
        l->points[i].shares = shares + i * ranks;
    return hf_trace_start(session->trace, l->outline.n_points);
}

static void loop_close(hf_loop *l) {
    if (l->state)
        l->path->teardown(l->state);
    hf_trace_stop(l->session->trace);
    hf_exchange_lap(l->session->exchange, NULL);
    l->session->exchange->run = NULL;
    for (size_t i = 0; l->points && i < l->outline.n_points; i++) {
        free(l->points[i].warmup.ranks);
        free(l->points[i].warmup.slowest);
        free(l->points[i].timed.ranks);
        free(l->points[i].timed.slowest);
        free(l->points[i].stages);
        free(l->points[i].stages_at);
    }
    if (l->points)
        free(l->points->shares); /* of all */
    free(l->points);
    hf_stages_free(&l->stages);
    free(l->reports);
    free(l->state);
}

static hf_status point_end(const hf_loop *l, size_t index) {
    HF_TRY(hf_trace_point(l->session->trace, index));
    return row_tell(l, index);
}

static hf_status points_take(hf_loop *l) {
    hf_trace *trace = l->session->trace;
    size_t room = l->reps ? l->reps : l->max_reps;
    double *scratch = malloc(room * sizeof *scratch);
    hf_status status =
        scratch ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %zu samples", room);
    status = hf_agree(l->session->net, status);
    assert(status != HF_OK || scratch);
    for (size_t i = 0; status == HF_OK && i < l->outline.n_points; i++) {
        status = hf_trace_clocks(trace, i);
        if (status == HF_OK)
            status = point_take(l, i, scratch);
        if (status == HF_OK)
            status = hf_agree(l->session->net, point_end(l, i));
        if (status == HF_OK)
            status = hf_loop_stages_gather(l, i);
    }
    if (status == HF_OK)
        status = hf_trace_clocks(trace, l->outline.n_points);
    if (status == HF_OK)
        status = hf_trace_gather(trace);
    free(scratch);
    return status;
}

/* Do all ranks run the same benchmark with the same parameters and kernels? Collective. */
static hf_status run_agree(hf_transport *net, const hf_run *run) {
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
    return hf_same(net, &facts);
}

static hf_status result_make(hf_result **out, const hf_loop *l) {
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
    HF_TRY(run_agree(net, run));
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
