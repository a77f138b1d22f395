/* graph_steps.c - a run of a program, until all ranks know that it is over. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph_engine.h"
#include "graph_ring.h"

/* ---- kernels ---- */

static hf_status start_launch(graph_state *s) {
    uint32_t pushes = s->pushes;
    const hf_arg args[] = {GRAPH_BUFFER(chunks),  GRAPH_BUFFER(degrees),
                           GRAPH_BUFFER(names),   GRAPH_BUFFER(run),
                           GRAPH_BUFFER(state),   GRAPH_BUFFER(outbox),
                           GRAPH_BUFFER(waiting), GRAPH_BUFFER(later),
                           GRAPH_BUFFER(got),     GRAPH_BUFFER(touched),
                           GRAPH_BUFFER(inbox),   HF_VALUE(pushes),
                           HF_VALUE(s->window),   GRAPH_SEAL};
    return s->routing->make(s, GRAPH_STARTS, args, GRAPH_N_ARGS(args));
}

static hf_status admit_launch(graph_state *s) {
    const hf_arg args[] = {
        GRAPH_BUFFER(chunks),   GRAPH_BUFFER(degrees), GRAPH_BUFFER(run),
        GRAPH_BUFFER(outbox),   GRAPH_BUFFER(waiting), GRAPH_BUFFER(later),
        HF_VALUE(s->superstep), HF_VALUE(s->window),   GRAPH_SEAL};
    return s->routing->make(s, GRAPH_ADMITS, args, GRAPH_N_ARGS(args));
}

const graph_count *graph_count_of(const graph_state *s, size_t i) {
    const char *head = s->heads + i / s->run.chunks * s->run.head;
    return (const graph_count *)head + i % s->run.chunks;
}

/* ---- counts ---- */

static bool sealed(const graph_state *s, int rank, const graph_count *count) {
    uint32_t seal = s->seals[rank] ^ s->architecture->seal;
    return count->superstep == s->superstep &&
           count->seal == graph_seal(count, seal, s->superstep, s->window);
}

/* Was chunk `c` of a rank counted in this superstep, and did its list come as it was? */
static bool count_right(const graph_state *s, int rank, uint32_t c) {
    const graph_count *count = graph_count_of(s, (size_t)rank * s->run.chunks + c);
    const uint32_t *list =
        (const uint32_t *)(s->heads + (size_t)rank * s->run.head + s->run.list) +
        (size_t)c * s->run.list_words;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < s->run.list_words; i++)
        sum += graph_term(i, list[i]);
    return (!s->architecture->lists || sum == count->listed) && sealed(s, rank, count);
}

static hf_status counts_check(const graph_state *s) {
    for (int rank = 0; rank < s->env.size; rank++)
        for (uint32_t c = 0; c < s->run.chunks; c++)
            if (!count_right(s, rank, c))
                return hf_fail(
                    HF_EDEVICE,
                    "superstep %u: chunk %u of rank %d was not counted in it",
                    s->superstep, c, rank);
    return HF_OK;
}

/* Add count `c` of a rank. */
static void count_add(const graph_state *s, graph_totals *t, int rank,
                      const graph_count *c) {
    t->active += c->active;
    t->pending += c->pending;
    t->edges += c->edges;
    t->messages += c->messages;
    t->known += c->known;
    t->lowest = c->lowest < t->lowest ? c->lowest : t->lowest;
    t->changed += c->changed;
    t->heard += c->digest;
    t->made += c->listed;
    t->listed = t->listed && c->active <= s->run.room;
    if (rank != s->env.rank)
        return;
    t->own_edges += c->edges;
    t->own_active += c->active;
    t->own_messages += c->messages;
}

/* Totals to which no count was added yet. */
static const graph_totals NO_TOTALS = {.lowest = HF_NO_VERTEX, .listed = true};

/* These totals are those of the superstep. */
static void totals_set(graph_state *s, const graph_totals *t) {
    s->totals = *t;
    graph_stage_add(s, GRAPH_STAGE_ACTIVE, t->own_active);
    graph_stage_add(s, GRAPH_STAGE_EDGES, t->own_edges);
    graph_stage_add(s, GRAPH_STAGE_MESSAGES, t->own_messages);
    s->tally.updates += t->active;
    s->tally.messages += t->messages;
    s->tally.edges += t->edges;
}

