/* run_result.c - the samples of a run as its result: columns, metrics, figures. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/run.h"

size_t hf_quantity_count(const hf_quantity *table) {
    size_t n = 0;
    while (table && table[n].name)
        n++;
    return n;
}

bool hf_point_verified(const hf_point *p) {
    return p->worst.error <= p->setting.tolerance;
}

void hf_loop_metrics(const hf_loop *l, size_t index, double seconds, double *values) {
    const hf_point *p = &l->points[index];
    for (size_t i = 0; i < hf_quantity_count(l->bench->metrics); i++) {
        double work = 0;
        for (int rank = 0; rank < l->session->net->size; rank++)
            work += p->shares[rank].best.outcome.work[i];
        values[i] = hf_point_verified(p) ? work / seconds : NAN;
    }
}

hf_column hf_column_make(const char *name, const char *suffix, const char *unit,
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
enum { N_STATS = sizeof stat_columns / sizeof stat_columns[0] };

/* Where kernels exchange packets: of all ranks together. */
static const struct {
    const char *name;
    size_t at;
} traffic_columns[] = {
    {"packets", offsetof(hf_traffic, packets)},
    {"stalls", offsetof(hf_traffic, stalls)},
    {"high_water", offsetof(hf_traffic, high_water)},
};
enum { N_TRAFFIC = sizeof traffic_columns / sizeof traffic_columns[0] };

/* The largest error of each rank, its parts of the best sample, its share of a rate. */
static hf_column ranks_column(const hf_loop *l, const char *name, const char *unit) {
    hf_column column =
        hf_column_make(name, "_ranks", unit, HF_F64, l->outline.n_points);
    column.n_dims = 2;
    column.shape[1] = (size_t)l->session->net->size;
    return column;
}

/* The ranks' values of a point in column <name>_ranks. */
static double *ranks_row(hf_result *result, const char *name, size_t index,
                         size_t ranks) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s_ranks", name);
    return hf_result_doubles(result, whole) + index * ranks;
}

static void shares_fill(const hf_loop *l, hf_result *result, const char *name,
                        size_t index, size_t at) {
    size_t ranks = (size_t)l->session->net->size;
    double *values = ranks_row(result, name, index, ranks);
    for (size_t rank = 0; rank < ranks; rank++)
        memcpy(&values[rank], (char *)&l->points[index].shares[rank] + at,
               sizeof *values);
}

/* Part `i` of a sample: the benchmark's, then what all have; NULL past them. `at` is its
 * place among the laps. */
static const hf_quantity *part_of(const hf_bench *bench, size_t i, size_t *at) {
    static const hf_quantity verify = {"verify_time", "s", HF_F64, NULL};
    size_t n = hf_quantity_count(bench->parts);
    *at = i < n ? i : HF_LAP_VERIFY;
    return i < n ? &bench->parts[i] : i == n ? &verify : NULL;
}

static bool has_traffic(const hf_loop *l) {
    return l->session->exchange->ops->streams != NULL;
}

unsigned hf_loop_schemes(const hf_loop *l) {
    unsigned schemes = 0;
    for (size_t i = 0; i < l->outline.n_points; i++)
        schemes |= l->points[i].schemes;
    return schemes;
}

/* Does any device tell how much power it draws? */
static bool has_power(const hf_loop *l) {
    for (size_t i = 0; i < l->outline.n_points; i++)
        for (int rank = 0; rank < l->session->net->size; rank++)
            if (!isnan(l->points[i].shares[rank].best.power))
                return true;
    return false;
}

/* Of each rank's device, and of all: each once. */
static void power_fill(const hf_loop *l, hf_result *result, size_t index) {
    double *sum = &hf_result_doubles(result, "power")[index];
    shares_fill(l, result, "power", index, offsetof(struct hf_share, best.power));
    *sum = 0;
    for (size_t rank = 0; rank < (size_t)l->session->net->size; rank++)
        if (!l->session->places[rank].again)
            *sum += l->points[index].shares[rank].best.power;
}

/* Repetitions of the point that has most of them. */
static size_t most_samples(const hf_loop *l) {
    size_t most = 0;
    for (size_t i = 0; i < l->outline.n_points; i++)
        most = l->points[i].timed.n > most ? l->points[i].timed.n : most;
    return most;
}

/* Warm-up repetitions of each point, in all rounds: all points have as many. */
static size_t warmups(const hf_loop *l) {
    return l->points->warmup.n;
}

