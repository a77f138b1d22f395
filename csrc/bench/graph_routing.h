/* graph_routing.h - what the benchmark `graph` does differently over each kind of schemes. */
#ifndef HF_GRAPH_ROUTING_H
#define HF_GRAPH_ROUTING_H

#include "core/param.h"
#include "graph_state.h"

/** What every rank tells all beside updates: a block that becomes part of all's. */
typedef enum graph_shared {
    GRAPH_SHARED_ROWS,
    GRAPH_SHARED_STATE,
    GRAPH_SHARED_FORESTS,
    GRAPH_SHARED_NUMBERS,
    GRAPH_SHARED
} graph_shared;

/** Where a block of rank `rank` comes from, on that rank, and is put, on all. */
typedef struct graph_block {
    hf_buffer *from, *to;
    size_t at, bytes; /**< its place in `to`; it is all of `from` */
} graph_block;

/** What it does over a kind of schemes. */
struct graph_routing {
    bool one_chunk; /**< a rank has one chunk: its count ends what kernels send */
    bool lists;     /**< heads may have lists of updates; plans bring the rest */
    bool in_place;  /**< own updates are left where those of others come to */
    bool few;       /**< one launch may take many supersteps */
    /** Allocate, load kernels; s->route is what others have below. */
    hf_status (*open)(graph_state *s, const hf_args *args);
    /** Get ready to share rows, before anything is known of other ranks. Collective. */
    hf_status (*begin)(graph_state *s);
    /** Get ready for all else, once all ranks have the same graph. Collective. */
    hf_status (*connect)(graph_state *s);
    /** Before a sample. */
    hf_status (*prepare)(graph_state *s);
    /** Every rank's block becomes part of all's. Collective. */
    hf_status (*share)(graph_state *s, graph_shared what);
    /** Launch a kernel that makes updates, GRAPH_STARTS to GRAPH_ADMITS. */
    hf_status (*make)(graph_state *s, uint32_t maker, const hf_arg *args,
                      size_t n_args);
    /** The counts of all ranks become s->heads. */
    hf_status (*heads_read)(graph_state *s);
    /** What all ranks told in this superstep becomes what the next one sees. */
    hf_status (*take)(graph_state *s);
    /** Did in this sample all come as it was told? */
    hf_status (*proven)(graph_state *s, bool *right);
    /** Accepts what `open` has left unfinished. */
    void (*close)(graph_state *s);
};

extern const graph_routing graph_by_plans, graph_by_ring;

/** Kernels of a launch over a ring: one that makes packets, one that sends, one that receives. */
enum { GRAPH_STREAMS = 3 };

/** What was left becomes what the next superstep sees. */
static inline void graph_boxes_turn(graph_state *s) {
    hf_buffer *left = s->buffers.outbox;
    s->buffers.outbox = s->buffers.inbox;
    s->buffers.inbox = left;
}

#endif
