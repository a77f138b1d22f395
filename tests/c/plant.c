/* plant.c - faults planted in the tables of an open session, and the phases of its runs. */
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/run.h"
#include "core/stats.h"
#include "plant_state.h"

enum { MAX_DIGESTS = 1024 };

const char *const plant_calls[] = {
    "step",   "verify",    "launch", "stream", "write",   "read",     "map",
    "unmap",  "finish",    "wait",   "mark",   "copy",    "sendrecv", "start",
    "gather", "broadcast", "reduce", "any",    "barrier", "group"};
const char *const plant_kinds[] = {"drop", "repeat", "shorten",
                                   "flip", "zero",   "stale"};
const char *const plant_phases[] = {"set-up", "warm input", "warm steps", "warm check",
                                    "input",  "steps",      "check"};
const char *const plant_places[] = {"first", "middle", "last"};

bool plant_tells(int call) {
    return call >= PLANT_SENDRECV;
}

#define ONE(kind) (1U << (kind))
enum {
    DROP = ONE(PLANT_DROP),
    DAMAGE = ONE(PLANT_FLIP) | ONE(PLANT_ZERO) | ONE(PLANT_STALE),
    ONCE = DROP | ONE(PLANT_SHORTEN) | DAMAGE
};

bool plant_can(int call, int kind) {
    static const unsigned kinds[PLANT_CALLS] = {
        /* none: all */
        [PLANT_STEP] = DROP | ONE(PLANT_SHORTEN),
        [PLANT_VERIFY] = DROP,
        [PLANT_STREAM] = DROP | ONE(PLANT_REPEAT),
        [PLANT_MAP] = DAMAGE,
        [PLANT_UNMAP] = ONCE,
        [PLANT_FINISH] = DROP,
        [PLANT_WAIT] = DROP,
        [PLANT_MARK] = DROP,
        [PLANT_START] = ONCE,
        [PLANT_GROUP] = ONCE,
    };
    return kinds[call] == 0 || (kinds[call] & ONE(kind));
}

plant_state plant;

static const hf_device_ops *device_table;
static const hf_transport_ops *net_table;
static const hf_exchange_ops *exchange_table;
static const hf_bench_path *path_table;
static hf_device_ops device_ops;
static hf_transport_ops net_ops;
static hf_exchange_ops exchange_ops;
static hf_block_ops block_ops;
static hf_stream_ops stream_ops;
static hf_bench_path path;

static size_t seen[PLANT_CALLS][PLANT_PHASES], totals[PLANT_CALLS][PLANT_PHASES];
static struct {
    uint64_t memory[PLANT_PIECES], told, found;
} digests[MAX_DIGESTS], reference[MAX_DIGESTS];
static size_t n_digests, n_reference;
static struct {
    unsigned char *data;
    size_t bytes;
} last;                               /* what the call before brought */
static size_t point, sample, warmups; /* of the run */
static size_t samples, seen_acted;    /* of the run, of all points */
static struct {
    int how;
    size_t sample;
} spoil;
static hf_records records; /* that the run hands out; none: n is 0 */
static uint64_t number;    /* of the last run that is not to be equal to others */
/* The fault hits another phase: input of the first timed sample in place of the warm-up's, or steps
 * of the other one of two timed samples. PLANT_SETUP: it does not. */
static int later = PLANT_SETUP;
static bool blind, swap;
static size_t swapped;

void plant_must(bool holds) {
    if (!holds)
        abort();
}

unsigned char *plant_room(size_t bytes) {
    unsigned char *memory = calloc(1, bytes ? bytes : 1);
    plant_must(memory != NULL);
    return memory;
}

/* ---- when, and what ---- */

/* Number of call `i` of `n` in the other one of each two timed samples. */
static size_t other_sample(size_t i, size_t n) {
    size_t samples_timed = totals[PLANT_STEP][PLANT_STEPS], each = n / samples_timed;
    return each > 0 ? (i / each ^ 1) * each + i % each : i;
}

bool plant_hit(int call) {
    const plant_fault *f = plant.fault;
    size_t i = seen[call][plant.phase]++, n = totals[call][plant.phase];
    int phase = later == PLANT_INPUT ? later : f ? f->phase : PLANT_PHASES;
    if (!f || f->call != call || phase != plant.phase)
        return false;
    n = later == PLANT_INPUT ? totals[call][PLANT_WARM_INPUT] : n;
    if (i >= n) /* of another sample */
        return false;
    if (later == PLANT_STEPS)
        i = other_sample(i, n);
    if (f->rank != PLANT_ALL_RANKS && f->rank != plant.session->net->rank)
        return false;
    size_t count = f->count < n ? f->count : n;
    size_t first = f->place == PLANT_FIRST  ? 0
                   : f->place == PLANT_LAST ? n - count
                                            : (n - count) / 2;
    bool hit = i >= first && i < first + count;
    if (f->period > 0 && n > 0) /* at least once */
        hit = i % f->period == (size_t)f->place % (f->period < n ? f->period : n);
    plant.report.reached += hit;
    plant.report.spared = plant.report.spared || !hit;
    return hit;
}

