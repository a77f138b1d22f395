/* graph_updates.c - architecture gravf-m: each update once to each device.
 *
 * Every rank has a mirror of the updates of all, and makes messages of them itself: where they are
 * gathered, or where they leave.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/error.h"
#include "graph_engine.h"
#include "graph_ring.h"

/* ---- set-up ---- */

/* Those that apply all vertices have messages along all edges. */
static hf_status direction_take(graph_state *s, const char *word) {
    s->direction = strcmp(word, "pull") == 0   ? GRAPH_PULL
                   : strcmp(word, "push") == 0 ? GRAPH_PUSH
                                               : GRAPH_AUTO;
    bool words = s->traits[GRAPH_MESSAGE_BYTES] == sizeof(uint32_t);
    s->pushes = s->direction != GRAPH_PULL && words && !s->traits[GRAPH_ALWAYS];
    if (s->direction != GRAPH_PUSH || s->pushes)
        return HF_OK;
    return words ? hf_fail(HF_EARG, "direction: push, but the program applies all "
                                    "vertices; auto and pull are possible")
                 : hf_fail(HF_EARG,
                           "direction: push, but a message has %u B, not 4; auto and "
                           "pull are possible",
                           s->traits[GRAPH_MESSAGE_BYTES]);
}

static hf_status updates_open(graph_state *s, const char *direction) {
    graph_kernels *k = &s->kernels;
    hf_device *device = s->env.device;
    const hf_device_ops *ops = device->ops;
    HF_TRY(direction_take(s, direction));
    HF_TRY(ops->kernel(&k->pull, device, "graph_pull", 0));
    HF_TRY(ops->kernel(&k->push, device, "graph_push", 0));
    return ops->kernel(&k->apply, device, "graph_apply", 0);
}

void graph_launches_choose(graph_state *s) {
    bool alone = s->architecture == &graph_updates_cross && s->env.size == 1 &&
                 !graph_groups(s) && s->routing->few && s->direction == GRAPH_AUTO;
    s->fewer = alone && s->pushes && s->part->in_edges <= GRAPH_FEW_GRAPH;
    s->persists = alone && s->env.ndrange && (s->fewer || s->traits[GRAPH_ALWAYS]);
}

static hf_status updates_setup(graph_state *s, graph_sizes *out) {
    const graph_run *run = &s->run;
    graph_kernels *k = &s->kernels;
    hf_device *device = s->env.device;
    size_t all =
        run->in_updates + (size_t)s->part->vertices * s->traits[GRAPH_UPDATE_BYTES];
    *out = (graph_sizes){.inbox = all,
                         .outbox = s->routing->in_place ? all : run->out_records,
                         .edges = true};
    if (s->persists)
        return device->ops->kernel(&k->persistent, device, "graph_persistent", 0);
    return s->fewer ? device->ops->kernel(&k->few, device, "graph_few", 0) : HF_OK;
}

/* ---- supersteps ---- */

static hf_status pull_launch(graph_state *s) {
    uint32_t everyone = s->totals.active == s->run.heard;
    const hf_arg args[] = {GRAPH_BUFFER(chunks),   GRAPH_BUFFER(rows),
                           GRAPH_BUFFER(from),     GRAPH_BUFFER(weights),
                           GRAPH_BUFFER(degrees),  GRAPH_BUFFER(names),
                           GRAPH_BUFFER(run),      GRAPH_BUFFER(inbox),
                           GRAPH_BUFFER(state),    GRAPH_BUFFER(outbox),
                           GRAPH_BUFFER(waiting),  GRAPH_BUFFER(later),
                           HF_VALUE(s->superstep), HF_VALUE(everyone),
                           HF_VALUE(s->window),    GRAPH_SEAL};
    return s->routing->make(s, GRAPH_PULLS, args, GRAPH_N_ARGS(args));
}

/* Edges by where they leave. */
#define OUTS(name, other) \
    { .buffer = s->mirrored || !s->pushes ? s->buffers.other : s->buffers.name }

static hf_status push_launch(graph_state *s) {
    const hf_arg push[] = {
        OUTS(pieces, chunks),      OUTS(outs, rows),   OUTS(to, from),
        OUTS(to_weights, weights), GRAPH_BUFFER(run),  GRAPH_BUFFER(inbox),
        GRAPH_BUFFER(state),       GRAPH_BUFFER(got),  GRAPH_BUFFER(touched),
        GRAPH_BUFFER(made),        HF_VALUE(s->window)};
    const hf_arg apply[] = {GRAPH_BUFFER(chunks),  GRAPH_BUFFER(degrees),
                            GRAPH_BUFFER(names),   GRAPH_BUFFER(run),
                            GRAPH_BUFFER(made),    GRAPH_BUFFER(got),
                            GRAPH_BUFFER(touched), GRAPH_BUFFER(state),
                            GRAPH_BUFFER(outbox),  GRAPH_BUFFER(waiting),
                            GRAPH_BUFFER(later),   HF_VALUE(s->superstep),
                            HF_VALUE(s->window),   GRAPH_SEAL};
    HF_TRY(graph_begin(s, s->kernels.push, push, GRAPH_N_ARGS(push), s->run.chunks));
    return s->routing->make(s, GRAPH_APPLIES, apply, GRAPH_N_ARGS(apply));
}

