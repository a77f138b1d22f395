/* graph.c - vertex programs over the parts of a graph, superstep by superstep.
 *
 * Every rank has its own vertices, the edges that lead to them, and a mirror of the updates of
 * all. In a superstep a kernel gathers along the edges and leaves new updates in an outbox. Its
 * head, with what was counted, goes to every rank: all add up the same counts, and so decide the
 * same without another message. Few updates travel as lists in the head; else bits and updates
 * of whole parts follow it. Over kernel-routed schemes the kernels send updates, then the counts.
 *
 * Counts are sealed for their superstep and sample; a superstep that is taken twice counts as
 * none. The digests of updates are compared with those of what came, at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "graph_engine.h"
#include "graph_ring.h"

/* clang-format off */
static const hf_param params[] = {
    {"graph", "a generator, kron:SCALE, urand:SCALE or grid:SCALE, with 2^SCALE vertices; "
     "or the path of a file", "kron:16", NULL, NULL, 0, 0, HF_TEXT},
    {"program", "bfs, pagerank, sssp or wcc; or the path of a header of one's own", "bfs",
     NULL, "hf_program.h", 0, 0, HF_TEXT},
    {"sources", "for programs that start at one vertex: how many runs from different "
     "vertices, each a point of the result; the seed draws them of those with edges; "
     "0: 4, or as many as source names", "0", NULL, NULL, 0, 65536, HF_INT},
    {"source", "numbers of the vertices to start at, as in the input, in place of drawn "
     "ones: 3 or 3,17; -1: draw them", "-1", NULL, NULL, -1, 4294967294.0, HF_INTS},
    {"partition", "how vertices are dealt out: cyclic, in turn; sorted, by falling degree; "
     "edges, ranges with equally many edges; metis, few edges between ranks, by pymetis; "
     "or a file with a rank for each", "cyclic",
     NULL, NULL, 0, 0, HF_TEXT},
    {"architecture", "what crosses to other devices: gravf-m, each update once to each, "
     "which makes messages of it; gravf, a message along each edge",
     "gravf-m", "gravf-m|gravf", NULL, 0, 0, HF_TEXT},
    {"direction", "how messages are made: pull, where edges lead; push, where they leave; "
     "auto, in each superstep what is faster", "auto", "auto|pull|push", NULL, 0, 0,
     HF_TEXT},
    {"value", "scalars of the program; pagerank: its damping", "0.85", NULL, NULL, -1e9,
     1e9, HF_REALS},
    {"tolerance", "a program that applies all vertices ends when they change by no more "
     "together; 0: it takes all its supersteps", "0", NULL, NULL, 0, 1e9, HF_REAL},
    {"supersteps", "how many a program takes that applies all vertices in each, such as "
     "pagerank; others end by themselves, and after so many at the latest; 0: as the "
     "program says", "0", NULL, NULL, 0, 4e9, HF_INT},
    {"channel_width", "what an external channel takes at a time [B]", "32", NULL,
     "HF_CHANNEL_WIDTH", 16, 128, HF_INT},
    HF_DEPTH_PARAM,
    HF_CHUNK_PARAMS,
    HF_SHAPE_PARAM,
    {0},
};
/* clang-format on */

static const hf_quantity labels[] = {{"source", "1", HF_I64, NULL},
                                     {"vertices", "1", HF_I64, NULL},
                                     {"edges", "1", HF_I64, NULL},
                                     {0}};
static const hf_quantity metrics[] = {{"edge_rate", "1/s", HF_F64, NULL}, {0}};
static const hf_quantity parts[] = {{"transfer_time", "s", HF_F64, NULL},
                                    {"exchange_time", "s", HF_F64, NULL},
                                    {"kernel_time", "s", HF_F64, NULL},
                                    {0}};
static const hf_quantity findings[] = {
    {"supersteps", "1", HF_I64, NULL}, {"messages", "1", HF_I64, NULL},
    {"updates", "1", HF_I64, NULL},    {"bytes", "B", HF_I64, NULL},
    {"reached", "1", HF_I64, NULL},    {"reached_edges", "1", HF_I64, NULL},
    {"traversed", "1", HF_I64, NULL},  {0}};
