/* graph_steps.c - a run of a program, until all ranks know that it is over. */
#include <string.h>

#include "core/error.h"
#include "graph_engine.h"

static uint64_t window_of(const graph_state *s) {
    return s->settled | (uint64_t)s->until << 32;
}

static hf_status start_launch(graph_state *s) {
    uint64_t window = window_of(s);
    const hf_arg args[] = {GRAPH_BUFFER(chunks),
                           GRAPH_BUFFER(degrees),
                           GRAPH_BUFFER(names),
                           GRAPH_BUFFER(run),
                           GRAPH_BUFFER(state),
                           GRAPH_BUFFER(outbox),
                           GRAPH_BUFFER(waiting),
                           GRAPH_VALUE(window),
                           GRAPH_VALUE(s->seals[s->env.rank])};
    return graph_launch(s, s->kernels.start, args, sizeof args / sizeof *args,
                        s->run.chunks);
}

static hf_status pull_launch(graph_state *s) {
    uint64_t window = window_of(s);
    uint32_t everyone = s->totals.active == s->info->vertices;
    const hf_arg args[] = {GRAPH_BUFFER(chunks),
                           GRAPH_BUFFER(rows),
                           GRAPH_BUFFER(from),
                           GRAPH_BUFFER(weights),
                           GRAPH_BUFFER(degrees),
                           GRAPH_BUFFER(names),
                           GRAPH_BUFFER(run),
                           GRAPH_BUFFER(inbox),
                           GRAPH_BUFFER(state),
                           GRAPH_BUFFER(outbox),
                           GRAPH_BUFFER(waiting),
                           GRAPH_VALUE(s->superstep),
                           GRAPH_VALUE(everyone),
                           GRAPH_VALUE(window),
                           GRAPH_VALUE(s->seals[s->env.rank])};
    return graph_launch(s, s->kernels.pull, args, sizeof args / sizeof *args,
                        s->run.chunks);
}

static hf_status admit_launch(graph_state *s) {
    uint64_t window = window_of(s);
    const hf_arg args[] = {GRAPH_BUFFER(chunks),  GRAPH_BUFFER(degrees),
                           GRAPH_BUFFER(run),     GRAPH_BUFFER(outbox),
                           GRAPH_BUFFER(waiting), GRAPH_VALUE(s->superstep),
                           GRAPH_VALUE(window),   GRAPH_VALUE(s->seals[s->env.rank])};
    return graph_launch(s, s->kernels.admit, args, sizeof args / sizeof *args,
                        s->run.chunks);
}

/* Count `i` of those of all ranks. */
static const graph_count *count_of(const graph_state *s, size_t i) {
    const char *head = s->heads + i / s->run.chunks * s->run.head;
    return (const graph_count *)head + i % s->run.chunks;
}

/* What all ranks told in this superstep becomes what the next one sees. */
static hf_status take_launch(graph_state *s) {
    uint32_t ranks = (uint32_t)s->env.size, listed = s->totals.listed;
    size_t n = (size_t)ranks * s->run.chunks;
    const hf_arg args[] = {GRAPH_BUFFER(run),   GRAPH_BUFFER(outbox),
                           GRAPH_BUFFER(inbox), GRAPH_BUFFER(checks),
                           GRAPH_VALUE(ranks),  GRAPH_VALUE(s->superstep),
                           GRAPH_VALUE(listed)};
    if (!listed && s->env.size > 1) {
        HF_TRY(hf_plan_run(s->dense_plan));
        s->tally.bytes += s->bytes_dense;
    }
    for (size_t i = 0; i < n; i++)
        s->digests[i] += count_of(s, i)->digest;
    return graph_launch(s, s->kernels.take, args, sizeof args / sizeof *args, n);
}

/* Was chunk `c` of a rank counted in this superstep, and did its list come as it was? */
static bool count_right(const graph_state *s, int rank, uint32_t c) {
    const graph_count *count = count_of(s, (size_t)rank * s->run.chunks + c);
    const uint32_t *list =
        (const uint32_t *)(s->heads + (size_t)rank * s->run.head + s->run.list) +
        (size_t)c * s->run.list_words;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < s->run.list_words; i++)
        sum += graph_term(i, list[i]);
    return sum == count->listed && count->superstep == s->superstep &&
           count->seal == graph_seal(count, s->seals[rank], s->superstep, window_of(s));
}

/* The heads of all ranks. */
static hf_status heads_read(graph_state *s) {
    hf_device *device = s->env.device;
    size_t head = s->run.head, own = (size_t)s->env.rank * head, behind = own + head,
           bytes = (size_t)s->env.size * head;
    memset(s->heads, 0xA5, bytes);
    if (s->env.size > 1)
        HF_TRY(hf_plan_run(s->heads_plan));
    if (own > 0)
        HF_TRY(
            device->ops->read(device, s->buffers.inbox, 0, s->heads, own, NULL, NULL));
    if (behind < bytes)
        HF_TRY(device->ops->read(device, s->buffers.inbox, behind, s->heads + behind,
                                 bytes - behind, NULL, NULL));
    HF_TRY(device->ops->read(device, s->buffers.outbox, 0, s->heads + own, head, NULL,
                             NULL));
    s->tally.bytes += s->bytes_heads;
    hf_lap(s->env.laps, HF_LAP_TRANSFER);
    for (int rank = 0; rank < s->env.size; rank++)
        for (uint32_t c = 0; c < s->run.chunks; c++)
            if (!count_right(s, rank, c))
                return hf_fail(
                    HF_EDEVICE,
                    "superstep %u: chunk %u of rank %d was not counted in it",
                    s->superstep, c, rank);
    return HF_OK;
}

static void totals_add(graph_state *s) {
    graph_totals t = {.lowest = HF_NO_VERTEX, .listed = true};
    for (size_t i = 0; i < (size_t)s->env.size * s->run.chunks; i++) {
        const graph_count *c = count_of(s, i);
        t.active += c->active;
        t.pending += c->pending;
        t.edges += c->edges;
        t.messages += c->messages;
        t.lowest = c->lowest < t.lowest ? c->lowest : t.lowest;
        t.changed += c->changed;
        t.listed = t.listed && c->active <= s->run.room;
    }
    s->totals = t;
    s->tally.updates += t.active;
    s->tally.messages += t.messages;
}

/* Is the program over? All ranks decide from the same totals. */
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
    uint64_t until = s->totals.lowest + s->width;
    s->settled = s->totals.lowest;
    s->until = until < HF_NO_VERTEX ? (uint32_t)until : HF_NO_VERTEX;
    s->width *= s->traits[GRAPH_GROWTH];
    s->width = s->width < HF_NO_VERTEX ? s->width : HF_NO_VERTEX;
}

hf_status graph_run_program(graph_state *s) {
    s->superstep = 0;
    s->totals = (graph_totals){0};
    s->width = s->traits[GRAPH_WINDOW];
    window_move(s);
    HF_TRY(start_launch(s));
    for (;;) {
        HF_TRY(heads_read(s));
        totals_add(s);
        if (over(s))
            break;
        HF_TRY(s->env.go_on(s->env.loop));
        if (s->totals.active > 0 || s->traits[GRAPH_ALWAYS]) {
            HF_TRY(take_launch(s));
            s->superstep++;
            HF_TRY(pull_launch(s));
        } else {
            window_move(s);
            s->superstep++;
            HF_TRY(admit_launch(s));
        }
    }
    s->tally.supersteps = s->superstep;
    s->ended = true;
    return HF_OK;
}