/* Do the totals fit those of the superstep before? After one without an active vertex, the
 * vertices that waited are active. In PageRank all that edges leave are. */
static hf_status totals_check(const graph_state *s, const graph_totals *before) {
    const graph_totals *now = &s->totals;
    HF_TRY(s->architecture->check(s, before));
    if (now->active > s->run.heard ||
        (s->check->reference && now->active < s->run.heard))
        return hf_fail(HF_EDEVICE,
                       "superstep %u: %llu vertices told something, and edges leave %u",
                       s->superstep, (unsigned long long)now->active, s->run.heard);
    if (!s->traits[GRAPH_ALWAYS] && s->superstep > 0 && now->active == 0 &&
        before->active == 0)
        return hf_fail(HF_EDEVICE,
                       "superstep %u: no vertex was active, as in the one before",
                       s->superstep);
    return HF_OK;
}

/* ---- decisions, on all ranks from the same totals ---- */

/* Is the program over? */
static bool over(const graph_state *s) {
    const graph_totals *t = &s->totals;
    if (s->cap > 0 && s->superstep >= s->cap)
        return true;
    if (s->traits[GRAPH_ALWAYS])
        return s->superstep > 0 && s->tolerance > 0 && t->changed <= s->tolerance;
    return t->active == 0 && t->pending == 0;
}

/* The next priorities that are due. */
static void window_move(graph_state *s) {
    s->window = graph_window_from(s->totals.lowest, &s->width, s->traits[GRAPH_GROWTH]);
}

/* Supersteps that one launch may take, from here on. */
static bool few(const graph_state *s) {
    const graph_totals *t = &s->totals;
    return s->fewer && graph_is_few(t->active, t->pending, t->edges);
}

/* ---- a run ---- */

/* The supersteps of a launch, each as if it had been launched. With `starts` the first is that
 * in which the program starts. A clock said `ticks` of each; NULL or zeros: there is
 * none. */
static hf_status counts_take(graph_state *s, const graph_count *counts, bool starts,
                             const uint64_t *ticks, bool *done) {
    uint32_t first = s->superstep + !starts;
    for (uint32_t step = 0; !*done; step++) {
        const graph_totals before = s->totals;
        const graph_count *count = counts + step;
        if (step > 0 || !starts) {
            if (s->totals.active == 0 && !s->traits[GRAPH_ALWAYS])
                window_move(s);
            s->superstep++;
        }
        if (step == GRAPH_FEW_STEPS || count->first != step || !sealed(s, 0, count))
            return hf_fail(HF_EDEVICE, "superstep %u was not counted", s->superstep);
        graph_totals now = NO_TOTALS;
        count_add(s, &now, 0, count);
        totals_set(s, &now);
        HF_TRY(totals_check(s, &before));
        *done = over(s);
        if (!count->end)
            break;
    }
    hf_stages_end(s->env.stages, first, s->superstep, ticks);
    return HF_OK;
}

static hf_status few_take(graph_state *s, bool *done) {
    HF_TRY(graph_few_launch(s));
    HF_TRY(s->routing->heads_read(s));
    return counts_take(s, (const graph_count *)s->heads, false, NULL, done);
}

static hf_status persistent_take(graph_state *s, bool starts, bool *done) {
    graph_control *control = s->control;
    hf_device *device = s->env.device;
    HF_TRY(graph_persistent_launch(s, starts));
    HF_TRY(graph_await(s));
    memset(control, 0xA5, sizeof *control);
    HF_TRY(device->ops->read(device, s->buffers.control, 0, control, sizeof *control,
                             NULL, NULL));
    hf_lap(s->env.laps, HF_LAP_TRANSFER);
    if (control->turned % 2)
        graph_boxes_turn(s);
    s->fresh = false;
    return counts_take(s, control->counts, starts, control->ticks, done);
}