static const hf_quantity stages[] = {{"superstep_active", "1", HF_I64, NULL},
                                     {"superstep_edges", "1", HF_I64, NULL},
                                     {"superstep_messages", "1", HF_I64, NULL},
                                     {"superstep_bytes", "B", HF_I64, NULL},
                                     {"superstep_kernel_time", "s", HF_F64, NULL},
                                     {"superstep_exchange_time", "s", HF_F64, NULL},
                                     {0}};
static const hf_figure figures[] = {
    {"edge_rate", "1/s", "edge_rate", HF_FIGURE_HARMONIC}, {0}};

/* ---- set-up ---- */

/* What comes before a size: kernels tell the largest word in place of larger ones. */
static const char *or_more(uint32_t bytes) {
    return bytes == UINT32_MAX ? "at least " : "";
}

/* What the kernels say of the program. */
static hf_status traits_take(graph_state *s) {
    HF_TRY(hf_kernel_ask(s->env.device, "graph_traits", s->traits, sizeof s->traits));
    if (s->traits[GRAPH_PROOF] != graph_proof(s->traits))
        return hf_fail(HF_EDEVICE, "the kernels do not tell what the program is");
    if (graph_groups(s) && !s->env.ndrange)
        return hf_fail(HF_EARG,
                       "shape: pipeline, but the kernels are for work-groups of %u",
                       s->traits[GRAPH_TEAM_ITEMS]);
    uint32_t bytes = s->traits[GRAPH_UPDATE_BYTES];
    if (bytes == 0 || bytes % sizeof(uint32_t) || bytes > GRAPH_ALIGN)
        return hf_fail(HF_EARG,
                       "program: an update has %s%u B; 4, 8, ... %d are possible",
                       or_more(bytes), bytes, GRAPH_ALIGN);
    bytes = s->traits[GRAPH_MESSAGE_BYTES];
    if (graph_groups(s) && bytes > GRAPH_ALIGN)
        return hf_fail(HF_EARG,
                       "program: a message has %s%u B; %d at most are possible on a "
                       "GPU",
                       or_more(bytes), bytes, GRAPH_ALIGN);
    bytes = s->traits[GRAPH_VERTEX_BYTES];
    if (bytes == 0)
        return hf_fail(HF_EARG, "program: a vertex has no state");
    if (bytes > GRAPH_STATE)
        return hf_fail(HF_EARG,
                       "program: the state of a vertex has %s%u B; %d at most are "
                       "possible",
                       or_more(bytes), bytes, GRAPH_STATE);
    if (s->traits[GRAPH_PRIORITIES] && s->traits[GRAPH_ALWAYS])
        return hf_fail(HF_EARG,
                       "program: HF_ALWAYS and HF_WHEN; where all vertices apply in "
                       "every superstep no update waits");
    if (s->traits[GRAPH_PRIORITIES] &&
        (s->traits[GRAPH_WINDOW] == 0 || s->traits[GRAPH_GROWTH] == 0))
        return hf_fail(HF_EARG,
                       "program: HF_WINDOW is %u and HF_GROWTH %u; no update is ever "
                       "due where one is 0",
                       s->traits[GRAPH_WINDOW], s->traits[GRAPH_GROWTH]);
    return HF_OK;
}

static const graph_architecture *architecture_of(const hf_args *args) {
    return strcmp(hf_args_word(args, "architecture"), graph_messages_cross.name) == 0
               ? &graph_messages_cross
               : &graph_updates_cross;
}

/* Vertices to start at: those of `source`, else so many. */
static hf_status points_take(graph_state *s, const hf_args *args) {
    enum { SOURCES = 4 };
    size_t sources = (size_t)hf_args_number(args, "sources"), n;
    const double *given = hf_args_list(args, "source", &n);
    bool named = n > 1 || given[0] >= 0;
    s->starts = s->traits[GRAPH_SOURCE];
    if (named && !s->starts)
        return hf_fail(HF_EARG, "source: %.0f, but the program starts at no vertex",
                       given[0]);
    if (named && sources > 0 && sources != n)
        return hf_fail(HF_EARG, "sources: %zu, but source names %zu", sources, n);
    s->given = named ? given : NULL;
    s->n_points = named ? n : !s->starts ? 1 : sources > 0 ? sources : SOURCES;
    return HF_OK;
}

