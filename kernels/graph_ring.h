/* graph_ring.h - what goes round the ring of devices in a launch; their host knows it, too.
 *
 * Every rank has as many slots in the ring. In a rotation it sends an own packet in each of
 * them, and then what comes, until the packets of all have been everywhere: a receiver knows
 * by their order whose they are. A rank that has no more updates sends barriers, of which the
 * first carry its count. The rotation whose first packets are all barriers is the last, and
 * every rank sees that by itself.
 *
 * A receiver drains the ring to memory. It hands on what it takes by a channel that has room for
 * all slots of all ranks, so it never waits for the kernel that sends.
 */
#ifndef GRAPH_RING_H
#define GRAPH_RING_H

#include "graph_layout.h"

#define GRAPH_HELD  2048 /**< packets between a rank's receiver and its sender */
#define GRAPH_SLOTS 128  /**< of a rank, at most: a link's latency in clock cycles */
#define GRAPH_RING_RANKS \
    128 /**< at most: each has slots for the packets of its count */

/** Who makes the packets of a launch: see graph_stream.cl. */
enum {
    GRAPH_STARTS,
    GRAPH_PULLS,
    GRAPH_APPLIES,
    GRAPH_ADMITS,
    GRAPH_SHARES,
    GRAPH_MAKERS
};

/** First word of a packet: the number of the item in it (a vertex, a word), or one of these. */
#define GRAPH_BARRIER 0xFFFFFFFFu
#define GRAPH_LAST    0xFFFFFFFEu /**< nothing follows on this link in this launch */

/** Words of a packet of `bytes` without its first word and its mark. */
#define GRAPH_PAYLOAD(bytes) ((bytes) / 4 - 2)
#define GRAPH_COUNT_WORDS    (sizeof(graph_count) / 4)

/** What came from a rank in a launch. */
typedef struct graph_came {
    graph_count count;   /**< as its barriers told it */
    unsigned long taken; /**< packets that were kept */
    unsigned digest;     /**< of what they hold */
    unsigned wrong;      /**< packets that were not as they were sent, or not then */
} graph_came;

static inline unsigned graph_slots(unsigned ranks) {
    const unsigned fair = GRAPH_HELD / ranks;
    return fair < GRAPH_SLOTS ? fair : GRAPH_SLOTS;
}

/** Packets that a rank sends in a launch, where a rank has `most` updates, and none has more. */
static inline unsigned long graph_sent(unsigned ranks, unsigned long most) {
    if (ranks < 2)
        return 0;
    const unsigned slots = graph_slots(ranks);
    return ((most + slots - 1) / slots + 1) * slots * (ranks - 1) + 1;
}

#endif
