/* rounds.c - a run over message sizes visits each of them in several rounds, on all ranks alike.
 *
 * The clock is the test's own: the steps alone take time.
 */
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "core/clock.h"
#include "core/session.h"
#include "core/turns.h"
#include "runs.h"
#include "world.h"

enum { SIZES = 3, PLANS = 2 /* of a visit */, MOST = 64, SLOW_RANK = 1 };

static const double SLOW = 2e-3; /* [s] */

static hf_session *session;
static hf_exchange_ops exchange_ops;
static hf_block_ops block_ops;
static const hf_exchange_ops *exchange_table;
static size_t seen[MOST], steps[MOST], n_seen; /* plans by their size; steps of each */
static size_t told[SIZES], n_told;             /* rows, by the plans before them */
static size_t point_told, points_told;         /* of the last row */
static hf_status (*path_prepare)(void *state, size_t point, uint64_t sample);
static const uint64_t NO_SAMPLE = UINT64_MAX;
static uint64_t number, timed[SIZES]; /* of the last sample; of the last timed ones */
static uint64_t first_before;         /* of the first timed one of the visit before */
static double now;
static double long_step; /* of sizes below 300, on one rank; 0: none [s] */
static double last_step; /* of the others there */
static double turn_step; /* of all, on all ranks */
/* A visit whose data are damaged, and one whose plan fails; by the plans so far, 0: none. */
static size_t harmed, failing;
static bool in_all_rounds; /* all sizes are in all rounds */

double __wrap_hf_clock_now(void);
double __wrap_hf_clock_now(void) {
    now += 1e-9; /* whoever looks until time has passed gets on */
    return now;
}

hf_status __real_hf_session_path(const hf_bench_path **out, const hf_session *of,
                                 const hf_bench *bench);
hf_status __wrap_hf_session_path(const hf_bench_path **out, const hf_session *of,
                                 const hf_bench *bench);

/* Numbers of samples rise; those of a point's timed ones are even and odd in turn, and in rounds so
 * from point to point. */
static hf_status seen_prepare(void *state, size_t point, uint64_t sample) {
    size_t taken = steps[n_seen / PLANS * PLANS - PLANS];
    CHECK(point < SIZES && (number == NO_SAMPLE || sample > number));
    if (taken == 1) {
        CHECK(!in_all_rounds || point == 0 || (sample - first_before) % 2 == 1,
              "sample %zu of point %zu after %zu of another", (size_t)sample, point,
              (size_t)first_before);
        first_before = sample;
    }
    if (taken > 0) {
        CHECK(timed[point] == NO_SAMPLE || (sample - timed[point]) % 2 == 1,
              "sample %zu of point %zu after %zu", (size_t)sample, point,
              (size_t)timed[point]);
        timed[point] = sample;
    }
    number = sample;
    return path_prepare(state, point, sample);
}

hf_status __wrap_hf_session_path(const hf_bench_path **out, const hf_session *of,
                                 const hf_bench *bench) {
    static hf_bench_path path;
    HF_TRY(__real_hf_session_path(out, of, bench));
    path = **out;
    path_prepare = path.prepare;
    path.prepare = seen_prepare;
    *out = &path;
    number = NO_SAMPLE;
    for (size_t i = 0; i < SIZES; i++)
        timed[i] = NO_SAMPLE;
    return HF_OK;
}

static hf_status seen_plan(hf_plan *plan) {
    if (n_seen < MOST) {
        seen[n_seen] = plan->messages[0].send_bytes;
        steps[n_seen] = 0;
    }
    n_seen++;
    if (n_seen == failing)
        return hf_fail(HF_EDEVICE, "planted");
    return exchange_table->blocks->plan(plan);
}

