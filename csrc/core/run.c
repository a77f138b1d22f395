/* run.c - the only loop and the only clock: samples of a benchmark, and their result. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/result.h"
#include "core/session.h"
#include "core/stats.h"

enum { CLOCK_READS = 20, MAX_VALUES = 32, CONVERGED_REPS = 6 };

/* What a rank tells the others after a sample. */
typedef struct report {
    double seconds, error, elapsed;
    int status;
} report;

/* Seconds per step of all samples of a point: [n, ranks], and the slowest's: [n]. */
typedef struct series {
    double *ranks, *slowest;
    size_t n, room;
} series;

typedef struct point {
    series warmup, timed;
    hf_stats stats;
    size_t inner;
    double error;
} point;

typedef struct loop {
    const hf_session *session;
    const hf_bench_ops *ops;
    const hf_run *run;
    void *state;
    report *reports; /* [ranks] */
    point *points;
    size_t n_points, reps, max_reps, n_warmup;
    double time_limit, clock_cost;
    uint64_t sample; /* number of the next sample of this run */
} loop;

static size_t quantity_count(const hf_quantity *table) {
    size_t n = 0;
    while (table && table[n].name)
        n++;
    return n;
}

static hf_status series_grow(series *s, size_t ranks) {
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

/* Sample all ranks at once; each of them leaves with the same reports. */
static hf_status sample_take(loop *l, size_t index, size_t inner, double began) {
    hf_transport *net = l->session->net;
    const hf_bench_ops *ops = l->ops;
    hf_status status = l->run->tick ? l->run->tick(l->run->context, NULL) : HF_OK;
    if (status == HF_OK && ops->prepare)
        status = ops->prepare(l->state, index, l->sample);
    l->sample++;
    HF_TRY(hf_agree(net, status));
    HF_TRY(net->ops->barrier(net));
    double start = hf_clock_now();
    status = ops->step(l->state, index, inner);
    double end = hf_clock_now();
    report mine = {.seconds = (end - start) / (double)inner, .elapsed = end - began};
    if (status != HF_OK)
        net->ops->alarm(net);
    else
        status = ops->verify(l->state, index, inner, &mine.error);
    mine.status = (int)status;
    HF_TRY(net->ops->gather(net, l->reports, &mine, sizeof mine));
    for (int rank = 0; rank < net->size; rank++)
        if (l->reports[rank].status != HF_OK)
            return hf_agree(net, status);
    return HF_OK;
}

static hf_status sample_keep(loop *l, size_t index, series *s, size_t inner,
                             double began) {
    size_t ranks = (size_t)l->session->net->size;
    HF_TRY(hf_agree(l->session->net, series_grow(s, ranks)));
    HF_TRY(sample_take(l, index, inner, began));
    point *p = &l->points[index];
    double slowest = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        s->ranks[s->n * ranks + rank] = l->reports[rank].seconds;
        slowest = fmax(slowest, l->reports[rank].seconds);
        /* Not fmax: a NaN must stay. */
        if (!(l->reports[rank].error <= p->error))
            p->error = l->reports[rank].error;
    }
    s->slowest[s->n++] = slowest;
    return HF_OK;
}

static double elapsed_max(const loop *l) {
    double elapsed = 0;
    for (int rank = 0; rank < l->session->net->size; rank++)
        elapsed = fmax(elapsed, l->reports[rank].elapsed);
    return elapsed;
}

/* Enough repetitions? Every rank decides from the same numbers. */
static bool point_done(const loop *l, const point *p, double *scratch) {
    if (l->reps)
        return p->timed.n == l->reps;
    if (p->timed.n == l->max_reps || elapsed_max(l) > l->time_limit)
        return true;
    if (p->timed.n < CONVERGED_REPS)
        return false;
    memcpy(scratch, p->timed.slowest, p->timed.n * sizeof *scratch);
    hf_stats stats = hf_stats_of(p->timed.n, scratch);
    return stats.median - stats.low <= 0.05 * stats.median &&
           stats.high - stats.median <= 0.05 * stats.median;
}

/* Steps per sample: the benchmark's choice, or enough for CLOCK_READS clock readings. */
static size_t inner_choose(const loop *l, size_t index) {
    size_t inner = l->ops->inner ? l->ops->inner(l->state, index) : 0;
    if (inner)
        return inner;
    const series *s = &l->points[index].warmup;
    double best = s->slowest[0];
    for (size_t i = 1; i < s->n; i++)
        best = fmin(best, s->slowest[i]);
    double steps = ceil(CLOCK_READS * l->clock_cost / fmax(best, 1e-9));
    return steps < 1 ? 1 : (size_t)steps;
}

