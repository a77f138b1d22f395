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

#include "carrier.h"
#include "core/team.h"
#include "exchange.h"
#include "node.h"

typedef struct hf_relay hf_relay;

/** A scheme of chunks. */
struct hf_chunks {
    hf_exchange base;
    size_t chunk_size, chunk_depth; /**< that a run told [B], [1]; 0: our own */
    hf_plan *moving;                /**< that is under way, or NULL */
    uint64_t runs;                  /**< number of starts so far, of any plan */
    size_t slot_room;               /**< of each slot [B] */
    size_t depth;                   /**< slots */
    const hf_carrier
        *near;         /**< carrier to ranks of this node, where there is a window */
    hf_team *team;     /**< with whom the host copies; NULL: alone */
    bool crowded;      /**< the ranks of this node are more than its cores */
    bool one_core;     /**< the device is a CPU, and this process may use one core */
    hf_shared *window; /**< NULL: none */
    hf_relay *relay;   /**< relay.h; NULL: none so far */
    const char *relay_note; /**< of this run's plans; static, or `relay_why` */
    char slots_note[256], relay_why[160];
    char *out, *in; /**< [depth * slot_room] host memory of the slots */
    hf_buffer *pinned, *pinned_out, *pinned_in; /**< of the window, and own memory */
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

/** Put remarks of slots and of relays into the results. */
void hf_chunks_note(hf_chunks *c);
/** Memory that all ranks of the node see, pinned where it is; HF_ENOTSUP where the runtime pins a
 *  copy of it, which the others do not see. */
hf_status hf_chunks_pin(hf_chunks *c, hf_buffer **out, void *memory, size_t bytes);
/** Leave such memory, unless the device may still use it. */
void hf_chunks_leave(const hf_chunks *c, hf_shared *shared);

/** What a run says of chunks. */
hf_status hf_chunks_take(hf_exchange *base, const hf_args *args, size_t longest);

/** Functions of a scheme's tables. */
hf_status hf_chunks_open(hf_exchange **out, const hf_exchange_ops *ops,
                         hf_device *device, hf_transport *net, const hf_carrier *near);
void hf_chunks_close(hf_exchange *base);
extern const hf_block_ops hf_chunks_blocks;

#endif