static void flip(unsigned char *data, size_t bytes, size_t spot) {
    size_t at = spot % 3 == 0 ? 0 : spot % 3 == 1 ? bytes / 2 : bytes - 1;
    at |= 7; /* the first byte of a number of any type */
    at = at < bytes ? at : bytes - 1;
    data[at] ^=
        data[at] ? 0x40 : 0x01; /* an index goes astray, but to no impossible address */
}

void plant_damage(unsigned char *is, const unsigned char *was, size_t bytes) {
    const plant_fault *f = plant.fault;
    unsigned char *right = plant_room(bytes);
    size_t changed = 0, half = bytes / 2;
    bool stale = f->kind == PLANT_STALE && last.data;
    memcpy(right, is, bytes);
    if (f->kind == PLANT_DROP)
        memcpy(is, was, bytes);
    else if (f->kind == PLANT_SHORTEN)
        memcpy(is + half, was + half, bytes - half);
    else if (f->kind == PLANT_FLIP)
        flip(is, bytes, f->spot + plant.report.acted); /* two would cancel */
    else if (f->kind == PLANT_ZERO)
        memset(is, 0, bytes);
    else if (stale)
        memcpy(is, last.data, last.bytes < bytes ? last.bytes : bytes);
    for (size_t i = 0; i < bytes; i++)
        changed += is[i] != right[i];
    free(right);
    plant.report.changed += changed;
    plant.report.acted +=
        changed > 0 || stale || f->kind == PLANT_DROP || f->kind == PLANT_SHORTEN;
}

void plant_keep(int call, const void *data, size_t bytes) {
    if (!plant.fault || plant.fault->kind != PLANT_STALE || plant.fault->call != call)
        return;
    free(last.data);
    last.data = plant_room(bytes);
    memcpy(last.data, data, last.bytes = bytes);
}

/* ---- the scheme ---- */

/* Senders and receivers in each other's place, once both ends were found to agree. What goes one
 * way has nobody to take a place: such a plan would be refused. */
static hf_status swapped_plan(hf_plan *plan) {
    for (size_t i = 0; i < plan->n; i++) {
        hf_message *m = &plan->messages[i];
        int to = m->to;
        if (to == HF_NOBODY || m->from == HF_NOBODY)
            continue;
        m->to = m->from;
        m->from = to;
        swapped += to != m->to;
    }
    return exchange_table->blocks->plan(plan);
}

/* Ports that lead to where others should. */
static hf_status swapped_connect(hf_exchange *exchange, const hf_wiring *wiring) {
    hf_wiring turned = *wiring;
    size_t n = (size_t)exchange->net->size * (size_t)wiring->ports;
    hf_link *links = (hf_link *)plant_room(n * sizeof *links);
    for (size_t i = 0; i < n; i++) {
        const hf_link *link = &wiring->links[i],
                      *other = &wiring->links[(i + n / 2) % n];
        links[i] = (hf_link){link->from, link->out, other->to, other->in};
        swapped += link->to != other->to;
    }
    turned.links = links;
    hf_status status = exchange_table->streams->connect(exchange, &turned);
    free(links);
    return status;
}

/* All kernels of a launch of this rank. */
static hf_status planted_stream(hf_exchange *exchange, size_t n,
                                const hf_stream *streams) {
    int kind = plant_hit(PLANT_STREAM) ? plant.fault->kind : PLANT_KINDS;
    int times = kind == PLANT_DROP ? 0 : kind == PLANT_REPEAT ? 2 : 1;
    if (n > plant.report.streams)
        plant.report.streams = n;
    plant.report.acted += times != 1;
    plant.report.changed += times != 1;
    for (int i = 0; i < times; i++)
        HF_TRY(exchange_table->streams->stream(exchange, n, streams));
    return HF_OK;
}

/* ---- the benchmark, which tells the phases ---- */

enum { STEPS = 12 }; /* of a sample, where a clock would choose */

static hf_status marked_plan(void *state, size_t index, hf_setting *out) {
    plant.phase = PLANT_SETUP;
    HF_TRY(path_table->plan(state, index, out));
    if (out->fewest < STEPS)
        out->fewest = STEPS < out->most ? STEPS : out->most;
    out->most = out->fewest;
    return HF_OK;
}

