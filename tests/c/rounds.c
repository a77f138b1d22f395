/* rounds.c - a run over message sizes visits each of them in several rounds. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "core/session.h"
#include "runs.h"

enum { SIZES = 3, PLANS = 2 /* of a visit */, MOST = 64 };

static double slow = 2e-3;      /* timed steps take so long; warm-ups do not [s] */
static size_t slow_bytes = 300; /* those up to this size */

static hf_session *session;
static hf_exchange_ops exchange_ops;
static hf_block_ops block_ops;
static const hf_exchange_ops *exchange_table;
static size_t seen[MOST], n_seen, n_steps; /* plans, by their size; steps of the last */
static size_t told[SIZES], n_told;         /* rows, by the plans before them */

static hf_status seen_plan(hf_plan *plan) {
    if (n_seen < MOST)
        seen[n_seen] = plan->messages[0].send_bytes;
    n_seen++;
    n_steps = 0;
    return exchange_table->blocks->plan(plan);
}

/* The first step of a visit is the warm-up. */
static hf_status slow_progress(hf_plan *plan, bool wait, bool *done) {
    if (n_steps++ > 0 && plan->messages[0].send_bytes <= slow_bytes)
        nanosleep(&(struct timespec){(time_t)slow, (long)(1e9 * fmod(slow, 1))}, NULL);
    return exchange_table->blocks->progress(plan, wait, done);
}

static hf_status row_seen(void *context, const hf_progress *row) {
    (void)context;
    if (row && n_told < SIZES)
        told[n_told++] = n_seen;
    return HF_OK;
}

static void session_open(size_t trace) {
    const hf_options options = {.device = "host", .exchange = "host", .trace = trace};
    CHECK(hf_session_open(&session, &options) == HF_OK, "%s", hf_error());
    exchange_table = session->exchange->ops;
    exchange_ops = *exchange_table;
    block_ops = *exchange_table->blocks;
    block_ops.plan = seen_plan;
    block_ops.progress = slow_progress;
    exchange_ops.blocks = &block_ops;
    session->exchange->ops = &exchange_ops;
}

/* The time of a step, and what it is made of, are those of a timed one. */
static void times_check(hf_result *result, size_t visits, size_t reps) {
    const hf_column *warmup = column_find(result, "warmup"),
                    *samples = column_find(result, "samples");
    CHECK(warmup->shape[1] == visits && samples->shape[1] == reps);
    for (size_t i = 0; i < SIZES; i++) {
        double best = INFINITY, time = hf_result_doubles(result, "time")[i],
               parts = hf_result_doubles(result, "transfer_time")[i] +
                       hf_result_doubles(result, "exchange_time")[i];
        CHECK(hf_result_integers(result, "reps")[i] == (int64_t)reps);
        for (size_t k = 0; k < reps; k++)
            best = fmin(best, ((double *)samples->data)[i * reps + k]);
        for (size_t k = 0; k < visits; k++)
            CHECK(isfinite(((double *)warmup->data)[i * visits + k]));
        CHECK(best == time && parts <= time, "%g s of %g s", parts, time);
        CHECK(slow_bytes < 300 || parts >= slow, "%g s of %g s", parts, time);
    }
}

/* Sizes in the order of their visits, which is repeated, and when the row of each is told. */
typedef struct expected {
    size_t visits, order[2 * SIZES], n_order, told[SIZES];
} expected;

static void rounds_test(const char *reps, const char *rounds, const expected *e) {
    const char *const params[] = {
        "part",       "step", "sizes",      "1,20,300", "warmup",     "1",
        "reps",       reps,   "rounds",     rounds,     "loop_upper", "1",
        "loop_lower", "1",    "time_limit", "0",        NULL};
    hf_args *args;
    hf_result *result = NULL;
    n_seen = n_told = 0;
    CHECK(hf_args_new(&args, "transfer") == HF_OK);
    for (size_t i = 0; params[i]; i += 2)
        CHECK(hf_args_set(args, params[i], 0, NULL, params[i + 1]) == HF_OK);
    const hf_run run = {.bench = "transfer", .args = args, .tick = row_seen};
    CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
    CHECK(n_seen == e->visits * SIZES * PLANS, "%s in %s: %zu plans", reps, rounds,
          n_seen);
    for (size_t i = 0; i < n_seen && i < MOST; i++)
        CHECK(seen[i] == e->order[i / PLANS % e->n_order], "plan %zu: %zu B", i,
              seen[i]);
    CHECK(n_told == SIZES);
    for (size_t i = 0; i < n_told; i++)
        CHECK(told[i] == PLANS * e->told[i], "row %zu after %zu plans", i, told[i]);
    CHECK(hf_result_verified(result));
    times_check(result, e->visits, reps[0] == '0' ? 1 : (size_t)atoi(reps));
    hf_result_free(result);
    hf_args_free(args);
}

int main(void) {
    static const expected once = {1, {1, 20, 300}, 3, {1, 2, 3}},
                          twice = {2, {1, 20, 300}, 3, {6, 6, 6}},
                          thrice = {3, {1, 20, 300}, 3, {9, 9, 9}},
                          grouped = {2, {1, 20, 1, 20, 300, 300}, 6, {4, 4, 6}};
    session_open(0);
    rounds_test("5", "3", &thrice);
    rounds_test("4", "1", &once);
    rounds_test("2", "7", &twice); /* no round without a repetition */
    rounds_test("0", "3", &once);  /* nobody knows how many there will be */
    slow =
        0.6; /* where a round takes more than a second, its points are completed first */
    slow_bytes = 20;
    rounds_test("2", "2", &grouped);
    slow = 2e-3;
    slow_bytes = 300;
    session->exchange->ops = exchange_table;
    hf_session_close(session);
    session_open(64);
    rounds_test("4", "3", &once);
    session->exchange->ops = exchange_table;
    hf_session_close(session);
    return check_failures != 0;
}
