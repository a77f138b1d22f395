/* relay_layout.h - what relay_ndrange.cl and the host (exchange/relay.c) agree on.
 *
 * A message lies in a slot of memory that the ranks of a node share. Several work-groups move it,
 * each in a lane of its own.
 */
#ifndef RELAY_LAYOUT_H
#define RELAY_LAYOUT_H

enum {
    RELAY_WAYS = 8,    /**< most messages of a launch, both ways together */
    RELAY_SLOTS = 8,   /**< messages from a rank to another that are not taken yet */
    RELAY_GROUP = 256, /**< work-items of a lane */
    RELAY_LANES = 64,  /**< most of a message */
    RELAY_ROUNDS = 16, /**< a lane moves less than so many pieces of a message */
    RELAY_PIECE = 4 << 10, /**< bytes that a lane moves before it tells so */
    RELAY_WORDS = 2 << 10, /**< bytes of a short message that go in one lane */
    RELAY_SHORT =
        64 << 10, /**< a message up to here goes by words that tell of themselves */
    RELAY_LONGEST = 1 << 20 /**< a longer one does not go so */
};

/** A message on its way; addresses are the host's. */
typedef struct relay_way {
    unsigned long slot; /**< where it lies */
    unsigned long
        notes; /**< [RELAY_LANES, RELAY_LINE B] words of 8 bytes: what each lane has told */
    unsigned long receipt; /**< a word: number of the last message that was taken */
    unsigned long at;      /**< its first byte in the device's buffer */
    unsigned bytes;
    unsigned number; /**< of the message, among those of these two ranks, from 1 */
    unsigned taken;  /**< at least so many were, before the launch */
    unsigned groups; /**< work-groups of this way and of all before it */
} relay_way;

enum { RELAY_LINE = 64 /**< from one lane's note to the next [B] */ };

/** What a launch does: messages that go out first, then those that come in. */
typedef struct relay_job {
    relay_way ways[RELAY_WAYS];
    unsigned long stop; /**< a word of this rank: not 0: leave */
    unsigned long
        begun; /**< another one: the number of the last launch that has begun */
    unsigned launch, out; /**< its number; ways that go out */
} relay_job;

/** Work-groups that move a message. */
static inline unsigned relay_lanes(unsigned bytes) {
    const unsigned piece = bytes <= RELAY_SHORT ? RELAY_WORDS : RELAY_PIECE,
                   pieces = (bytes + piece - 1) / piece;
    return pieces < RELAY_LANES ? pieces : RELAY_LANES;
}

#endif
