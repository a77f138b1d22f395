/* run.h - the samples of a run, as the loop takes them and its result shows them. */
#ifndef HF_RUN_H
#define HF_RUN_H

#include "agree.h"
#include "bench.h"
#include "core/result.h"
#include "core/session.h"
#include "core/stats.h"
#include "core/turns.h"
#include "one_core.h"

enum { HF_MAX_VALUES = 32, HF_TURN_NOTES = 4 };

/* What a rank tells the others after a sample. */
typedef struct hf_sample {
    double seconds, elapsed, clock_cost, parts[HF_N_LAPS];
    double power; /* when the steps had ended; NAN: nobody tells [W] */
    hf_outcome outcome;
    hf_traffic traffic;
    uint64_t number; /* of the sample: a report with another number is stale */
    int status;
    unsigned schemes; /* of the session's choices, a bit for each that the steps used */
} hf_sample;

/* Seconds per step of all samples of a point: [n, ranks], and the slowest's: [n]. */
typedef struct hf_series {
    double *ranks, *slowest;
    size_t n, room;
} hf_series;

typedef struct hf_point {
    hf_series warmup, timed;
    hf_stats stats;
    hf_setting setting;
    size_t inner;
    unsigned schemes; /* that any rank used in any sample: see hf_sample */
    hf_outcome worst; /* errors and findings: the largest so far */
    double best;      /* sample of the series that is being taken */
    int slowest;      /* its slowest rank */
    struct hf_share {
        hf_outcome worst;
        hf_sample best;
    } * shares;         /* [ranks] */
    char *stages;       /* [ranks, stages, quantities] doubles, or NULL */
    size_t *stages_at;  /* [ranks + 1] bytes where those of a rank begin */
    hf_traffic traffic; /* of all ranks: sums over the timed samples, and the maximum */
} hf_point;

/* A run's samples, and remarks, which outlast the calls that take a turn each. */
struct hf_turns {
    uint64_t run;     /* digest of what defines it */
    hf_point *points; /* [n_points]; NULL: nothing was taken yet */
    size_t n_points, rounds, n_turns, taken;
    char notes[HF_TURN_NOTES][sizeof((hf_exchange *)0)->note]; /* "" behind the last */
};

typedef struct hf_loop {
    hf_session *session;
    const hf_bench *bench;
    const hf_bench_path *path;
    const hf_run *run;
    void *state;
    hf_outline outline;
    hf_records left;      /* by the benchmark, for the result */
    hf_sample *reports;   /* [ranks] */
    hf_turns *turns, own; /* `own` where one call takes all */
    hf_point *points;     /* of `turns` */
    uint64_t digest;      /* of what defines the run */
    size_t reps, max_reps, rounds;
    size_t n_warmup; /* of each visit to a point; a round visits it once */
    double time_limit, clock_cost;
    bool crowded;         /* the ranks of this node are more than its cores */
    uint64_t memory_left; /* for this rank [B] */
    hf_laps laps;
    hf_stages stages;
    double step_began, heard; /* of the sample; when the caller was asked last [s] */
    hf_buffer
        *settling; /* read before each timed sample; NULL: none of that is needed */
    hf_seals seals;
    uint64_t sample; /* number of the next sample of this run */
} hf_loop;

/* The shortest sample; infinity without any. */
double hf_series_best(const hf_series *s);
/* Take a sample of `inner` steps into the point's `s`; its visit has begun then. Collective. */
hf_status hf_sample_keep(hf_loop *l, size_t index, hf_series *s, size_t inner,
                         double began);

/* One turn takes all rounds. */
hf_turns hf_turns_whole(const hf_args *args);
/* Room for the samples of a run, at its first turn; HF_EARG where they are turns of another run,
 * or where none is left. */
hf_status hf_turns_begin(hf_turns *turns, uint64_t run, const hf_args *args,
                         size_t n_points, size_t ranks);
void hf_turns_clear(hf_turns *turns);
/* Keep a remark for the result, once. */
void hf_turns_note(hf_turns *turns, const char *note);

size_t hf_quantity_count(const hf_quantity *table);
bool hf_point_verified(const hf_point *point);

/* Bits of the schemes of all points that were chosen. */
unsigned hf_loop_schemes(const hf_loop *l);
/* Metrics at a point, NaN where the data did not verify. */
void hf_loop_metrics(const hf_loop *l, size_t index, double seconds, double *values);
hf_status hf_loop_result(hf_result **out, const hf_loop *l);

hf_column hf_column_make(const char *name, const char *suffix, const char *unit,
                         hf_dtype dtype, size_t points);
/* Put a column behind the `*n` that are listed; where `columns` is NULL it is only counted. */
void hf_column_put(hf_column *columns, size_t *n, hf_column column);

/* Stages of a step, for a benchmark that has some: gather those of all ranks after a point
 * (collective), declare their columns, and fill these for a point. */
hf_status hf_loop_stages_gather(const hf_loop *l, size_t index);
void hf_loop_stages_columns(const hf_loop *l, hf_column *columns, size_t *n);
void hf_loop_stages_fill(const hf_loop *l, hf_result *result, size_t index);

#endif