/* The first step of a visit is the warm-up, which takes no time. */
static hf_status slow_progress(hf_plan *plan, bool wait, bool *done) {
    size_t *taken = &steps[n_seen / PLANS * PLANS - PLANS];
    bool slow_rank = session->net->rank == SLOW_RANK % session->net->size;
    if (++*taken > 1) /* the first timed step of a visit is slower, on another rank */
        now += turn_step + SLOW * (1 + 0.5 * session->net->rank +
                                   3 * (*taken == 2 && session->net->rank == 0));
    if (*taken > 1 && slow_rank)
        now += plan->messages[0].send_bytes < 300 ? long_step : last_step;
    HF_TRY(exchange_table->blocks->progress(plan, wait, done));
    if (*done && n_seen == harmed)
        ((unsigned char *)plan->recv->host)[plan->messages[0].recv_at] ^= 1;
    return HF_OK;
}

static hf_status row_seen(void *context, const hf_progress *row) {
    (void)context;
    if (row && n_told < SIZES)
        told[n_told++] = n_seen;
    if (row) {
        point_told = row->point;
        points_told = row->n_points;
    }
    return HF_OK;
}

static void session_open(size_t trace) {
    const hf_options options = {
        .device = "host", .exchange = "host", .has_comm = true, .trace = trace};
    CHECK(world_open(&session, options) == HF_OK, "%s", hf_error());
    exchange_table = session->exchange->ops;
    exchange_ops = *exchange_table;
    block_ops = *exchange_table->blocks;
    block_ops.plan = seen_plan;
    block_ops.progress = slow_progress;
    exchange_ops.blocks = &block_ops;
    session->exchange->ops = &exchange_ops;
}

static void session_close(void) {
    session->exchange->ops = exchange_table;
    hf_session_close(session);
}

/* Sizes in the order of their visits, which is repeated; timed steps of each visit, and the visits
 * after which the row of each size is told. */
typedef struct expected {
    size_t visits, order[2 * SIZES], n_order, reps[4], told[SIZES];
} expected;

/* The time of a step, and what it is made of, are those of a timed one. */
static void times_check(hf_result *result, const expected *e, size_t reps) {
    size_t ranks = (size_t)session->net->size;
    const hf_column *warmup = column_find(result, "warmup"),
                    *samples = column_find(result, "samples");
    CHECK(warmup->shape[1] == e->visits && samples->shape[1] == reps);
    for (size_t i = 0; i < SIZES; i++) {
        double best = INFINITY, time = hf_result_doubles(result, "time")[i],
               parts = hf_result_doubles(result, "transfer_time")[i] +
                       hf_result_doubles(result, "exchange_time")[i];
        CHECK(hf_result_integers(result, "reps")[i] == (int64_t)reps);
        for (size_t k = 0; k < reps; k++) {
            const double *of = (double *)samples->data + (i * reps + k) * ranks;
            double slowest = 0;
            for (size_t rank = 0; rank < ranks; rank++)
                slowest = fmax(slowest, of[rank]);
            best = fmin(best, slowest);
            CHECK(long_step == 0 || i == 2 || slowest == of[SLOW_RANK % ranks]);
        }
        for (size_t k = 0; k < e->visits * ranks; k++)
            CHECK(isfinite(((double *)warmup->data)[i * e->visits * ranks + k]));
        CHECK(best == time && parts > 0.99 * time && parts <= time, "%g s of %g s",
              parts, time);
    }
}

static hf_args *args_of(const char *sizes, const char *reps, const char *rounds) {
    const char *const params[] = {
        "part",       "step", "sizes",      sizes,  "warmup",     "1",
        "reps",       reps,   "rounds",     rounds, "loop_upper", "1",
        "loop_lower", "1",    "time_limit", "0",    NULL};
    hf_args *args;
    CHECK(hf_args_new(&args, "transfer") == HF_OK);
    for (size_t i = 0; params[i]; i += 2)
        CHECK(hf_args_set(args, params[i], 0, NULL, params[i + 1]) == HF_OK);
    return args;
}