void hf_column_put(hf_column *columns, size_t *n, hf_column column) {
    if (columns)
        columns[*n] = column;
    ++*n;
}

/* Seconds of each repetition on each rank. */
static hf_column series_column(const hf_loop *l, const char *name, size_t rows) {
    hf_column column = hf_column_make(name, "", "s", HF_F64, l->outline.n_points);
    column.n_dims = 3;
    column.shape[1] = rows;
    column.shape[2] = (size_t)l->session->net->size;
    return column;
}

/* How many columns the result has, and where `columns` is not NULL, which. */
static size_t columns_list(const hf_loop *l, hf_column *columns) {
    size_t n = 0, at, points = l->outline.n_points;
    for (const hf_quantity *q = l->bench->labels; q && q->name; q++)
        hf_column_put(columns, &n,
                      hf_column_make(q->name, "", q->unit, q->dtype, points));
    for (size_t i = 0; i < N_STATS; i++)
        hf_column_put(columns, &n,
                      hf_column_make(stat_columns[i].name, "", "s", HF_F64, points));
    for (const hf_quantity *q = l->bench->metrics; q && q->name; q++) {
        hf_column_put(columns, &n,
                      hf_column_make(q->name, "", q->unit, HF_F64, points));
        hf_column_put(columns, &n,
                      hf_column_make(q->name, "_median", q->unit, HF_F64, points));
        hf_column_put(columns, &n, ranks_column(l, q->name, q->unit));
    }
    for (const hf_quantity *q = l->bench->findings; q && q->name; q++)
        if (q->dtype == HF_I64)
            hf_column_put(columns, &n,
                          hf_column_make(q->name, "", q->unit, HF_I64, points));
    const hf_quantity *part;
    for (size_t i = 0; (part = part_of(l->bench, i, &at)); i++)
        hf_column_put(columns, &n,
                      hf_column_make(part->name, "", part->unit, HF_F64, points));
    for (size_t i = 0; (part = part_of(l->bench, i, &at)); i++)
        hf_column_put(columns, &n, ranks_column(l, part->name, part->unit));
    hf_column_put(columns, &n, hf_column_make("verified", "", "1", HF_BOOL, points));
    const char *error = hf_error_column(l->bench);
    hf_column_put(columns, &n, hf_column_make(error, "", "1", HF_F64, points));
    hf_column_put(columns, &n, ranks_column(l, error, "1"));
    for (const hf_quantity *q = l->bench->findings; q && q->name; q++)
        if (q->dtype == HF_F64) {
            hf_column_put(columns, &n,
                          hf_column_make(q->name, "", q->unit, HF_F64, points));
            hf_column_put(columns, &n, ranks_column(l, q->name, q->unit));
        }
    hf_column_put(columns, &n, hf_column_make("reps", "", "1", HF_I64, points));
    hf_column_put(columns, &n, hf_column_make("inner", "", "1", HF_I64, points));
    if (hf_loop_schemes(l))
        hf_column_put(columns, &n, hf_column_make("scheme", "", "1", HF_NAME, points));
    for (size_t i = 0; has_traffic(l) && i < N_TRAFFIC; i++)
        hf_column_put(columns, &n,
                      hf_column_make(traffic_columns[i].name, "", "1", HF_F64, points));
    if (has_power(l)) {
        hf_column_put(columns, &n, hf_column_make("power", "", "W", HF_F64, points));
        hf_column_put(columns, &n, ranks_column(l, "power", "W"));
    }
    hf_column_put(columns, &n, series_column(l, "samples", most_samples(l)));
    hf_column_put(columns, &n, series_column(l, "warmup", warmups(l)));
    hf_loop_stages_columns(l, columns, &n);
    return n;
}

/* Rows of a ragged series, padded with NaN. */
static void series_copy(double *to, size_t rows, const hf_series *s, size_t ranks) {
    for (size_t i = 0; i < rows * ranks; i++)
        to[i] = i < s->n * ranks ? s->ranks[i] : NAN;
}

static void name_fill(uint32_t *to, const hf_quantity *q, size_t choice) {
    const char *text;
    size_t length = hf_quantity_choice(q, choice, &text);
    hf_name_put(to, text, length);
}

/* The schemes that were chosen at a point: "pcie", or "pcie+shared". */
static void schemes_fill(const hf_loop *l, hf_result *result, size_t index) {
    const hf_exchange *exchange = l->session->exchange;
    char text[HF_NAME_LETTERS + 1] = "";
    size_t n = 0;
    for (size_t i = 0; i < exchange->n_choices; i++)
        if (l->points[index].schemes >> i & 1 && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "+" : "",
                                  exchange->choices[i]->ops->name);
    hf_name_put(hf_result_names(result, "scheme") + index * HF_NAME_LETTERS, text,
                strlen(text));
}