static hf_status marked_setup(void *state, const hf_args *args, const hf_env *env,
                              hf_outline *out) {
    plant.report.key = env->seals->key;
    records.n = 0;
    HF_TRY(path_table->setup(state, args, env, out));
    records = env->loop->left;
    return HF_OK;
}

/* Of what a result hands out beside its columns, and of what its rates are made of. */
static uint64_t told_digest(const hf_outcome *outcome) {
    uint64_t digest = HF_DIGEST_START;
    digest = hf_digest(digest, outcome->work, sizeof outcome->work);
    for (size_t i = 0; i < records.n; i++)
        digest = hf_digest(
            digest, (const char *)records.data + records.order[i] * records.bytes,
            records.bytes);
    return digest;
}

/* Of what a check found. */
static uint64_t found_digest(const hf_outcome *outcome) {
    uint64_t digest =
        hf_digest(HF_DIGEST_START, &outcome->error, sizeof outcome->error);
    return hf_digest(digest, outcome->findings, sizeof outcome->findings);
}

/* After the steps of a sample; with an outcome, after its check. */
static void digest_take(const hf_outcome *outcome) {
    plant_must(n_digests < MAX_DIGESTS);
    plant_digest(digests[n_digests].memory);
    digests[n_digests].told = outcome ? told_digest(outcome) : 0;
    digests[n_digests].found = outcome ? found_digest(outcome) : 0;
    n_digests++;
}

static hf_status marked_prepare(void *state, size_t index, uint64_t number) {
    sample = index == point ? sample + 1 : 0;
    point = index;
    samples++;
    plant.phase = sample < warmups ? PLANT_WARM_INPUT : PLANT_INPUT;
    return path_table->prepare(state, index, number);
}

/* How many of these steps the benchmark is asked for. */
static size_t steps_left(size_t inner) {
    int kind = plant_hit(PLANT_STEP) ? plant.fault->kind : PLANT_KINDS;
    size_t left = kind == PLANT_DROP ? 0 : kind == PLANT_SHORTEN ? inner - 1 : inner;
    plant.report.acted += left < inner;
    return left;
}

static hf_status marked_step(void *state, size_t index, size_t inner) {
    plant.phase = sample < warmups ? PLANT_WARM_STEPS : PLANT_STEPS;
    bool spoils = spoil.how != PLANT_SOUND && spoil.sample == samples;
    if (spoils)
        plant_memory_keep();
    plant.spoiling = spoils ? spoil.how : PLANT_SOUND;
    size_t left = steps_left(inner);
    hf_status status = left > 0 ? path_table->step(state, index, left) : HF_OK;
    plant.spoiling = PLANT_SOUND;
    plant_device_steps_end();
    if (spoils)
        plant.report.spoiled += plant_memory_spoil(spoil.how);
    digest_take(NULL);
    plant.phase = sample < warmups ? PLANT_WARM_CHECK : PLANT_CHECK;
    return status;
}

static hf_status marked_verify(void *state, size_t index, size_t steps,
                               hf_outcome *out) {
    bool drops = plant_hit(PLANT_VERIFY) && plant.fault->kind == PLANT_DROP;
    hf_status status = drops ? HF_OK : path_table->verify(state, index, steps, out);
    plant.report.acted += drops;
    digest_take(out);
    if (plant.report.acted > seen_acted)
        plant.report.sample = samples;
    seen_acted = plant.report.acted;
    if (blind)
        out->error = 0;
    plant.report.error = hf_larger(plant.report.error, out->error);
    return status;
}

hf_status __real_hf_session_path(const hf_bench_path **out, const hf_session *session,
                                 const hf_bench *bench);
hf_status __wrap_hf_session_path(const hf_bench_path **out, const hf_session *session,
                                 const hf_bench *bench);

/* Reads before samples are as many as the clock lets through: no place of a fault among them is the
 * same in each run. */
bool __wrap_hf_device_on_one_core(const hf_device *device);
bool __wrap_hf_device_on_one_core(const hf_device *device) {
    (void)device;
    return false;
}

/* The linker leads calls of hf_session_path here (--wrap). */
hf_status __wrap_hf_session_path(const hf_bench_path **out, const hf_session *session,
                                 const hf_bench *bench) {
    HF_TRY(__real_hf_session_path(&path_table, session, bench));
    path = *path_table;
    path.setup = marked_setup;
    path.plan = marked_plan;
    path.prepare = marked_prepare;
    path.step = marked_step;
    path.verify = marked_verify;
    *out = &path;
    return HF_OK;
}

/* ---- a session, a run ---- */