static void rounds_test(const char *reps, const char *rounds, const expected *e) {
    hf_args *args = args_of("1,20,300", reps, rounds);
    hf_result *result = NULL;
    n_seen = n_told = 0;
    in_all_rounds = e->visits > 1 && e->n_order == SIZES;
    const hf_run run = {.bench = "transfer", .args = args, .tick = row_seen};
    CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
    CHECK(n_seen == e->visits * SIZES * PLANS, "%s in %s: %zu plans", reps, rounds,
          n_seen);
    size_t visits[SIZES] = {0};
    for (size_t i = 0; i < n_seen && i < MOST; i += PLANS) {
        size_t size = e->order[i / PLANS % e->n_order],
               at = size == 1    ? 0
                    : size == 20 ? 1
                                 : 2,
               visit = visits[at]++;
        CHECK(seen[i] == size && seen[i + 1] == size, "plan %zu: %zu B", i, seen[i]);
        CHECK(steps[i] == 1 + e->reps[visit], "%s in %s, visit %zu of %zu B: %zu steps",
              reps, rounds, visit, size, steps[i]);
    }
    CHECK(n_told == SIZES);
    for (size_t i = 0; i < n_told; i++)
        CHECK(told[i] == PLANS * e->told[i], "row %zu after %zu plans", i, told[i]);
    if (result) {
        CHECK(hf_result_verified(result));
        times_check(result, e, reps[0] == '0' ? 1 : (size_t)atoi(reps));
    }
    hf_result_free(result);
    hf_args_free(args);
}

/* What goes wrong in the last round counts, too. */
static void harm_test(void) {
    static const char *const params[] = {
        "part",   "step", "sizes",      "1,20,300", "warmup",     "1", "reps", "6",
        "rounds", "3",    "loop_upper", "1",        "loop_lower", "1", NULL};
    const hf_run run = {.bench = "transfer"};
    bool right;
    for (size_t size = 0; size < SIZES; size++) {
        n_seen = 0;
        harmed = PLANS * (2 * SIZES + size + 1);
        CHECK(run_take(&right, session, run, params) == HF_OK && !right);
        n_seen = harmed = 0;
        failing = PLANS * (2 * SIZES + size + 1);
        CHECK(run_take(&right, session, run, params) == HF_EDEVICE);
        failing = 0;
    }
    CHECK(run_take(&right, session, run, params) == HF_OK && right);
}

/* Between two turns something else runs. */
static void other_run(void) {
    static const char *const params[] = {
        "part", "step",       "sizes", "7",          "warmup", "1", "reps",
        "2",    "loop_upper", "1",     "loop_lower", "1",      NULL};
    const hf_run run = {.bench = "transfer"};
    bool right;
    in_all_rounds = false;
    CHECK(run_take(&right, session, run, params) == HF_OK && right, "%s", hf_error());
}

/* Each turn is a visit; the last one gives the result of all. */
static void turns_test(void) {
    static const expected e = {3, {1, 20, 300}, 3, {2, 2, 1}, {0}};
    hf_args *args = args_of("1,20,300", "5", "3");
    hf_turns *turns;
    hf_result *result = NULL;
    CHECK(hf_turns_new(&turns, args, false) == HF_OK);
    const hf_run run = {
        .bench = "transfer", .args = args, .tick = row_seen, .turns = turns};
    for (size_t turn = 0; turn < e.visits * SIZES; turn++) {
        size_t round = turn / SIZES;
        other_run();
        CHECK(!result && hf_turns_left(turns) == e.visits * SIZES - turn);
        n_seen = n_told = 0;
        turn_step = round == 1 ? 0 : SLOW; /* the second round is the fastest */
        uint64_t seals =
            session->number; /* of the run before: those of each are its own */
        CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
        CHECK(session->number != seals);
        CHECK(n_seen == PLANS && n_told == 1 && points_told == 1 && point_told == 0);
        CHECK(seen[0] == e.order[turn % SIZES] && steps[0] == 1 + e.reps[round],
              "turn %zu: %zu steps of %zu B", turn, steps[0], seen[0]);
    }
    turn_step = 0;
    CHECK(hf_turns_left(turns) == 0 && result);
    if (result) {
        size_t ranks = (size_t)session->net->size;
        const double *samples = column_find(result, "samples")->data,
                     *time = hf_result_doubles(result, "time");
        CHECK(hf_result_verified(result));
        times_check(result, &e, 5);
        for (size_t i = 0; i < SIZES; i++) {
            const double *best = &samples[(i * 5 + 3) * ranks]; /* of the second */
            double slowest = 0;
            for (size_t rank = 0; rank < ranks; rank++)
                slowest = fmax(slowest, best[rank]);
            CHECK(time[i] == slowest, "%g s, not %g s", time[i], slowest);
        }
        hf_result_free(result);
    }
    result = NULL;
    CHECK(hf_session_run(session, &result, &run) == HF_EARG && !result);
    hf_turns_free(turns);
    hf_args_free(args);
}