static hf_status point_take(loop *l, size_t index, double *scratch) {
    point *p = &l->points[index];
    double began = hf_clock_now();
    for (size_t i = 0; i < l->n_warmup; i++)
        HF_TRY(sample_keep(l, index, &p->warmup, 1, began));
    p->inner = inner_choose(l, index);
    do
        HF_TRY(sample_keep(l, index, &p->timed, p->inner, began));
    while (!point_done(l, p, scratch));
    memcpy(scratch, p->timed.slowest, p->timed.n * sizeof *scratch);
    p->stats = hf_stats_of(p->timed.n, scratch);
    return HF_OK;
}

static bool point_verified(const point *p) {
    return p->error == 0;
}

/* Metrics at a point, NaN where the data did not verify. */
static void metrics_get(const loop *l, size_t index, double seconds, double *values) {
    l->ops->metric(l->state, index, seconds, values);
    if (!point_verified(&l->points[index]))
        for (size_t i = 0; i < quantity_count(l->ops->metrics); i++)
            values[i] = NAN;
}

static hf_status row_tell(const loop *l, size_t index) {
    if (!l->run->tick)
        return HF_OK;
    const point *p = &l->points[index];
    const char *names[MAX_VALUES];
    double values[MAX_VALUES];
    size_t n = 0, n_labels = quantity_count(l->ops->labels),
           n_metrics = quantity_count(l->ops->metrics);
    assert(n_labels + n_metrics + 3 <= MAX_VALUES);
    l->ops->label(l->state, index, values);
    for (size_t i = 0; i < n_labels; i++)
        names[n++] = l->ops->labels[i].name;
    metrics_get(l, index, p->stats.best, values + n);
    for (size_t i = 0; i < n_metrics; i++)
        names[n++] = l->ops->metrics[i].name;
    names[n] = "time";
    values[n++] = p->stats.best;
    names[n] = "time_median";
    values[n++] = p->stats.median;
    names[n] = "verified";
    values[n++] = point_verified(p);
    hf_progress row = {index, l->n_points, n, names, values};
    return l->run->tick(l->run->context, &row);
}

/* ---- the result ---- */

static hf_column column_make(const char *name, const char *suffix, const char *unit,
                             hf_dtype dtype, size_t points) {
    hf_column column = {.unit = unit, .shape = {points}, .n_dims = 1, .dtype = dtype};
    snprintf(column.name, sizeof column.name, "%s%s", name, suffix);
    return column;
}

static const struct {
    const char *name;
    size_t at;
} stat_columns[] = {
    {"time", offsetof(hf_stats, best)},    {"time_median", offsetof(hf_stats, median)},
    {"time_low", offsetof(hf_stats, low)}, {"time_high", offsetof(hf_stats, high)},
    {"time_q1", offsetof(hf_stats, q1)},   {"time_q3", offsetof(hf_stats, q3)},
    {"time_p95", offsetof(hf_stats, p95)}, {"time_p99", offsetof(hf_stats, p99)},
};
enum { N_STATS = sizeof stat_columns / sizeof stat_columns[0], N_COMMON = 6 };

static size_t columns_list(const loop *l, hf_column *columns) {
    size_t n = 0, ranks = (size_t)l->session->net->size, longest = 0;
    for (size_t i = 0; i < l->n_points; i++)
        longest = l->points[i].timed.n > longest ? l->points[i].timed.n : longest;
    assert(columns);
    for (const hf_quantity *q = l->ops->labels; q && q->name; q++)
        columns[n++] = column_make(q->name, "", q->unit, q->dtype, l->n_points);
    for (size_t i = 0; i < N_STATS; i++)
        columns[n++] = column_make(stat_columns[i].name, "", "s", HF_F64, l->n_points);
    for (const hf_quantity *q = l->ops->metrics; q && q->name; q++) {
        columns[n++] = column_make(q->name, "", q->unit, HF_F64, l->n_points);
        columns[n++] = column_make(q->name, "_median", q->unit, HF_F64, l->n_points);
    }
    columns[n++] = column_make("verified", "", "1", HF_BOOL, l->n_points);
    columns[n++] = column_make("error", "", "1", HF_F64, l->n_points);
    columns[n++] = column_make("reps", "", "1", HF_I64, l->n_points);
    columns[n++] = column_make("inner", "", "1", HF_I64, l->n_points);
    hf_column samples = column_make("samples", "", "s", HF_F64, l->n_points);
    samples.n_dims = 3;
    samples.shape[1] = longest;
    samples.shape[2] = ranks;
    columns[n++] = samples;
    hf_column warmup = column_make("warmup", "", "s", HF_F64, l->n_points);
    warmup.n_dims = 3;
    warmup.shape[1] = l->n_warmup;
    warmup.shape[2] = ranks;
    columns[n++] = warmup;
    return n;
}

