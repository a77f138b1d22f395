/* chunks.h - plans whose messages go in chunks: reads, ways and writes of different chunks side
 * by side.
 *
 * A rank reads a chunk from its device into a slot of host memory. A carrier brings it to its
 * receiver, which writes it to its own device. Slots are used in turn. What a rank sends and what
 * it receives go on independently of each other, each in the order of the plan's list, but for one
 * thing: nothing is written before the first read has ended, and so all that the plan comes after.
 * Ranks do not wait for each other in a circle by that, since a read waits for its device alone.
 */
#ifndef HF_CHUNKS_H
#define HF_CHUNKS_H

#include "exchange.h"
#include "node.h"

enum { HF_MAX_TARGETS = 16 /**< ranks that a chunk goes to after one read */ };

typedef struct hf_chunks hf_chunks;
typedef struct hf_carrier hf_carrier;

/** The way of a chunk to one rank. */
typedef struct hf_target {
    const hf_carrier *carrier;
    int rank;
    uint64_t number; /**< of the chunk, among those to that rank */
    hf_transfer transfer;
} hf_target;

typedef enum hf_stage { HF_IDLE, HF_COPIES, HF_GOES } hf_stage;

/** A chunk to send, in a slot. */
typedef struct hf_outgoing {
    hf_stage stage;     /**< it is read; then it goes to its targets */
    size_t message, at; /**< the first that sends it; in their block [B] */
    size_t bytes, n_targets;
    double since; /**< when its stage began [s] */
    hf_event *event;
    hf_target targets[HF_MAX_TARGETS];
} hf_outgoing;

/** A chunk to receive. */
typedef struct hf_incoming {
    hf_stage stage; /**< it goes; then it is written */
    const hf_carrier *carrier;
    int rank;
    uint64_t number;
    size_t message;
    size_t bytes, at;   /**< at: in the receive buffer [B] */
    const char *memory; /**< where it lies, once it is there */
    double since;
    uint64_t deferred_by; /**< the run that does not wait for its write; 0: none */
    hf_event *event;
    hf_transfer transfer;
} hf_incoming;

/** How chunks get from rank to rank. */
struct hf_carrier {
    /** Let the chunk in `slot` go to a rank. */
    hf_status (*go)(hf_chunks *c, hf_target *to, size_t slot, size_t bytes);
    /** Is the slot no longer needed? */
    hf_status (*gone)(hf_chunks *c, hf_target *to, bool *is);
    /** Get ready for the chunk that comes into `slot`. */
    hf_status (*expect)(hf_chunks *c, hf_incoming *in, size_t slot);
    /** Is it there? Then `in->memory` says where. */
    hf_status (*come)(hf_chunks *c, hf_incoming *in, bool *is);
    /** It has been written to the device. */
    void (*taken)(hf_chunks *c, const hf_incoming *in);
    bool one_by_one; /**< a chunk does not go to a rank before the last one has gone */
    bool waits;      /**< nobody else looks whether the other rank is still there */
    bool ends;       /**< a plan is not done before its chunks have gone */
};

/** By memory that both ranks see (window.c), by messages of the transport (messages.c). */
extern const hf_carrier hf_carrier_window, hf_carrier_messages;

/** A scheme of chunks. */
struct hf_chunks {
    hf_exchange base;
    size_t chunk_size, chunk_depth; /**< that a run told [B], [1]; 0: our own */
    hf_plan *moving;                /**< that is under way, or NULL */
    uint64_t runs;                  /**< number of starts so far, of any plan */
    size_t slot_room;               /**< of each slot [B] */
    size_t depth;                   /**< slots */
    bool wants_window;
    bool crowded;      /**< the ranks of this node are more than its cores */
    bool one_core;     /**< the device is a CPU, and this process may use one core */
    hf_shared *window; /**< NULL: none */
    char *out, *in;    /**< [depth * slot_room] host memory of the slots */
    hf_buffer *pinned, *pinned_out, *pinned_in; /**< the window, and own memory */
    uint64_t *sent, *expected; /**< [size] chunks to each rank, and from each */
    hf_outgoing outs[HF_MAX_CHUNKS];
    hf_incoming ins[HF_MAX_CHUNKS];
    size_t out_next, out_oldest, in_next, in_oldest; /**< numbers of chunks */
};

/** Bytes of a rank's part of a window, before its slots. */
size_t hf_window_head(int ranks);
/** Forget the chunks that this rank has let go and taken. All ranks do, and none of them
 *  has a plan under way. */
void hf_window_clear(hf_chunks *c);

/** How chunks get to a rank, and from it. */
const hf_carrier *hf_carrier_to(const hf_chunks *c, int rank);

/** As many slots as the run wants, all free, for plans whose largest chunk on any rank is
 *  `bytes` long. No rank has a plan under way. Collective. */
hf_status hf_chunks_room(hf_chunks *c, size_t bytes);
/** None. Memory that a command may still use stays. */
void hf_chunks_room_free(hf_chunks *c);

/** What a run says of chunks. */
hf_status hf_chunks_take(hf_exchange *base, const hf_args *args, size_t longest);

/** Functions of a scheme's tables. */
hf_status hf_chunks_open(hf_exchange **out, const hf_exchange_ops *ops,
                         hf_device *device, hf_transport *net, bool wants_window);
void hf_chunks_close(hf_exchange *base);
extern const hf_block_ops hf_chunks_blocks;

#endif