static void labels_fill(const hf_loop *l, hf_result *result, size_t index) {
    const double *values = l->points[index].setting.labels;
    for (size_t i = 0; i < hf_quantity_count(l->bench->labels); i++) {
        const hf_quantity *q = &l->bench->labels[i];
        if (q->dtype == HF_NAME)
            name_fill(hf_result_names(result, q->name) + index * HF_NAME_LETTERS, q,
                      (size_t)values[i]);
        else if (q->dtype == HF_I64)
            hf_result_integers(result, q->name)[index] = (int64_t)values[i];
        else
            hf_result_doubles(result, q->name)[index] = values[i];
    }
}

/* What a rank does in the time of the slowest: together the rate of all. */
static void rates_fill(const hf_loop *l, hf_result *result, size_t metric,
                       size_t index) {
    size_t ranks = (size_t)l->session->net->size;
    const hf_point *p = &l->points[index];
    double *values = ranks_row(result, l->bench->metrics[metric].name, index, ranks);
    for (size_t rank = 0; rank < ranks; rank++)
        values[rank] = hf_point_verified(p)
                           ? p->shares[rank].best.outcome.work[metric] / p->stats.best
                           : NAN;
}

static void metrics_fill(const hf_loop *l, hf_result *result, size_t index) {
    const hf_stats *stats = &l->points[index].stats;
    double best[HF_MAX_VALUES] = {0}, median[HF_MAX_VALUES] = {0};
    hf_loop_metrics(l, index, stats->best, best);
    hf_loop_metrics(l, index, stats->median, median);
    for (size_t i = 0; i < hf_quantity_count(l->bench->metrics); i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_median", l->bench->metrics[i].name);
        hf_result_doubles(result, l->bench->metrics[i].name)[index] = best[i];
        hf_result_doubles(result, name)[index] = median[i];
        rates_fill(l, result, i, index);
    }
}

/* What `verify` found. */
static void findings_fill(const hf_loop *l, hf_result *result, size_t index) {
    const hf_point *p = &l->points[index];
    const char *error = hf_error_column(l->bench);
    hf_result_doubles(result, error)[index] = p->worst.error;
    shares_fill(l, result, error, index, offsetof(struct hf_share, worst.error));
    for (size_t i = 0; i < hf_quantity_count(l->bench->findings); i++) {
        const hf_quantity *q = &l->bench->findings[i];
        if (q->dtype == HF_I64) {
            double found = p->shares[0].best.outcome.findings[i];
            hf_result_integers(result, q->name)[index] =
                isnan(found) ? 0 : (int64_t)found;
            continue;
        }
        hf_result_doubles(result, q->name)[index] = p->worst.findings[i];
        shares_fill(l, result, q->name, index,
                    offsetof(struct hf_share, worst.findings) + i * sizeof(double));
    }
}

static void point_fill(const hf_loop *l, hf_result *result, size_t index) {
    const hf_point *p = &l->points[index];
    size_t ranks = (size_t)l->session->net->size, rows = most_samples(l);
    labels_fill(l, result, index);
    metrics_fill(l, result, index);
    for (size_t i = 0; i < N_STATS; i++)
        memcpy(&hf_result_doubles(result, stat_columns[i].name)[index],
               (const char *)&p->stats + stat_columns[i].at, sizeof(double));
    hf_result_flags(result, "verified")[index] = hf_point_verified(p);
    findings_fill(l, result, index);
    const hf_quantity *part;
    for (size_t i = 0, at; (part = part_of(l->bench, i, &at)); i++) {
        hf_result_doubles(result, part->name)[index] =
            p->shares[p->slowest].best.parts[at];
        shares_fill(l, result, part->name, index,
                    offsetof(struct hf_share, best.parts) + at * sizeof(double));
    }
    hf_result_integers(result, "reps")[index] = (int64_t)p->timed.n;
    hf_result_integers(result, "inner")[index] = (int64_t)p->inner;
    if (hf_loop_schemes(l))
        schemes_fill(l, result, index);
    for (size_t i = 0; has_traffic(l) && i < N_TRAFFIC; i++)
        memcpy(&hf_result_doubles(result, traffic_columns[i].name)[index],
               (const char *)&p->traffic + traffic_columns[i].at, sizeof(double));
    if (has_power(l))
        power_fill(l, result, index);
    series_copy(hf_result_doubles(result, "samples") + index * rows * ranks, rows,
                &p->timed, ranks);
    series_copy(hf_result_doubles(result, "warmup") + index * warmups(l) * ranks,
                warmups(l), &p->warmup, ranks);
    hf_loop_stages_fill(l, result, index);
}