/* What is wrong in one turn counts in the result of all; after a turn that failed there is none. */
static void turns_harm_test(void) {
    hf_args *args = args_of("1,20,300", "3", "3");
    for (size_t bad = 0; bad < 3 * SIZES; bad++) {
        hf_turns *turns;
        hf_result *result = NULL;
        CHECK(hf_turns_new(&turns, args, false) == HF_OK);
        const hf_run run = {.bench = "transfer", .args = args, .turns = turns};
        for (size_t turn = 0; turn < 3 * SIZES; turn++) {
            n_seen = 0;
            harmed = turn == bad ? PLANS : 0;
            CHECK(hf_session_run(session, &result, &run) == HF_OK);
        }
        harmed = 0;
        for (size_t i = 0; result && i < SIZES; i++)
            CHECK(hf_result_flags(result, "verified")[i] == (i != bad % SIZES),
                  "size %zu after turn %zu", i, bad);
        CHECK(result && !hf_result_verified(result));
        hf_result_free(result);
        hf_turns_free(turns);
        CHECK(hf_turns_new(&turns, args, false) == HF_OK);
        const hf_run fails = {.bench = "transfer", .args = args, .turns = turns};
        hf_result *none = NULL;
        for (size_t turn = 0; turn <= bad; turn++) {
            n_seen = 0;
            failing = turn == bad ? PLANS : 0;
            CHECK(hf_session_run(session, &none, &fails) ==
                      (turn == bad ? HF_EDEVICE : HF_OK) &&
                  !none);
        }
        failing = 0;
        CHECK(hf_turns_left(turns) == 0);
        CHECK(hf_session_run(session, &none, &fails) == HF_EARG && !none);
        hf_turns_free(turns);
    }
    hf_args_free(args);
}

/* Remarks of each turn are told, each once, even where the last turn has none. */
static void turns_notes_test(void) {
    static const char *const notes[] = {"b", "a", "b", "", "", ""};
    hf_args *args = args_of("1,20,300", "2", "2");
    hf_turns *turns;
    hf_result *result = NULL;
    CHECK(hf_turns_new(&turns, args, false) == HF_OK);
    const hf_run run = {.bench = "transfer", .args = args, .turns = turns};
    char *note = session->exchange->note;
    for (size_t turn = 0; turn < 2 * SIZES; turn++) {
        snprintf(note, sizeof session->exchange->note, "%s", notes[turn]);
        CHECK(hf_session_run(session, &result, &run) == HF_OK);
    }
    size_t found[3] = {0};
    const char *told;
    for (size_t i = 0; result && (told = hf_result_note(result, i)); i++)
        for (size_t k = 0; k < 3; k++)
            found[k] += strcmp(told, notes[k + 1]) == 0; /* "a", "b", "" */
    CHECK(result && found[0] == 1 && found[1] == 1 && found[2] == 0);
    hf_result_free(result);
    hf_turns_free(turns);
    hf_args_free(args);
}

static void refused(hf_session *by, const hf_args *args, hf_turns *turns,
                    const char *why) {
    const hf_run run = {.bench = "transfer", .args = args, .turns = turns};
    hf_result *none = NULL;
    CHECK(hf_session_run(by, &none, &run) == HF_EARG && !none &&
              strstr(hf_error(), why),
          "%s", hf_error());
}

