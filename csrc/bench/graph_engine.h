/* graph_engine.h - what the files of the benchmark `graph` do for each other. */
#ifndef HF_GRAPH_ENGINE_H
#define HF_GRAPH_ENGINE_H

#include "graph_architecture.h"
#include "graph_routing.h"
#include "graph_state.h"

/** What a superstep counts for this rank. */
enum { GRAPH_STAGE_ACTIVE, GRAPH_STAGE_EDGES, GRAPH_STAGE_MESSAGES, GRAPH_STAGE_BYTES };
static inline void graph_stage_add(graph_state *s, size_t column, uint64_t value) {
    hf_stage_add(s->env.stages, s->superstep, column, (double)value);
}

#define GRAPH_N_ARGS(args) (sizeof(args) / sizeof *(args))

/** Number of this rank's first vertex. */
static inline uint32_t graph_first(const graph_state *s) {
    return s->part->starts[s->env.rank];
}
/** Room of rank `rank`, unused numbers included. */
static inline uint32_t graph_room(const graph_state *s, int rank) {
    return s->part->starts[rank + 1] - s->part->starts[rank];
}

/* ---- graph_buffers.c ---- */

/** Chunks of about as many edges, at multiples of HF_VERTEX_GRAIN. */
hf_status graph_chunks_cut(graph_state *s);
hf_status graph_layout_set(graph_state *s);
hf_status graph_buffers_new(graph_state *s);
/** Edges by where they leave, for programs that push. */
hf_status graph_outs_new(graph_state *s);
hf_status graph_forest_new(graph_state *s);
hf_status graph_reference_new(graph_state *s);
hf_status graph_buffer_new(const graph_state *s, hf_buffer **out, size_t bytes);
/** Write words that kernels take for indices, and see that they are there. */
hf_status graph_words_write(graph_state *s, hf_buffer *to, const char *what,
                            const void *from, size_t bytes);
hf_status graph_words_new(graph_state *s, hf_buffer **out, const char *what,
                          const void *from, size_t bytes);
/** A buffer becomes the words of s->fill, again and again, from byte `begin` on. */
hf_status graph_fill(const graph_state *s, hf_buffer *buffer, size_t begin);

#define GRAPH_BUFFER(name) \
    { .buffer = s->buffers.name }
/** Launch a kernel, in shape ndrange with this many work-items or groups. */
hf_status graph_begin(graph_state *s, hf_kernel *kernel, const hf_arg *args,
                      size_t n_args, size_t teams);
/** Wait for all kernels that were begun: none is when a superstep is over. */
hf_status graph_await(graph_state *s);
#define GRAPH_SEAL HF_VALUE(s->seals[s->env.rank])
/** Does a work-group take a chunk, as on GPUs? */
static inline bool graph_groups(const graph_state *s) {
    return s->traits[GRAPH_TEAM_ITEMS] > 1;
}

/* ---- graph_tell.c ---- */

/** Seals and digests of all ranks, which sources have edges, and all plans. Collective. */
hf_status graph_connect(void *state);
/** Words that a rank tells at once, for this many points. */
size_t graph_row_words(const graph_state *s);
/** Where a block is that is shared; nowhere, `to` is NULL, where no check needs it. */
graph_block graph_block_of(const graph_state *s, graph_shared what, int rank);
/** A row of `words` zeros for this rank to fill: the last of s->told. */
uint64_t *graph_row_new(graph_state *s);
/** Every rank's row becomes s->told [size, words]. Collective. */
hf_status graph_tell_all(graph_state *s, uint64_t *mine);
/** The state of all vertices comes to the host of every rank. Collective. */
hf_status graph_tell_state(graph_state *s);
/** Of the state of all vertices, without those that only fill parts up; of one rank nothing. */
uint64_t graph_state_digest(const graph_state *s);
/** The numbers of every rank's vertices become all [vertices]. Collective. */
hf_status graph_tell_numbers(graph_state *s, double *all, const double *mine);
/** Every rank's [vertices] words become *all [size, vertices]. Collective. */
hf_status graph_tell_forest(graph_state *s, const uint32_t **all, const uint32_t *mine);

/* ---- graph_steps.c ---- */

/** One run of the program, timed. Collective. */
hf_status graph_run_program(graph_state *s);
/** No superstep has seen those who told in the last: *right becomes false unless they were
 *  counted, and their edges. */
hf_status graph_last_check(const graph_state *s, bool *right);
/** Count `i` of those of all ranks. */
const graph_count *graph_count_of(const graph_state *s, size_t i);

/* ---- graph_updates.c ---- */

/** Which launches take several supersteps, of this part of the graph. */
void graph_launches_choose(graph_state *s);
/** Launch graph_few, for supersteps of few vertices. */
hf_status graph_few_launch(graph_state *s);
/** Launch graph_persistent, from the start or from here on. */
hf_status graph_persistent_launch(graph_state *s, bool starts);

/* ---- graph_plans.c ---- */

/** A kernel adds the seals of this superstep's counts to `checks`. */
void graph_heads_prove(graph_state *s);
/** Updates cross as blocks, unless lists in heads are enough. */
hf_status graph_news_take(graph_state *s);

/* ---- graph_own.c ---- */

hf_status graph_own_new(graph_state *s);
void graph_own_free(graph_state *s);
/** Own vertices whose state is not what the plainest way leaves, and what that changed. */
hf_status graph_own_check(graph_state *s, graph_verdict *out);

/* ---- graph_check.c ---- */

/** The check of a program; that of all others for a path. */
const graph_check *graph_check_find(const char *program);
/** What this rank's vertices are. Collective. */
hf_status graph_check_run(graph_state *s, graph_verdict *out);

#endif
