/* hf_ring.h - a live channel: packets from one writer to one reader through memory.
 *
 * Writer and reader run at the same time, in one process or in two that share the memory.
 * Each counts the packets it moved and publishes the count every HF_PUBLISH packets, before
 * it waits, and at a flush, so that the other side rarely has to fetch that cache line.
 * `limit` is how far it may go before it looks at the ring again. Who waits looks HF_SPINS
 * times at what is published, then calls the host between looks, now also at what is moved: a
 * kernel that waits at one channel withholds nothing at another.
 *
 * The host fills `depth`, `mask`, `width` and each side's `host` and `owner`, zeroes the rest,
 * and may set `abort` at any time: whoever waits then, leaves. Packets follow the page of this.
 */
#ifndef HF_RING_H
#define HF_RING_H

#include "hf_ring_host.h"

#ifndef HF_PUBLISH
#define HF_PUBLISH 512
#endif
#ifndef HF_SPINS
#define HF_SPINS 10
#endif
/* Packets from the one written to the one whose cache line the writer claims. Without it the
 * reader may follow line by line, and each line that both want takes several times as long;
 * claimed further ahead, lines are taken from a reader that is not there yet. */
#define HF_RING_AHEAD (256 / HF_CHANNEL_WIDTH)

/* Values of `abort`; a kernel for packets of another width leaves HF_RING_MISFIT times its own. */
enum { HF_RING_HALT = 1, HF_RING_MISFIT = 2 };

/** What one side writes, on two pairs of cache lines of its own. */
typedef struct hf_ring_side {
    hf_word at; /* packets published, written or read */
    hf_word unused[15];
    hf_word moved;      /* packets written or read */
    hf_word stalls;     /* waits for the other side */
    hf_word high_water; /* reader: most packets seen waiting */
    hf_word waits;      /* 1 while it waits */
    hf_word host;  /* address of its kernel's hf_ring_host, in that kernel's process */
    hf_word owner; /* number of its kernel, for reports */
    hf_word unused2[10];
} hf_ring_side;

typedef struct hf_ring {
    hf_ring_side writer, reader;
    hf_word abort;
    hf_word depth; /* packets that fit */
    hf_word mask;  /* slots - 1; slots are a power of two */
    hf_word width; /* bytes of a packet */
    hf_word unused[12];
    char names[2][64]; /* writer, reader: for reports */
    hf_word page[416];
} hf_ring;

#define HF_RING_LOAD(word)         __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define HF_RING_STORE(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)

/** Publish all that a side has moved: the host does, for a kernel that waits or has ended. */
static inline void hf_ring_publish(HF_RING_MEMORY hf_ring_side *side) {
    if (side->at != side->moved)
        HF_RING_STORE(&side->at, side->moved);
}

/** Wait for `other` past `still`; its count, or `still` after an abort. */
static inline hf_word hf_ring_wait(HF_RING_MEMORY hf_ring *ring,
                                   HF_RING_MEMORY hf_ring_side *self,
                                   HF_RING_MEMORY const hf_ring_side *other,
                                   hf_word still) {
    hf_word seen = still;
    HF_RING_STORE(&self->stalls, self->stalls + 1);
    for (unsigned spin = 0; seen <= still && spin < HF_SPINS; spin++)
        seen = HF_RING_LOAD(&other->at);
    if (seen > still)
        return seen;
    HF_RING_STORE(&self->waits, 1);
    for (unsigned round = 0; seen <= still && !HF_RING_LOAD(&ring->abort); round++) {
        hf_ring_call(self->host, HF_RING_WAIT, (hf_word)ring, (hf_word)other, still,
                     round);
        seen = HF_RING_LOAD(&other->at);
        if (seen <= still)
            seen = HF_RING_LOAD(&other->moved);
    }
    HF_RING_STORE(&self->waits, 0);
    return seen > still ? seen : still;
}

/** Publish `at` written packets and wait for room; the new limit, `at` after an abort. */
static inline hf_word hf_ring_room(HF_RING_MEMORY hf_ring *ring, hf_word at) {
    HF_RING_STORE(&ring->writer.at, at);
    hf_word depth = ring->depth, read = HF_RING_LOAD(&ring->reader.at);
    if (read + depth <= at)
        read = hf_ring_wait(ring, &ring->writer, &ring->reader, at - depth);
    hf_word room = read + depth - at;
    return at + (room < HF_PUBLISH ? room : HF_PUBLISH);
}

/** Publish `at` read packets and wait for more; the new limit, `at` after an abort. */
static inline hf_word hf_ring_more(HF_RING_MEMORY hf_ring *ring, hf_word at) {
    HF_RING_STORE(&ring->reader.at, at);
    hf_word written = HF_RING_LOAD(&ring->writer.at);
    if (written <= at)
        written = hf_ring_wait(ring, &ring->reader, &ring->writer, at);
    hf_word more = written - at;
    if (more > ring->reader.high_water)
        HF_RING_STORE(&ring->reader.high_water, more);
    return at + (more < HF_PUBLISH ? more : HF_PUBLISH);
}

#endif