hf_status graph_few_launch(graph_state *s) {
    uint32_t cap = (uint32_t)s->cap, pending = (uint32_t)s->totals.pending;
    const hf_arg args[] = {
        OUTS(outs, rows),       OUTS(to, from),       OUTS(to_weights, weights),
        GRAPH_BUFFER(names),    GRAPH_BUFFER(run),    GRAPH_BUFFER(inbox),
        GRAPH_BUFFER(state),    GRAPH_BUFFER(outbox), GRAPH_BUFFER(waiting),
        GRAPH_BUFFER(later),    GRAPH_BUFFER(got),    GRAPH_BUFFER(lists),
        HF_VALUE(s->superstep), HF_VALUE(cap),        HF_VALUE(pending),
        HF_VALUE(s->window),    HF_VALUE(s->width),   GRAPH_SEAL};
    return graph_begin(s, s->kernels.few, args, GRAPH_N_ARGS(args), 1);
}

hf_status graph_persistent_launch(graph_state *s, bool starts) {
    const graph_totals *t = &s->totals;
    graph_control *control = s->control;
    hf_device *device = s->env.device;
    const hf_arg args[] = {
        GRAPH_BUFFER(chunks),      GRAPH_BUFFER(rows),    GRAPH_BUFFER(from),
        GRAPH_BUFFER(weights),     GRAPH_BUFFER(degrees), GRAPH_BUFFER(names),
        GRAPH_BUFFER(run),         GRAPH_BUFFER(inbox),   GRAPH_BUFFER(outbox),
        GRAPH_BUFFER(state),       GRAPH_BUFFER(waiting), GRAPH_BUFFER(later),
        OUTS(pieces, chunks),      OUTS(outs, rows),      OUTS(to, from),
        OUTS(to_weights, weights), GRAPH_BUFFER(got),     GRAPH_BUFFER(touched),
        GRAPH_BUFFER(lists),       GRAPH_BUFFER(control)};
    memset(control, 0, offsetof(graph_control, counts));
    control->window = s->window;
    control->width = s->width;
    control->edges = t->edges;
    control->told = s->tally.edges;
    control->all = s->edges;
    control->superstep = s->superstep;
    control->active = (uint32_t)t->active;
    control->pending = (uint32_t)t->pending;
    control->lowest = t->lowest;
    control->starts = starts;
    control->cap = (uint32_t)s->cap;
    control->tolerance =
        s->tolerance > 0 ? nextafterf((float)s->tolerance, INFINITY) : -1.0f;
    control->seal = s->seals[s->env.rank];
    control->counts[0].superstep = HF_NO_VERTEX;
    HF_TRY(device->ops->write(device, s->buffers.control, 0, control,
                              offsetof(graph_control, counts[1]), NULL, NULL));
    return graph_begin(s, s->kernels.persistent, args, GRAPH_N_ARGS(args),
                       s->run.chunks);
}

/* With weights hardly one message is enough, so that a pull never pays. */
static bool pulls(const graph_state *s) {
    if (!s->pushes)
        return true;
    if (s->direction == GRAPH_PUSH || s->traits[GRAPH_WEIGHTED])
        return false;
    return graph_pull_pays(s->totals.edges, s->tally.edges, s->edges, s->info->vertices,
                           s->traits[GRAPH_HINTS]);
}

static hf_status updates_gather(graph_state *s) {
    return pulls(s) ? pull_launch(s) : push_launch(s);
}

/* Messages are made as they are gathered, and leave nothing to a sample. */
static hf_status nothing(graph_state *s) {
    (void)s;
    return HF_OK;
}

/* Who takes updates knows how many they are, and along how many edges they go. */
static hf_status updates_check(const graph_state *s, const graph_totals *before) {
    const graph_totals *now = &s->totals;
    if (now->messages > before->edges)
        return hf_fail(HF_EDEVICE,
                       "superstep %u: %llu messages were gathered along %llu edges",
                       s->superstep, (unsigned long long)now->messages,
                       (unsigned long long)before->edges);
    const uint64_t counted = before->active + before->edges;
    return now->known == counted
               ? HF_OK
               : hf_fail(
                     HF_EDEVICE,
                     "superstep %u: %llu active vertices and edges that leave them, "
                     "not the %llu that were counted",
                     s->superstep - 1, (unsigned long long)now->known,
                     (unsigned long long)counted);
}

/* Behind graph_persistent the inbox has what the last superstep told. */
static graph_seen updates_seen(const graph_state *s) {
    return (graph_seen){s->fresh ? s->buffers.inbox : s->buffers.outbox,
                        s->run.in_updates, s->part->vertices, s->part->from};
}

const graph_architecture graph_updates_cross = {
    .name = "gravf-m",
    .streams = true,
    .lists = true,
    .open = updates_open,
    .setup = updates_setup,
    .connect = nothing,
    .prepare = nothing,
    .gather = updates_gather,
    .scatter = nothing,
    .check = updates_check,
    .take = graph_news_take,
    .seen = updates_seen,
};