static hf_status params_take(graph_state *s, const hf_args *args) {
    size_t n;
    const double *values = hf_args_list(args, "value", &n);
    if (n > GRAPH_VALUES)
        return hf_fail(HF_EARG, "value: %zu values given, %d at most", n, GRAPH_VALUES);
    for (size_t i = 0; i < n; i++)
        s->run.value[i] = (float)values[i];
    s->tolerance = hf_args_number(args, "tolerance");
    s->check = graph_check_find(hf_args_word(args, "program"));
    if (s->check->program && n > 1)
        return hf_fail(HF_EARG, "value: %zu values given, but %s uses %s", n,
                       s->check->program, s->check->damped ? "one" : "none");
    if (s->check->damped && !(values[0] >= 0 && values[0] <= 1))
        return hf_fail(HF_EARG, "value: a damping of %g is not within 0 .. 1",
                       values[0]);
    HF_TRY(traits_take(s));
    if (s->tolerance > 0 && !s->traits[GRAPH_ALWAYS])
        return hf_fail(HF_EARG,
                       "tolerance: %g, but the program ends when no vertex is "
                       "active; only one that applies all vertices takes one",
                       s->tolerance);
    s->cap = (uint64_t)hf_args_number(args, "supersteps");
    if (s->cap == 0)
        s->cap = s->traits[GRAPH_SUPERSTEPS];
    if (s->traits[GRAPH_ALWAYS] && s->cap == 0 && s->tolerance == 0)
        return hf_fail(HF_EARG, "supersteps: 0, but the program has no end; give them, "
                                "or a tolerance");
    return points_take(s, args);
}

/* Those of all architectures. */
static hf_status kernels_load(graph_state *s) {
    graph_kernels *k = &s->kernels;
    hf_device *device = s->env.device;
    HF_TRY(device->ops->kernel(&k->sum, device, "graph_sum", 0));
    HF_TRY(device->ops->kernel(&k->start, device, "graph_start", 0));
    return device->ops->kernel(&k->admit, device, "graph_admit", 0);
}

static hf_status graph_take(graph_state *s, const hf_args *args) {
    bool weights = s->traits[GRAPH_WEIGHTED], both = s->traits[GRAPH_UNDIRECTED];
    HF_TRY(hf_graph_open(&s->graph, hf_args_word(args, "graph"), s->env.seed));
    s->info = hf_graph_info_of(s->graph);
    if (weights && !s->info->weighted)
        return hf_fail(HF_EARG, "graph: it has no weights, which program %s needs",
                       hf_args_word(args, "program"));
    for (size_t i = 0; s->given && i < s->n_points; i++)
        if (s->given[i] < 0 || s->given[i] >= (double)s->info->vertices)
            return hf_fail(HF_EARG, "source: %.0f is not within 0 .. %llu", s->given[i],
                           (unsigned long long)s->info->vertices - 1);
    HF_TRY(hf_part_new(&s->part, s->graph, hf_args_word(args, "partition"), s->env.rank,
                       s->env.size, both, weights, s->env.memory_left));
    HF_TRY(hf_part_lead(s->part, s->traits[GRAPH_HINTS]));
    s->mirrored = s->env.size == 1 && s->part->mirrored;
    graph_launches_choose(s);
    snprintf(s->note, sizeof s->note,
             "%s graph, %s; opened in %.3f s, rank 0's part made in %.3f s",
             s->info->directed ? "directed" : "undirected",
             s->info->simple ? "without duplicates and self-loops"
                             : "duplicates and self-loops as they are",
             s->info->load_time, s->part->time);
    return HF_OK;
}

static hf_status graph_setup(graph_state *s, const hf_args *args, const hf_env *env,
                             hf_outline *out) {
    s->env = *env;
    s->architecture = architecture_of(args);
    HF_TRY(params_take(s, args));
    HF_TRY(s->architecture->open(s, hf_args_word(args, "direction")));
    HF_TRY(kernels_load(s));
    HF_TRY(graph_take(s, args));
    HF_TRY(graph_chunks_cut(s));
    HF_TRY(graph_layout_set(s));
    out->n_points = s->n_points;
    out->note = s->note;
    HF_TRY(graph_buffers_new(s));
    hf_leave(env, (hf_records){s->state, s->info->vertices,
                               s->traits[GRAPH_VERTEX_BYTES], s->part->numbers});
    HF_TRY(graph_outs_new(s));
    HF_TRY(graph_forest_new(s));
    HF_TRY(graph_reference_new(s));
    HF_TRY(s->routing->open(s, args));
    return s->check->program ? HF_OK : graph_own_new(s);
}