/* Rows of a ragged series, padded with NaN. */
static void series_copy(double *to, size_t rows, const series *s, size_t ranks) {
    for (size_t i = 0; i < rows * ranks; i++)
        to[i] = i < s->n * ranks ? s->ranks[i] : NAN;
}

static void labels_fill(const loop *l, hf_result *result, size_t index) {
    double values[MAX_VALUES];
    l->ops->label(l->state, index, values);
    for (size_t i = 0; i < quantity_count(l->ops->labels); i++) {
        const hf_quantity *q = &l->ops->labels[i];
        if (q->dtype == HF_I64)
            hf_result_integers(result, q->name)[index] = (int64_t)values[i];
        else
            hf_result_doubles(result, q->name)[index] = values[i];
    }
}

static void metrics_fill(const loop *l, hf_result *result, size_t index) {
    const hf_stats *stats = &l->points[index].stats;
    double best[MAX_VALUES], median[MAX_VALUES];
    metrics_get(l, index, stats->best, best);
    metrics_get(l, index, stats->median, median);
    for (size_t i = 0; i < quantity_count(l->ops->metrics); i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_median", l->ops->metrics[i].name);
        hf_result_doubles(result, l->ops->metrics[i].name)[index] = best[i];
        hf_result_doubles(result, name)[index] = median[i];
    }
}

static void point_fill(const loop *l, hf_result *result, size_t index) {
    const point *p = &l->points[index];
    size_t ranks = (size_t)l->session->net->size, rows = 0;
    labels_fill(l, result, index);
    metrics_fill(l, result, index);
    for (size_t i = 0; i < N_STATS; i++)
        memcpy(&hf_result_doubles(result, stat_columns[i].name)[index],
               (const char *)&p->stats + stat_columns[i].at, sizeof(double));
    hf_result_flags(result, "verified")[index] = point_verified(p);
    hf_result_doubles(result, "error")[index] = p->error;
    hf_result_integers(result, "reps")[index] = (int64_t)p->timed.n;
    hf_result_integers(result, "inner")[index] = (int64_t)p->inner;
    for (size_t i = 0; i < l->n_points; i++)
        rows = l->points[i].timed.n > rows ? l->points[i].timed.n : rows;
    series_copy(hf_result_doubles(result, "samples") + index * rows * ranks, rows,
                &p->timed, ranks);
    series_copy(hf_result_doubles(result, "warmup") + index * l->n_warmup * ranks,
                l->n_warmup, &p->warmup, ranks);
}

/* Figures over all points: from the best repetitions and from the medians. */
static void figures_fill(const loop *l, hf_result *result, double *seconds) {
    size_t n = quantity_count(l->ops->figures);
    double values[MAX_VALUES];
    for (int median = 0; median < 2; median++) {
        for (size_t i = 0; i < l->n_points; i++) {
            const point *p = &l->points[i];
            double time = median ? p->stats.median : p->stats.best;
            seconds[i] = point_verified(p) ? time : NAN;
        }
        l->ops->figure(l->state, seconds, values);
        for (size_t i = 0; i < n; i++) {
            const hf_quantity *q = &l->ops->figures[i];
            char name[32];
            snprintf(name, sizeof name, "%s%s", q->name, median ? "_median" : "");
            hf_result_set_summary(result, 2 * i + (size_t)median, name, q->unit,
                                  values[i]);
        }
    }
}

static hf_status result_make(hf_result **out, const loop *l) {
    size_t room = quantity_count(l->ops->labels) + N_STATS +
                  2 * quantity_count(l->ops->metrics) + N_COMMON;
    hf_column *columns = calloc(room, sizeof *columns);
    double *seconds = calloc(l->n_points, sizeof *seconds);
    hf_result *result = NULL;
    hf_status status = columns && seconds
                           ? HF_OK
                           : hf_fail(HF_ENOMEM, "no memory for %zu columns", room);
    if (status == HF_OK)
        status = hf_result_new(&result, columns_list(l, columns), columns,
                               2 * quantity_count(l->ops->figures));
    if (status == HF_OK) {
        bool verified = true;
        for (size_t i = 0; i < l->n_points; i++) {
            point_fill(l, result, i);
            verified = verified && point_verified(&l->points[i]);
        }
        figures_fill(l, result, seconds);
        hf_result_set_verified(result, verified);
        const char *note = l->ops->note ? l->ops->note(l->state) : NULL;
        if (note)
            hf_result_add_note(result, note);
        *out = result;
    }
    free(seconds);
    free(columns);
    return status;
}