/* What a figure is of, at a point: NaN where its data did not verify. */
static double figure_value(const hf_loop *l, const hf_figure *f, size_t index,
                           bool median) {
    const hf_point *p = &l->points[index];
    double values[HF_MAX_VALUES], time = median ? p->stats.median : p->stats.best;
    hf_loop_metrics(l, index, time, values);
    for (size_t i = 0; i < hf_quantity_count(l->bench->metrics); i++)
        if (strcmp(l->bench->metrics[i].name, f->of) == 0)
            return values[i];
    return hf_point_verified(p) ? time : NAN;
}

static size_t figure_count(const hf_loop *l) {
    size_t n = 0;
    while (l->bench->figures && l->bench->figures[n].name)
        n++;
    return n;
}

/* Figures over all points: from the best repetitions and from the medians. `scratch` has
 * room for two numbers of each point. */
static void figures_fill(const hf_loop *l, hf_result *result, double *scratch) {
    size_t n = figure_count(l);
    assert(scratch);
    double *values = scratch + l->outline.n_points;
    for (size_t k = 0; k < l->outline.n_points; k++)
        scratch[k] = l->points[k].setting.labels[0];
    for (size_t i = 0; i < 2 * n; i++) {
        const hf_figure *f = &l->bench->figures[i / 2];
        bool median = i % 2;
        char name[32];
        snprintf(name, sizeof name, "%s%s", f->name, median ? "_median" : "");
        for (size_t k = 0; k < l->outline.n_points; k++)
            values[k] = figure_value(l, f, k, median);
        hf_result_set_summary(result, i, name, f->unit,
                              hf_figure_of(f, l->outline.n_points, scratch, values));
    }
    if (l->bench->error) { /* it has a name: that of a figure */
        double worst = 0;
        for (size_t i = 0; i < l->outline.n_points; i++)
            worst = hf_larger(worst, l->points[i].worst.error);
        hf_result_set_summary(result, 2 * n, l->bench->error, "1", worst);
    }
}

/* Of ranks that take turns on a core each one's clock runs in its own turn. */
static void crowd_note_add(const hf_loop *l, hf_result *result) {
    char note[160];
    if (l->session->device->info.type != HF_CPU || !l->crowded)
        return;
    snprintf(note, sizeof note,
             "%d ranks share fewer cores: they take turns, and the time of each leaves "
             "out turns of others; rates may be too high",
             l->session->net->local_size);
    hf_result_add_note(result, note);
}

hf_status hf_loop_result(hf_result **out, const hf_loop *l) {
    size_t room = columns_list(l, NULL) + HF_TRACE_COLUMNS;
    const hf_trace *trace = l->session->trace;
    size_t n_summary = 2 * figure_count(l) + (l->bench->error != NULL);
    hf_column *columns = calloc(room, sizeof *columns);
    double *scratch = calloc(2 * l->outline.n_points, sizeof *scratch);
    hf_result *result = NULL;
    hf_status status = columns && scratch
                           ? HF_OK
                           : hf_fail(HF_ENOMEM, "no memory for %zu columns", room);
    if (status == HF_OK) {
        size_t n = columns_list(l, columns);
        status = hf_result_new(&result, n, hf_trace_columns(trace, columns + n),
                               columns, n_summary + (trace ? HF_TRACE_SUMMARY : 0));
    }
    if (status == HF_OK) {
        bool verified = true;
        for (size_t i = 0; i < l->outline.n_points; i++) {
            point_fill(l, result, i);
            verified = verified && hf_point_verified(&l->points[i]);
        }
        figures_fill(l, result, scratch);
        hf_result_set_verified(result, verified);
        crowd_note_add(l, result);
        if (l->outline.note)
            hf_result_add_note(result, l->outline.note);
        for (size_t i = 0; i < HF_TURN_NOTES && *l->turns->notes[i]; i++)
            hf_result_add_note(result, l->turns->notes[i]);
        hf_trace_fill(trace, result, n_summary);
        *out = result;
    }
    free(scratch);
    free(columns);
    return status;
}