static hf_status streams_ranks_check(const hf_args *args, const char *exchange,
                                     int ranks) {
    const graph_architecture *architecture = architecture_of(args);
    if (!architecture->streams)
        return hf_fail(HF_EARG,
                       "architecture: %s, but over exchange \"%s\" kernels send "
                       "updates; gravf-m is possible",
                       architecture->name, exchange);
    return ranks <= GRAPH_RING_RANKS
               ? HF_OK
               : hf_fail(HF_EARG,
                         "ranks: %d, but a ring of exchange \"%s\" has %d at most",
                         ranks, exchange, GRAPH_RING_RANKS);
}

static hf_status blocks_setup(void *state, const hf_args *args, const hf_env *env,
                              hf_outline *out) {
    graph_state *s = state;
    s->routing = &graph_by_plans;
    return graph_setup(s, args, env, out);
}

static hf_status streams_setup(void *state, const hf_args *args, const hf_env *env,
                               hf_outline *out) {
    graph_state *s = state;
    s->routing = &graph_by_ring;
    return graph_setup(s, args, env, out);
}

static void graph_teardown(void *state) {
    graph_state *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    if (!s->env.device->broken) /* what a superstep that failed has begun */
        hf_device_wait(s->env.device, s->begun, s->n_begun);
    s->routing->close(s);
    if (s->crossing)
        s->architecture->close(s);
    for (size_t i = 0; i < GRAPH_BUFFERS; i++)
        ops->free(s->buffers.all[i]);
    for (size_t i = 0; i < GRAPH_KERNELS; i++)
        ops->kernel_free(s->kernels.all[i]);
    void *memory[] = {s->forests, s->reference, s->spread,  s->share, s->sums,
                      s->chunks,  s->told,      s->keys,    s->seals, s->sources,
                      s->state,   s->levels,    s->parents, s->lows,  s->mirror,
                      s->places,  s->control,   s->fill};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
    graph_own_free(s);
    hf_part_free(s->part);
    hf_graph_close(s->graph);
}

static hf_status graph_plan(void *state, size_t point, hf_setting *out) {
    graph_state *s = state;
    s->run.source = s->starts ? s->sources[point] : HF_NO_VERTEX;
    out->labels[0] = s->starts ? (double)s->sources[point] : -1;
    out->labels[1] = (double)s->info->vertices;
    out->labels[2] = (double)s->info->edges;
    out->tolerance = s->check->tolerance;
    s->own_known = false;
    s->reference_supersteps = 0;
    return graph_words_write(s, s->buffers.run, "layout", &s->run, sizeof s->run);
}

/* ---- a sample ---- */

static hf_status graph_prepare(void *state, size_t point, uint64_t sample) {
    graph_state *s = state;
    (void)point;
    s->sample = sample;
    s->ended = false;
    s->fresh = true;
    s->tally = (graph_tally){0};
    for (int rank = 0; rank < s->env.size; rank++)
        s->seals[rank] = (uint32_t)hf_random(s->keys[rank], sample);
    /* What a run before has left is no result of this one. */
    for (size_t i = 0; i < GRAPH_FILL_WORDS; i++)
        s->fill[i] = hf_random(s->keys[s->env.rank] ^ s->sample, i);
    HF_TRY(graph_fill(s, s->buffers.state, 0));
    if (s->buffers.whole)
        HF_TRY(graph_fill(s, s->buffers.whole, 0));
    if (s->env.size == 1 && !s->routing->in_place) { /* else what comes has digests */
        HF_TRY(graph_fill(s, s->buffers.inbox, s->run.in_updates));
        HF_TRY(graph_fill(s, s->buffers.outbox, s->run.out_updates));
    }
    HF_TRY(s->architecture->prepare(s));
    return s->routing->prepare(s);
}

static hf_status graph_step(void *state, size_t point, size_t inner) {
    (void)point, (void)inner; /* one */
    return graph_run_program(state);
}

/* ---- after it ---- */

/* Did the tolerance end the program, and no superstep before? */
static bool end_right(const graph_state *s, double last, double before) {
    uint64_t n = s->tally.supersteps;
    if (!s->traits[GRAPH_ALWAYS] || s->tolerance == 0)
        return true;
    return (n == s->cap || last <= s->tolerance) && (n < 2 || before > s->tolerance);
}