/* ---- the run ---- */

static hf_status loop_open(loop *l, const hf_session *session, const hf_run *run) {
    const hf_args *args = run->args;
    l->session = session;
    l->run = run;
    l->reps = (size_t)hf_args_number(args, "reps");
    l->max_reps = (size_t)hf_args_number(args, "max_reps");
    l->n_warmup = (size_t)hf_args_number(args, "warmup");
    l->time_limit = hf_args_number(args, "time_limit");
    l->clock_cost = hf_clock_cost();
    l->state = calloc(1, l->ops->state_size);
    l->reports = calloc((size_t)session->net->size, sizeof *l->reports);
    if (!l->state || !l->reports)
        return hf_fail(HF_ENOMEM, "no memory for a run");
    hf_device *device = session->device;
    if (run->kernel)
        HF_TRY(device->ops->load(device, run->kernel, run->binary, run->binary_bytes));
    hf_env env = {device, session->exchange, session->net->rank, session->net->size,
                  (uint64_t)hf_args_number(args, "seed")};
    HF_TRY(l->ops->setup(l->state, args, &env, &l->n_points));
    l->points = calloc(l->n_points, sizeof *l->points);
    return l->points ? HF_OK
                     : hf_fail(HF_ENOMEM, "no memory for %zu points", l->n_points);
}

static void loop_close(loop *l) {
    if (l->state)
        l->ops->teardown(l->state);
    for (size_t i = 0; l->points && i < l->n_points; i++) {
        free(l->points[i].warmup.ranks);
        free(l->points[i].warmup.slowest);
        free(l->points[i].timed.ranks);
        free(l->points[i].timed.slowest);
    }
    free(l->points);
    free(l->reports);
    free(l->state);
}

/* Do both ends of every message agree? Collective. */
static hf_status plans_check(const loop *l) {
    for (size_t i = 0; l->ops->plan && i < l->n_points; i++) {
        size_t n;
        const hf_message *messages = l->ops->plan(l->state, i, &n);
        hf_transport *net = l->session->net;
        HF_TRY(hf_agree(net, hf_plan_check(net, n, messages)));
    }
    return HF_OK;
}

static hf_status points_take(loop *l) {
    size_t room = l->reps ? l->reps : l->max_reps;
    double *scratch = malloc(room * sizeof *scratch);
    hf_status status =
        scratch ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %zu samples", room);
    status = hf_agree(l->session->net, status);
    assert(status != HF_OK || scratch);
    for (size_t i = 0; status == HF_OK && i < l->n_points; i++) {
        status = point_take(l, i, scratch);
        if (status == HF_OK)
            status = hf_agree(l->session->net, row_tell(l, i));
    }
    free(scratch);
    return status;
}

/* Do all ranks run the same benchmark with the same parameters? Collective. */
static hf_status args_agree(hf_transport *net, const hf_args *args) {
    enum { ROOM = 64 };
    uint64_t mine[ROOM] = {0};
    size_t size = (size_t)net->size, differs = 0;
    for (size_t i = 0; i < ROOM; i++)
        mine[i] = hf_args_digest(args, i);
    uint64_t *all = malloc(size * sizeof mine);
    hf_status status = hf_agree(
        net, all ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %zu ranks", size));
    if (status == HF_OK)
        status = net->ops->gather(net, all, mine, sizeof mine);
    for (size_t i = 0; status == HF_OK && i < size * ROOM && !differs; i++)
        differs = all[i] != all[i % ROOM] ? 1 + i % ROOM : 0;
    free(all);
    if (!differs)
        return status;
    const hf_param *param = hf_args_param(args, differs - 1);
    return hf_fail(HF_EARG, "%s: the ranks were given different values",
                   param ? param->name : "benchmark");
}

hf_status hf_session_run(hf_session *session, hf_result **out, const hf_run *run) {
    loop l = {0};
    hf_result *result = NULL;
    hf_transport *net = session->net;
    net->ops->renew(net);
    net->deadline = hf_args_number(run->args, "deadline");
    HF_TRY(args_agree(net, run->args));
    HF_TRY(hf_bench_find(&l.ops, run->bench));
    hf_status status = hf_agree(net, loop_open(&l, session, run));
    if (status == HF_OK)
        status = plans_check(&l);
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
