/* graph_architecture.h - what the benchmark `graph` does differently in each architecture. */
#ifndef HF_GRAPH_ARCHITECTURE_H
#define HF_GRAPH_ARCHITECTURE_H

#include "graph_state.h"

/** What a superstep takes room for. */
typedef struct graph_sizes {
    size_t inbox, outbox; /**< [B] */
    bool edges;           /**< the device has those that lead to its vertices */
} graph_sizes;

/** What the last superstep saw: values [n] at a place of a buffer. */
typedef struct graph_seen {
    const hf_buffer *from;
    size_t at, n;
    const uint32_t *places; /**< [in_edges] values of edges; NULL: in their order */
} graph_seen;

/** What it does in an architecture: what crosses to other devices differs. */
struct graph_architecture {
    const char *name;
    bool streams;          /**< kernels can send what crosses */
    bool lists;            /**< heads have lists of updates, and counts their sums */
    size_t bytes_per_rank; /**< of a head, for each rank, behind all lists */
    uint32_t seal;         /**< bits that the last kernel flips to seal a count */
    /** Take parameter `direction`, load kernels. */
    hf_status (*open)(graph_state *s, const char *direction);
    /** Allocate, once the layout is set; s->crossing is what others have below. */
    hf_status (*setup)(graph_state *s, graph_sizes *out);
    /** Get ready to take what crosses, by plans. Collective. */
    hf_status (*connect)(graph_state *s);
    /** Before a sample. */
    hf_status (*prepare)(graph_state *s);
    /** Launch what gathers messages and applies them. */
    hf_status (*gather)(graph_state *s);
    /** Launch what makes messages of updates, before counts are read. */
    hf_status (*scatter)(graph_state *s);
    /** Do the messages of a superstep fit what was told `before`? */
    hf_status (*check)(const graph_state *s, const graph_totals *before);
    /** What crosses comes to where the next superstep sees it, by plans. Collective. */
    hf_status (*take)(graph_state *s);
    graph_seen (*seen)(const graph_state *s);
    /** If s->crossing is set, by a `setup` that is unfinished, too. */
    void (*close)(graph_state *s);
};

extern const graph_architecture graph_updates_cross, graph_messages_cross;

#endif
