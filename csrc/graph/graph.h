/* graph.h - graphs in memory of the host, and the part of one that a rank holds. */
#ifndef HF_GRAPH_H
#define HF_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/** Number of no vertex. */
#define HF_NO_VERTEX UINT32_MAX
/** A rank's first vertex is a multiple of it, so words of bitmaps have one owner. */
#define HF_VERTEX_GRAIN 32u

/** What a graph is, known before its parts are made. */
typedef struct hf_graph_info {
    uint64_t vertices; /**< below 2^32 - 1 */
    uint64_t edges;    /**< as made or read: duplicates count, an undirected one once */
    bool directed;
    bool weighted;    /**< has weights to give */
    bool simple;      /**< parts have no duplicates and no self-loops */
    uint64_t digest;  /**< the same on all ranks that opened the same graph */
    double load_time; /**< of opening it [s] */
} hf_graph_info;

typedef struct hf_graph hf_graph;

/** Open what `text` names: a generator or a file, after any of the words "simple:",
 *  "undirected:" and "unweighted:". Generators are functions of `seed` and the edge's
 *  index: "kron:20" has 2^20 vertices and 16 edges a vertex, "kron:20:8" has 8, the same
 *  for "urand"; "grid:20" is a square. A generator is not made yet, a file is read once. */
hf_status hf_graph_open(hf_graph **out, const char *text, uint64_t seed);
const hf_graph_info *hf_graph_info_of(const hf_graph *graph);
/** Accepts NULL. */
void hf_graph_close(hf_graph *graph);

/** The part of one rank: its own vertices and the edges that come into them. Vertices are
 *  numbered anew, those of a rank consecutively, rank after rank; of those of a rank first the
 *  ones that edges leave. */
typedef struct hf_part {
    int rank, size;
    uint32_t vertices;      /**< numbers, those that nobody has included */
    const uint32_t *starts; /**< [size + 1] first number of each rank; the last is
                                 `vertices`, the others multiples of HF_VERTEX_GRAIN */
    uint32_t own;           /**< vertices of this rank, from starts[rank] on */
    const uint32_t *heard;  /**< [size] vertices of each rank that edges leave, those
                                 that were dropped included */
    uint64_t in_edges;    /**< of this rank; an undirected edge comes in at both ends */
    const uint64_t *rows; /**< [own + 1] first in-edge of each vertex */
    const uint32_t *from; /**< [in_edges] numbers, ascending in each row; hf_part_lead
                               may change which is the first */
    bool mirrored; /**< an edge is in the rows of both its ends, of whatever ranks */
    const uint32_t *weights; /**< [in_edges] or NULL */
    const uint32_t *degrees; /**< [own] out-degrees, of the edges that are kept; behind
                                  them hf_part_lead puts the first of each row */
    const uint32_t *ends; /**< [own] ends of edges as made or read at each vertex, those
                               that were dropped included; a self-loop has two. Of a
                               directed graph: edges that leave the vertex. */
    const uint32_t *names;   /**< [vertices] number in the input, or HF_NO_VERTEX */
    const uint32_t *numbers; /**< [vertices of the graph] of each vertex of the input */
    uint64_t digest;         /**< the same on all ranks whose parts belong together */
    double time;             /**< of making the part [s] */
} hf_part;

/** Make the part of `rank`, without messages: every rank goes through all edges and keeps
 *  those that come into its own vertices. `partition`: "cyclic" deals vertices out in turn,
 *  "sorted" the same by falling degree, "edges" cuts ranges with equally many edges; any
 *  other text is the path of a file with one rank for each vertex, a line each, as METIS
 *  writes it. With `both`, edges of a directed graph count in both directions. `weights`: wanted.
 *  A part that would take more than `left` is refused: what its host has for this rank [B]. */
hf_status hf_part_new(hf_part **out, const hf_graph *graph, const char *partition,
                      int rank, int size, bool both, bool weights, uint64_t left);
/** All of a graph on one rank, with the numbers of the input: `heard` are all. */
hf_status hf_part_whole(hf_part **out, const hf_graph *graph, bool both, bool weights,
                        uint64_t left);
/** Make part->degrees [own + own]: behind degrees comes the first of each row, HF_NO_VERTEX of an
 *  empty one. With `hubs` that is the neighbour from which most edges of this part come. */
hf_status hf_part_lead(hf_part *base, bool hubs);
/** Accepts NULL. */
void hf_part_free(hf_part *base);
/** Most memory that making a part takes, if edges spread evenly [B]. */
uint64_t hf_part_bytes(const hf_graph *graph, int size, bool both, bool weights);

/** What a whole graph is like, and how evenly a partition cuts it. */
typedef struct hf_survey {
    uint64_t self_loops;  /**< of the edges as made or read */
    uint64_t duplicates;  /**< other edges as made or read that repeat one */
    uint64_t components;  /**< parts that no edge joins, whatever its direction */
    uint64_t isolated;    /**< vertices without a neighbour */
    uint64_t cut;         /**< in-edges that come from a vertex of another rank */
    double part_time;     /**< of making the part of rank 0 [s] */
    uint32_t *degrees;    /**< [vertices of the graph] out-degrees, of edges kept */
    uint64_t *rank_edges; /**< [ranks] in-edges of each */
} hf_survey;

/** Refused as parts are, where it would take more than `left` [B]. */
hf_status hf_survey_make(hf_survey *out, const hf_graph *graph, const char *partition,
                         int ranks, uint64_t left);
void hf_survey_free(hf_survey *survey);

/** The root of v's tree in a forest, in which a root is its own parent; paths are halved on the
 *  way. Other threads may do the same, and hang roots on others. */
static inline uint32_t hf_forest_root(uint32_t *parents, uint32_t v) {
    for (;;) {
        uint32_t *place = &parents[v], up = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (up == v)
            return v;
        v = __atomic_load_n(&parents[up], __ATOMIC_RELAXED);
        __atomic_store_n(place, v, __ATOMIC_RELAXED);
    }
}

#endif