void plant_open(hf_session *session) {
    plant.session = session;
    number = session->number;
    device_table = session->device->ops;
    plant_device_wrap(&device_ops, device_table);
    session->device->ops = &device_ops;
    net_table = session->net->ops;
    plant_net_wrap(&net_ops, net_table);
    session->net->ops = &net_ops;
    exchange_table = session->exchange->ops;
    exchange_ops = *exchange_table;
    if (exchange_table->blocks) {
        block_ops = *exchange_table->blocks;
        exchange_ops.blocks = &block_ops;
    } else {
        stream_ops = *exchange_table->streams;
        stream_ops.stream = planted_stream;
        exchange_ops.streams = &stream_ops;
    }
    session->exchange->ops = &exchange_ops;
}

void plant_close(void) {
    plant.session->device->ops = device_table;
    plant.session->net->ops = net_table;
    plant.session->exchange->ops = exchange_table;
    plant.session = NULL;
}

void plant_learn(void) {
    plant.learning = 3;
    plant_device_forget();
}

void plant_start(const plant_fault *fault, size_t n_warmup) {
    plant.fault = fault;
    plant.report = (plant_report){.apart = true, .clears = true};
    plant.phase = PLANT_SETUP;
    plant.learning -= plant.learning > 0;
    /* Findings hold it: one for all runs that must be equal, but none of the run whose memory
     * comes back. */
    plant.session->number = plant.learning == 2 ? number : 1;
    if (exchange_table->blocks)
        block_ops.plan = swap ? swapped_plan : exchange_table->blocks->plan;
    else
        stream_ops.connect = swap ? swapped_connect : exchange_table->streams->connect;
    warmups = n_warmup;
    point = SIZE_MAX;
    n_digests = 0;
    swapped = 0;
    samples = seen_acted = 0;
    memset(seen, 0, sizeof seen);
    free(last.data);
    last.data = NULL;
    plant_net_start();
    plant_device_start();
}

/* Do the input and the steps before these digests leave a piece of a buffer as the check before
 * left it, as they do without a fault? */
static bool is_left(size_t i, size_t piece) {
    return i > 0 && digests[i].memory[piece] == digests[i - 1].memory[piece] &&
           reference[i].memory[piece] == reference[i - 1].memory[piece];
}

/* Has this rank no work in a phase? */
static bool is_idle(int phase) {
    size_t n = 0;
    for (int call = PLANT_LAUNCH; call < PLANT_GATHER; call++)
        n += totals[call][phase];
    return n == 0;
}

/* Does a piece hold the same from the first steps to the last check? */
static bool is_fixed(size_t piece) {
    size_t i = 0;
    while (i < n_reference && reference[i].memory[piece] == reference[0].memory[piece])
        i++;
    return i == n_reference;
}

plant_report plant_end(void) {
    if (plant.learning == 2)
        number = plant.session->number;
    if (plant.learning > 0)
        memcpy(totals, seen, sizeof totals);
    if (plant.learning == 1) {
        memcpy(reference, digests, sizeof reference);
        n_reference = n_digests;
    }
    plant_report *r = &plant.report;
    r->right = r->checked = r->given = r->alone = r->fixed = r->made = r->told =
        n_digests == n_reference;
    r->idler = r->acted == 0 || is_idle(plant.fault->phase);
    r->tells = records.n > 0;
    r->spared = r->spared || r->reached == 0;
    for (size_t i = 0; i < n_digests && i < n_reference; i++) {
        r->told = r->told && digests[i].told == reference[i].told;
        r->other = r->other || digests[i].found != reference[i].found;
        for (size_t p = 0; p < PLANT_PIECES; p++)
            if (digests[i].memory[p] != reference[i].memory[p]) {
                r->right = r->right && i % 2;
                r->checked = r->checked && i % 2 == 0;
                r->given = r->given && (i % 2 || !plant_given(p / PLANT_PARTS));
                r->alone = r->alone && plant_damaged(p / PLANT_PARTS);
                r->fixed = r->fixed && is_fixed(p);
                r->made = r->made && (i % 2 || is_left(i, p));
            }
    }
    plant.fault = NULL;
    spoil.how = PLANT_SOUND;
    later = PLANT_SETUP;
    return plant.report;
}

size_t plant_total(int call, int phase) {
    return totals[call][phase];
}

void plant_blind(bool is) {
    blind = is;
}

void plant_spoil(int how, size_t in_sample) {
    spoil.how = how;
    spoil.sample = in_sample;
}

void plant_later(int phase) {
    later = phase;
}

void plant_swap(bool is) {
    swap = is;
}

size_t plant_swapped(void) {
    return swapped;
}