/* What all ranks counted in this superstep. */
static hf_status heads_take(graph_state *s) {
    const graph_totals before = s->totals;
    HF_TRY(s->architecture->scatter(s));
    HF_TRY(s->routing->heads_read(s));
    HF_TRY(counts_check(s));
    graph_totals now = NO_TOTALS;
    for (size_t i = 0; i < (size_t)s->env.size * s->run.chunks; i++)
        count_add(s, &now, (int)(i / s->run.chunks), graph_count_of(s, i));
    totals_set(s, &now);
    HF_TRY(totals_check(s, &before));
    hf_stages_end(s->env.stages, s->superstep, s->superstep, NULL);
    return HF_OK;
}

static hf_status superstep_take(graph_state *s) {
    if (s->totals.active > 0 || s->traits[GRAPH_ALWAYS]) {
        s->superstep++;
        HF_TRY(s->architecture->gather(s));
    } else {
        window_move(s);
        s->superstep++;
        HF_TRY(admit_launch(s));
    }
    return heads_take(s);
}

/* Superstep after superstep, each by launches of its own. */
static hf_status supersteps_run(graph_state *s) {
    HF_TRY(start_launch(s));
    HF_TRY(heads_take(s));
    for (bool done = over(s); !done; done = done || over(s)) {
        HF_TRY(hf_go_on(&s->env, false));
        if (s->fresh)
            HF_TRY(s->routing->take(s));
        s->fresh = !few(s);
        HF_TRY(s->fresh ? superstep_take(s) : few_take(s, &done));
    }
    return HF_OK;
}

/* As many in a launch as it may take. What differs each time, who met whom and when, does not
 * stay: what a run leaves can be compared. */
static hf_status persistent_run(graph_state *s) {
    bool done = false;
    HF_TRY(persistent_take(s, true, &done));
    while (!done) {
        HF_TRY(hf_go_on(&s->env, false));
        HF_TRY(persistent_take(s, false, &done));
    }
    memset(s->control, 0, offsetof(graph_control, window));
    return s->env.device->ops->write(s->env.device, s->buffers.control, 0, s->control,
                                     offsetof(graph_control, window), NULL, NULL);
}

hf_status graph_run_program(graph_state *s) {
    s->superstep = 0;
    s->totals = (graph_totals){0};
    s->width = s->traits[GRAPH_WINDOW];
    window_move(s);
    HF_TRY(s->persists ? persistent_run(s) : supersteps_run(s));
    if (s->check->program && !s->traits[GRAPH_ALWAYS] &&
        (s->totals.active > 0 || s->totals.pending > 0))
        return hf_fail(HF_EARG, "supersteps: %s goes on after %llu; 0 lets it end",
                       s->check->program, (unsigned long long)s->cap);
    s->tally.supersteps = s->superstep;
    s->ended = true;
    return HF_OK;
}

hf_status graph_last_check(const graph_state *s, bool *right) {
    const hf_part *p = s->part;
    hf_device *device = s->env.device;
    const hf_buffer *from = s->fresh ? s->buffers.outbox : s->buffers.inbox;
    size_t at = s->fresh ? s->run.out_bits : s->run.in_bits, words = (p->own + 31) / 32;
    uint64_t edges = 0, active = 0, silent = 0;
    if (words == 0)
        return HF_OK;
    uint32_t *bits = malloc(words * sizeof *bits);
    if (!bits)
        return hf_fail(HF_ENOMEM, "no memory to check %u vertices", p->own);
    memset(bits, 0xA5, words * sizeof *bits);
    hf_status status =
        device->ops->read(device, from, at, bits, words * sizeof *bits, NULL, NULL);
    for (size_t word = 0; word < words; word++)
        for (uint32_t left = bits[word]; left; left &= left - 1) {
            size_t v = 32 * word + (size_t)__builtin_ctz(left);
            edges += v < p->own ? p->degrees[v] : 0;
            active++;
            silent += v >= p->heard[s->env.rank];
        }
    *right = *right && edges == s->totals.own_edges && active == s->totals.own_active &&
             silent == 0;
    free(bits);
    return status;
}