/* Edges that count as gone along: of an undirected graph each once. */
static double edges_of(const graph_state *s, uint64_t reached) {
    return (double)reached / (s->info->directed || s->traits[GRAPH_ALWAYS] ? 1 : 2);
}

/* What the sample was. */
static void sample_tell(const graph_state *s, uint64_t reached, uint64_t reached_edges,
                        uint64_t own_edges, hf_outcome *out) {
    const graph_tally *t = &s->tally;
    double each = s->traits[GRAPH_ALWAYS] ? (double)t->supersteps : 1;
    out->work[0] = edges_of(s, own_edges) * each;
    out->findings[0] = (double)t->supersteps;
    out->findings[1] = (double)t->messages;
    out->findings[2] = (double)t->updates;
    out->findings[3] = (double)t->bytes;
    out->findings[4] = (double)reached;
    out->findings[5] = edges_of(s, reached_edges);
    out->findings[6] = edges_of(s, reached_edges) * each;
}

/* Collective, so all ranks do all of it. Each checks its own vertices. The digests of the whole
 * state are equal on all ranks, so each rank has those of others right, too. */
static hf_status sample_check(graph_state *s, hf_outcome *out) {
    bool right;
    graph_verdict verdict;
    double last = 0, before = 0, changed[2];
    uint64_t reached = 0, edges = 0;
    HF_TRY(graph_tell_state(s));
    HF_TRY(graph_check_run(s, &verdict));
    HF_TRY(s->routing->proven(s, &right));
    HF_TRY(graph_last_check(s, &right));
    uint64_t *mine = graph_row_new(s);
    mine[GRAPH_VERDICT_REACHED] = verdict.reached;
    mine[GRAPH_VERDICT_EDGES] = verdict.edges;
    mine[GRAPH_VERDICT_SAMPLE] = s->sample;
    memcpy(mine + GRAPH_VERDICT_CHANGED, (double[]){verdict.last, verdict.before},
           sizeof changed);
    const uint64_t digest = mine[GRAPH_VERDICT_DIGEST] = graph_state_digest(s);
    HF_TRY(graph_tell_all(s, mine));
    for (int rank = 0; rank < s->env.size; rank++) {
        const uint64_t *told = s->told + (size_t)rank * s->words;
        right = right && told[GRAPH_VERDICT_SAMPLE] == s->sample &&
                told[GRAPH_VERDICT_DIGEST] == digest;
        reached += told[GRAPH_VERDICT_REACHED];
        edges += told[GRAPH_VERDICT_EDGES];
        memcpy(changed, told + GRAPH_VERDICT_CHANGED, sizeof changed);
        last += changed[0];
        before += changed[1];
    }
    if (s->ended && right && end_right(s, last, before))
        out->error = verdict.error;
    sample_tell(s, reached, edges, verdict.edges, out);
    return HF_OK;
}

/* What its plans take is no part of a step. */
static hf_status graph_verify(void *state, size_t point, size_t steps,
                              hf_outcome *out) {
    graph_state *s = state;
    hf_exchange *exchange = s->env.exchange;
    (void)point, (void)steps; /* one */
    hf_exchange_lap(exchange, NULL);
    hf_status status = sample_check(s, out);
    hf_exchange_lap(exchange, s->env.laps);
    return status;
}

/* A path, but for its `setup`. */
#define GRAPH_PATH                                                                   \
    .state_size = sizeof(graph_state), .connect = graph_connect, .plan = graph_plan, \
    .prepare = graph_prepare, .step = graph_step, .verify = graph_verify,            \
    .teardown = graph_teardown

static const hf_bench_path blocks = {.setup = blocks_setup, GRAPH_PATH};
static const hf_bench_path streams = {
    .side_by_side = GRAPH_STREAMS,
    .setup = streams_setup,
    .ranks_check = streams_ranks_check,
    GRAPH_PATH,
};

const hf_bench hf_bench_graph = {
    .name = "graph",
    .summary = "vertex programs that gather, apply and scatter, over a graph in parts",
    .params = params,
    .problem = {"graph", 1, true},
    .computes = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_STREAM | HF_KERNELS_NDRANGE,
    .labels = labels,
    .metrics = metrics,
    .parts = parts,
    .findings = findings,
    .stages = stages,
    .figures = figures,
    .blocks = &blocks,
    .streams = &streams,
};
