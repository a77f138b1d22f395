/* graph_own.c - programs of users: their result against that of the plainest way.
 *
 * Nobody here knows what such a program should leave. So every rank's device has the whole graph,
 * too, and takes the program's supersteps once for each point, one vertex after the other, by a
 * kernel that has no chunks, lists, mirrors, hints and priorities.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph_engine.h"
#include "verdict.h"

enum { GRAPH_OWN_BUFFERS = 10, N_SAME_ARGS = 4, MAX_SAME_ITEMS = 64, N_FOUND = 2 };

struct graph_own {
    hf_part *part; /* all of the graph, with the numbers of the input */
    union {
        struct {
            hf_buffer *rows, *from, *weights, *degrees, *state, *active[2], *told[2],
                *found;
        };
        hf_buffer *buffers[GRAPH_OWN_BUFFERS];
    };
    hf_kernel *again, *same;
    uint64_t supersteps; /* that it took */
    double changed[2];   /* in its last superstep but one, and its last */
    hf_verdict verdict;
};

hf_status graph_own_new(graph_state *s) {
    hf_device *device = s->env.device;
    graph_own *o = s->own = calloc(1, sizeof *o);
    if (!o)
        return hf_fail(HF_ENOMEM, "no memory for a check");
    HF_TRY(device->ops->kernel(&o->again, device, "graph_again", 0));
    HF_TRY(device->ops->kernel(&o->same, device, "graph_same", 0));
    bool both = s->traits[GRAPH_UNDIRECTED], weights = s->traits[GRAPH_WEIGHTED];
    uint64_t taken = hf_part_bytes(s->graph, s->env.size, both, weights);
    HF_TRY(
        hf_part_whole(&o->part, s->graph, both, weights, s->env.memory_left - taken));
    const hf_part *p = o->part;
    size_t word = sizeof(uint32_t), update = s->traits[GRAPH_UPDATE_BYTES];
    HF_TRY(
        graph_words_new(s, &o->rows, "rows", p->rows, (p->own + 1) * sizeof *p->rows));
    HF_TRY(graph_words_new(s, &o->from, "edges", p->from, p->in_edges * word));
    HF_TRY(graph_words_new(s, &o->weights, "weights", p->weights,
                           p->weights ? p->in_edges * word : 0));
    HF_TRY(graph_words_new(s, &o->degrees, "degrees", p->degrees, p->own * word));
    HF_TRY(
        graph_buffer_new(s, &o->state, p->own * (size_t)s->traits[GRAPH_VERTEX_BYTES]));
    for (int i = 0; i < 2; i++) {
        HF_TRY(graph_buffer_new(s, &o->active[i], p->own * word));
        HF_TRY(graph_buffer_new(s, &o->told[i], p->own * update));
    }
    HF_TRY(graph_buffer_new(s, &o->found, N_FOUND * word));
    return hf_verdict_new(&o->verdict, &s->env, s->env.ndrange ? MAX_SAME_ITEMS : 1,
                          NULL);
}

void graph_own_free(graph_state *s) {
    graph_own *o = s->own;
    if (!o)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    for (size_t i = 0; i < GRAPH_OWN_BUFFERS; i++)
        ops->free(o->buffers[i]);
    ops->kernel_free(o->again);
    ops->kernel_free(o->same);
    hf_verdict_free(&o->verdict);
    hf_part_free(o->part);
    free(o);
}

/* Until no vertex tells anything, or as many as the engine took where that is not its end. */
static hf_status supersteps_take(graph_state *s) {
    graph_own *o = s->own;
    hf_device *device = s->env.device;
    struct {
        uint32_t told;
        float changed;
    } found = {1, 0};
    o->supersteps = s->tally.supersteps;
    o->changed[1] = 0;
    for (uint32_t n = 0; found.told; n++) {
        uint32_t now = n % 2, next = 1 - now;
        const hf_arg args[] = {{.buffer = o->rows},         {.buffer = o->from},
                               {.buffer = o->weights},      {.buffer = o->degrees},
                               {.buffer = s->buffers.run},  {.buffer = o->state},
                               {.buffer = o->active[now]},  {.buffer = o->told[now]},
                               {.buffer = o->active[next]}, {.buffer = o->told[next]},
                               {.buffer = o->found},        HF_VALUE(n)};
        const hf_launch launch = {
            .kernel = o->again, .args = args, .n_args = sizeof args / sizeof *args};
        HF_TRY(hf_go_on(&s->env, false));
        HF_TRY(device->ops->launch(device, &launch, NULL, NULL));
        HF_TRY(
            device->ops->read(device, o->found, 0, &found, sizeof found, NULL, NULL));
        if (s->traits[GRAPH_ALWAYS] || s->tally.supersteps == s->cap)
            found.told = n < s->tally.supersteps;
        o->changed[0] = o->changed[1];
        o->changed[1] = (double)found.changed;
    }
    return HF_OK;
}

/* Is what the device checks what the host got? */
static hf_status state_compare(const graph_state *s, bool *right) {
    hf_device *device = s->env.device;
    size_t vertex = s->traits[GRAPH_VERTEX_BYTES], bytes = s->part->own * vertex;
    const char *came = (const char *)s->state + graph_first(s) * vertex;
    *right = true;
    if (bytes == 0)
        return HF_OK;
    char *own = malloc(bytes);
    if (!own)
        return hf_fail(HF_ENOMEM, "no memory for the state of %u vertices",
                       s->part->own);
    for (size_t i = 0; i < bytes; i++)
        own[i] = (char)~came[i]; /* of a read that does nothing */
    hf_status status =
        device->ops->read(device, s->buffers.state, 0, own, bytes, NULL, NULL);
    *right = memcmp(own, came, bytes) == 0;
    free(own);
    return status;
}

hf_status graph_own_check(graph_state *s, graph_verdict *out) {
    enum { ROUNDING = 100 }; /* sums in float, in another order: one part of so many */
    graph_own *o = s->own;
    if (!s->own_known ||
        (s->traits[GRAPH_ALWAYS] && o->supersteps != s->tally.supersteps))
        HF_TRY(supersteps_take(s));
    s->own_known = true;
    if (s->env.rank == 0) { /* all ranks know those of all vertices */
        out->before = o->changed[0] + fabs(o->changed[0]) / ROUNDING;
        out->last = o->changed[1] - fabs(o->changed[1]) / ROUNDING;
    }
    hf_arg args[N_SAME_ARGS + HF_VERDICT_ARGS] = {{.buffer = s->buffers.names},
                                                  {.buffer = s->buffers.run},
                                                  {.buffer = s->buffers.state},
                                                  {.buffer = o->state}};
    HF_TRY(hf_verdict_take(&o->verdict, HF_VERDICT_COUNT, o->same, args, N_SAME_ARGS, 0,
                           s->part->own, &out->error));
    bool right = false;
    HF_TRY(state_compare(s, &right));
    out->error += !right;
    return HF_OK;
}