/* Turns of another run are refused, on all ranks, too, where those of one rank alone are others. */
static void turns_refused_test(void) {
    static const char *const others[][3] = {/* the last two have as many turns */
                                            {"1,20", "3", "3"},
                                            {"1,20,300", "3", "1"},
                                            {"1,20,300", "2", "3"},
                                            {"1,20,30", "3", "3"},
                                            {"1,20,300", "4", "3"}};
    static const char not_of_this[] =
        "1 of 9 turns were taken: they are not of this run";
    hf_args *args = args_of("1,20,300", "3", "3");
    hf_turns *turns, *fresh, *whole;
    hf_result *none = NULL;
    CHECK(hf_turns_new(&turns, args, false) == HF_OK &&
          hf_turns_new(&fresh, args, false) == HF_OK &&
          hf_turns_new(&whole, args, true) == HF_OK);
    const hf_run run = {.bench = "transfer", .args = args, .turns = turns};
    CHECK(hf_session_run(session, &none, &run) == HF_OK && !none);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        hf_args *other = args_of(others[i][0], others[i][1], others[i][2]);
        refused(session, other, turns, not_of_this);
        if (i < 3)
            refused(session, other, fresh, "0 of 9 turns were taken");
        hf_args_free(other);
    }
    CHECK(hf_turns_left(turns) == 3 * SIZES - 1);
    if (session->net->size > 1) {
        hf_turns *const mine[] = {fresh, whole, NULL};
        for (size_t i = 0; i < 3; i++)
            refused(session, args, session->net->rank == 0 ? mine[i] : turns,
                    "turn differs");
        refused(session, args, session->net->rank == 0 ? fresh : NULL, "turn differs");
        hf_session *alone =
            NULL; /* reports of one rank do not fit among those of two */
        const hf_options options = {.device = "host", .exchange = "host"};
        CHECK(hf_session_open(&alone, &options) == HF_OK);
        refused(alone, args, turns, not_of_this);
        hf_session_close(alone);
    }
    hf_turns_free(turns);
    hf_turns_free(fresh);
    hf_turns_free(whole);
    hf_args_free(args);
}

/* A trace is of one sample: turns would mix those of several. */
static void turns_traced_test(void) {
    hf_args *args = args_of("1,20,300", "4", "3");
    hf_turns *turns;
    hf_result *none = NULL;
    CHECK(hf_turns_new(&turns, args, false) == HF_OK);
    const hf_run run = {.bench = "transfer", .args = args, .turns = turns};
    CHECK(hf_session_run(session, &none, &run) == HF_EARG && !none);
    hf_turns_free(turns);
    hf_args_free(args);
    args = args_of("1,20,300", "4", "3");
    CHECK(hf_turns_new(&turns, args, true) == HF_OK && hf_turns_left(turns) == 1);
    const hf_run whole = {.bench = "transfer", .args = args, .turns = turns};
    CHECK(hf_session_run(session, &none, &whole) == HF_OK && none &&
          hf_result_trace(none, 0));
    hf_result_free(none);
    hf_turns_free(turns);
    hf_args_free(args);
}

int main(int argc, char **argv) {
    static const expected once = {1, {1, 20, 300}, 3, {4}, {1, 2, 3}},
                          open = {1, {1, 20, 300}, 3, {1}, {1, 2, 3}},
                          twice = {2, {1, 20, 300}, 3, {1, 1}, {6, 6, 6}},
                          thrice = {3, {1, 20, 300}, 3, {2, 2, 1}, {9, 9, 9}},
                          grouped = {2, {1, 20, 1, 20, 300, 300}, 6, {1, 1}, {4, 4, 6}},
                          alone = {2, {1, 20, 300, 1, 20, 300}, 6, {1, 1}, {5, 5, 6}};
    MPI_Init(&argc, &argv);
    session_open(0);
    rounds_test("5", "3", &thrice);
    rounds_test("4", "1", &once);
    rounds_test("2", "7", &twice); /* no round without a repetition */
    rounds_test("0", "3", &open);  /* nobody knows how many there will be */
    long_step =
        0.6; /* where a round takes more than a second, its points are completed */
    rounds_test("2", "2", &grouped);
    long_step = 0;
    last_step = 1.1; /* nobody waits for one that takes as long by itself */
    rounds_test("2", "2", &alone);
    last_step = 0;
    harm_test();
    turns_test();
    turns_notes_test();
    turns_harm_test();
    turns_refused_test();
    session_close();
    session_open(64);
    turns_traced_test();
    rounds_test("4", "3", &once);
    session_close();
    MPI_Finalize();
    return check_failures != 0;
}
