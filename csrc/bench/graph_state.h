/* graph_state.h - what the benchmark `graph` keeps of a run. */
#ifndef HF_GRAPH_STATE_H
#define HF_GRAPH_STATE_H

#include "bench.h"
#include "graph.h"
#include "graph_buffers.h"
#include "graph_check.h"
#include "graph_control.h"
#include "graph_layout.h"

/** What graph_own.c needs. */
typedef struct graph_own graph_own;

/** What all chunks of all ranks counted in a superstep. */
typedef struct graph_totals {
    uint64_t active, pending, edges, messages, known;
    uint64_t own_edges, own_active, own_messages; /**< of these, those of this rank */
    uint32_t lowest;
    double changed;
    bool listed;          /**< all updates are in lists */
    uint32_t heard, made; /**< digests of messages, in architecture gravf */
} graph_totals;

/** What a run of a program was, from the totals of its supersteps. */
typedef struct graph_tally {
    uint64_t supersteps, messages, updates, edges, bytes;
} graph_tally;

/** Launches of a superstep. */
enum { GRAPH_BEGUN = 4 };
/** Words that a command fills a buffer with: in an emulation each wakes threads. */
enum { GRAPH_FILL_WORDS = 1 << 15 };

/** How messages are made in a superstep: where they are gathered, or where they leave. */
typedef enum graph_direction { GRAPH_AUTO, GRAPH_PULL, GRAPH_PUSH } graph_direction;

/** What differs between kinds of schemes, and between architectures. */
typedef struct graph_routing graph_routing;
typedef struct graph_architecture graph_architecture;

typedef struct graph_state {
    hf_env env;
    const graph_routing *routing;
    const graph_architecture *architecture;
    void *route, *crossing; /**< the routing's own; the architecture's */
    hf_graph *graph;
    hf_part *part;
    const hf_graph_info *info;
    const graph_check *check;
    uint32_t traits[GRAPH_TRAITS];
    graph_direction direction;
    bool starts;    /**< the program starts at one vertex */
    bool pushes;    /**< it can: updates have edges to leave by, messages are words */
    bool fewer;     /**< one work-item takes supersteps of few vertices by lists */
    bool persists;  /**< graph_persistent takes all supersteps */
    bool mirrored;  /**< edges by where they leave are those by where they lead */
    bool ended;     /**< the program has, in this sample */
    bool fresh;     /**< the outbox has what the next superstep has not yet seen */
    bool own_known; /**< what `own` should leave at this point */
    uint64_t edges; /**< of all ranks, as they are gone along */
    const double *given;
    size_t n_points;
    uint32_t *sources; /**< [n_points] numbers in the input */
    uint64_t cap;      /**< supersteps; 0: any number */
    double tolerance;
    char note[240];

    graph_buffers buffers;
    graph_kernels kernels;
    hf_event *begun[GRAPH_BEGUN]; /**< [n_begun] launches that nobody has waited for */
    size_t n_begun;
    graph_run run;
    graph_place *places;   /**< [size + 1] in an inbox */
    uint32_t *chunks;      /**< [run.chunks + 1] */
    uint64_t *sums;        /**< [run.chunks] */
    size_t words;          /**< that each rank tells at once, the last is a proof */
    uint64_t tells;        /**< times that they were told */
    uint64_t *told, *keys; /**< [size + 1, words]; [size] seals of ranks' kernels */

    char *heads;            /**< [size, run.head] of this superstep, pinned */
    graph_control *control; /**< of graph_persistent: what it is told, and left */
    uint32_t *seals;        /**< [size] of this sample */
    uint64_t sample;
    uint32_t superstep;
    uint64_t
        window; /**< priorities below it are settled, from it >> 32 on not yet due */
    uint64_t width; /**< of the next */
    graph_totals totals;
    graph_tally tally;
    void *state; /**< [vertices, vertex bytes] of all ranks, from `verify` */
    uint32_t
        *levels; /**< [vertices] or, for wcc, the roots of a forest: graph_check.c */
    uint32_t *parents; /**< [vertices] of bfs */
    uint8_t *lows;     /**< [vertices + 1] of bfs */
    uint64_t *fill;    /**< [GRAPH_FILL_WORDS] what a buffer is filled with */
    uint32_t *forests; /**< [size, vertices], or NULL: graph_check.c */
    bool forest_found; /**< the roots in `levels` are there */
    float *mirror; /**< [vertices] updates that the last superstep saw, or [in_edges]
                        messages, or NULL: graph_check.c */
    double *reference,
        *spread;   /**< [vertices] ranks in double and what they tell, or NULL */
    double *share; /**< [own, those that nobody has too] of one of them */
    uint64_t reference_supersteps; /**< of `reference`; 0: none */
    double
        changed[2]; /**< own ranks of it, in its last superstep but one, and its last */
    graph_own *own; /**< NULL, or for a program that no other check knows */
} graph_state;

#endif
