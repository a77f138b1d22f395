/* chunks_plan.h - a plan of chunks under way: what is sent (chunks.c), and what is received
 * (chunks_in.c).
 */
#ifndef HF_CHUNKS_PLAN_H
#define HF_CHUNKS_PLAN_H

#include "chunks.h"

/** What of a list is next, to send or to receive. */
typedef struct hf_cursor {
    size_t message, at;          /**< its next byte */
    size_t after;                /**< the message behind those that are sent together */
    int targets[HF_MAX_TARGETS]; /**< of those that are sent */
    size_t n_targets;            /**< 0: the next one to send is to be found */
} hf_cursor;

typedef struct hf_chunks_plan {
    hf_plan base;
    const hf_order *order;
    hf_cursor out, in;
    bool blocks;     /**< who waits for it waits for each copy */
    bool brief;      /**< all its copies are short: less than 8 KiB */
    bool defers;     /**< it may be done while its last write is in its queue */
    bool relays;     /**< devices may pass its messages on by themselves: relay.h */
    bool relayed;    /**< they do, since this start */
    bool late;       /**< nothing moves: its copies are waited for, not looked at */
    bool begun;      /**< a read has ended, and so has all that the plan comes after; or
                          its launch is given */
    bool marked;     /**< `ready` is there, or was */
    hf_event *ready; /**< of all that the plan comes after */
    double moved;    /**< when something moved last [s] */
    double looked;   /**< when all ranks were asked for last [s] */
    unsigned looks;  /**< since something moved */
} hf_chunks_plan;

static inline hf_chunks *hf_chunks_of(const hf_chunks_plan *plan) {
    return (hf_chunks *)plan->base.exchange;
}

/** Length of the chunk of a message that begins at `at` [B]. */
size_t hf_chunk_at(const hf_chunks *c, size_t message, size_t at);
/** Move past a chunk of `bytes`; at the end of a message of `message` bytes, to the next one. */
void hf_cursor_go_on(hf_cursor *at, size_t bytes, size_t message);
/** Have all reads of the plan ended? */
bool hf_chunks_reads_ended(hf_chunks_plan *plan);

/** Go on with what is received. `wait`: the plan is waited for. */
hf_status hf_chunks_in_go_on(hf_chunks_plan *plan, bool wait, bool *moved);
/** End what earlier runs deferred, where all of the queue has ended. */
hf_status hf_chunks_in_end(hf_chunks *c);
/** Are all written, or deferred by this run: in the plan's queue? */
bool hf_chunks_in_done(hf_chunks_plan *plan);

#endif
