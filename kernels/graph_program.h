/* graph_program.h - what a vertex program is written in, and the program.
 *
 * A program is a header with these parts; docs/graph.md shows one.
 *   typedef ... hf_update;             what a vertex tells those to which its edges lead
 *   typedef ... hf_message;            what an edge makes of an update
 *   HF_VERTEX(type name; ...)          the state of a vertex
 *   HF_NOTHING                         the message that changes nothing
 *   HF_START(v, at, told) { ... }      set *v, and *told if it starts with an update: return 1
 *   HF_SCATTER(told, edge) { ... }     return the message of an edge
 *   HF_GATHER(a, b) { ... }            return two messages as one; associative, commutative
 *   HF_APPLY(v, got, at, told) { ... } change *v by what it got; return 1 with a new *told
 * and, if it likes:
 *   HF_ALWAYS                apply every vertex in every superstep, with messages or without
 *   HF_WEIGHTED              edges have weights: edge.weight, a whole number from 1
 *   HF_UNDIRECTED            each edge leads both ways
 *   HF_SOURCE                it starts at one vertex: at.source
 *   HF_SUPERSTEPS            at most, unless told otherwise
 *   HF_WANTS(v, settled)     0 where no message can change this vertex any more
 *   HF_HELPS(v, message)     0 where this message does not change this vertex
 *   HF_ENOUGH(got, settled)  1 where no further message can change what it got
 *   HF_SAME(a, b)            1 where two states count as equal: sums of floats depend on
 *                            their order; default: all bits are, and a field has each byte
 *   HF_WHEN(told)            priority of an update: low ones first, and those at most
 *                            HF_WINDOW apart together; scatter must never lower it. What is
 *                            below `settled` is final. Windows grow by HF_GROWTH. Not
 *                            with HF_ALWAYS.
 */
#ifndef GRAPH_PROGRAM_H
#define GRAPH_PROGRAM_H

#include "graph_layout.h"
#include "hf_kernel.h"

#ifndef GRAPH_ITEMS
#define GRAPH_ITEMS 1 /* work-items that take a chunk together */
#endif

#define GRAPH_LINE 16u /**< words of a line of the cache */
#define HF_NOBODY  0xFFFFFFFFu
#define HF_UNUSED  __attribute__((unused))

typedef struct hf_edge {
    uint weight;
} hf_edge;

/** Where a vertex is. */
typedef struct hf_at {
    uint id;       /**< its number in the input */
    uint degree;   /**< edges that leave it */
    uint vertices; /**< of the graph */
    uint source, superstep;
    float value[GRAPH_VALUES]; /**< scalars of the run */
} hf_at;

#define HF_VERTEX(...)         \
    typedef struct hf_vertex { \
        __VA_ARGS__            \
    } hf_vertex;
#define HF_START(v, at, told)                                    \
    static inline int hf_start(hf_vertex *v, HF_UNUSED hf_at at, \
                               HF_UNUSED hf_update *told)
#define HF_SCATTER(told, edge) \
    static inline hf_message hf_scatter(hf_update told, HF_UNUSED hf_edge edge)
#define HF_GATHER(a, b) static inline hf_message hf_gather(hf_message a, hf_message b)
#define HF_APPLY(v, got, at, told)                                               \
    static inline int hf_apply(hf_vertex *v, hf_message got, HF_UNUSED hf_at at, \
                               HF_UNUSED hf_update *told, HF_UNUSED float *hf_changed)
/** In HF_APPLY: add to what the run's `tolerance` is held against. */
#define HF_CHANGED(x) (*hf_changed += (x))

#include "hf_program.h"

#ifdef HF_WHEN
#ifndef HF_WINDOW
#define HF_WINDOW 1
#endif
#ifndef HF_GROWTH
#define HF_GROWTH 1
#endif
#define GRAPH_LATER(told, until) (HF_WHEN(told) >= (until))
#else
#define HF_WINDOW                0
#define HF_GROWTH                0
#define HF_WHEN(told)            0
#define GRAPH_LATER(told, until) 0
#define GRAPH_NO_PRIORITIES
#endif
#ifndef HF_WANTS
#define HF_WANTS(v, settled) 1
#endif
#ifdef HF_HELPS
#define GRAPH_HELPED 1
#else
#define GRAPH_HELPED         0
#define HF_HELPS(v, message) 1
#endif
#ifdef HF_ENOUGH
#define GRAPH_HINTED 1
#else
#define GRAPH_HINTED            0
#define HF_ENOUGH(got, settled) 0
#endif
#ifdef HF_ALWAYS
#define GRAPH_ALL 1
#else
#define GRAPH_ALL 0
#endif
#ifndef HF_SUPERSTEPS
#define HF_SUPERSTEPS 0
#endif
#ifdef HF_WEIGHTED
#define GRAPH_WEIGHT(weights, e) ((weights)[e])
#else
#define GRAPH_WEIGHT(weights, e) 1
#endif

typedef struct graph_record {
    hf_message message;
    uint place; /**< of its edge, among those of the rank that it leads to */
} graph_record;

/** A size in a word: the largest for those that have none. */
#define GRAPH_BYTES(T) (sizeof(T) < HF_NOBODY ? (uint)sizeof(T) : HF_NOBODY)

HF_KERNEL(graph_traits, HF_WRITE(uint, told)) {
    uint traits[GRAPH_TRAITS];
    traits[GRAPH_VERTEX_BYTES] = GRAPH_BYTES(hf_vertex);
    traits[GRAPH_UPDATE_BYTES] = GRAPH_BYTES(hf_update);
    traits[GRAPH_MESSAGE_BYTES] = GRAPH_BYTES(hf_message);
    traits[GRAPH_RECORD_BYTES] = GRAPH_BYTES(graph_record);
    traits[GRAPH_WINDOW] = HF_WINDOW;
    traits[GRAPH_GROWTH] = HF_GROWTH;
    traits[GRAPH_SUPERSTEPS] = HF_SUPERSTEPS;
    traits[GRAPH_HINTS] = GRAPH_HINTED;
    traits[GRAPH_TEAM_ITEMS] = GRAPH_ITEMS;
    traits[GRAPH_ALWAYS] = GRAPH_ALL;
    traits[GRAPH_WEIGHTED] = 0;
    traits[GRAPH_UNDIRECTED] = 0;
    traits[GRAPH_SOURCE] = 0;
    traits[GRAPH_PRIORITIES] = 1;
#ifdef GRAPH_NO_PRIORITIES
    traits[GRAPH_PRIORITIES] = 0;
#endif
#ifdef HF_WEIGHTED
    traits[GRAPH_WEIGHTED] = 1;
#endif
#ifdef HF_UNDIRECTED
    traits[GRAPH_UNDIRECTED] = 1;
#endif
#ifdef HF_SOURCE
    traits[GRAPH_SOURCE] = 1;
#endif
    traits[GRAPH_PROOF] = graph_proof(traits);
    for (uint i = 0; i < GRAPH_TRAITS; i++)
        told[i] = traits[i];
}

#endif
