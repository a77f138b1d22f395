/* hf_ring.h - a live channel: packets from one writer to one reader through memory.
 *
 * Writer and reader run at the same time, in one process or in two that share the memory.
 * Each counts the packets it moved and publishes the count every HF_PUBLISH packets, before
 * it waits, and at a flush, so that the other side rarely has to fetch that cache line.
 * `limit` is how far it may go before it looks at the ring again. Who waits looks HF_SPINS
 * times at what is published, then calls the host between looks, now also at what is moved: a
 * kernel that waits at one channel withholds nothing at another.
 *
 * The host fills `depth`, `mask`, `width` and each side's `host`, zeroes the rest, and may
 * set `abort` at any time: whoever waits then, leaves. Packets follow the page of this.
 */
#ifndef HF_RING_H
#define HF_RING_H

#ifdef __OPENCL_VERSION__
typedef ulong hf_word;
#define HF_RING_MEMORY __global
#else
#include <sched.h>
#include <stdint.h>
typedef uint64_t hf_word;
#define HF_RING_MEMORY
#endif

#ifndef HF_PUBLISH
#define HF_PUBLISH 512
#endif
#ifndef HF_SPINS
#define HF_SPINS 10
#endif

enum { HF_RING_HALT = 1, HF_RING_MISFIT = 2 }; /* values of `abort` */

/** What one side writes, on two pairs of cache lines of its own. */
typedef struct hf_ring_side {
    hf_word at; /* packets published, written or read */
    hf_word unused[15];
    hf_word moved;  /* packets written or read */
    hf_word stalls; /* waits for the other side */
    hf_word most;   /* reader: most packets seen waiting */
    hf_word waits;  /* 1 while it waits */
    hf_word host; /* address of the hf_ring_host of its kernel, in that one's process */
    hf_word unused2[11];
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

#ifndef __OPENCL_VERSION__
/** Functions of the host for a kernel in OpenCL C. */
typedef struct hf_ring_host {
    /** Return when `other` may be past `still`, or `ring` is aborted, or at any time. */
    void (*wait)(struct hf_ring_host *self, const hf_ring *ring,
                 const hf_ring_side *other, hf_word still);
    /** The kernel ends. */
    void (*leave)(struct hf_ring_host *self);
} hf_ring_host;
#endif
enum { HF_RING_WAIT, HF_RING_LEAVE };

/** Call function `which` of `host`: a kernel has neither function pointers nor a C library.
 *  All that it may change is named, also registers that are not there. PoCL 5 aborts if it
 *  finds assembly in the kernel itself. */
__attribute__((noinline)) static void
hf_ring_call(hf_word host, int which, hf_word ring, hf_word other, hf_word still) {
#if !defined(__OPENCL_VERSION__)
    (void)host, (void)which, (void)ring, (void)other, (void)still;
    sched_yield();
#elif defined(__x86_64__)
    hf_word function = ((HF_RING_MEMORY hf_word *)host)[which];
    __asm__ volatile("mov %%rsp, %%r12\n\t"
                     "sub $128, %%rsp\n\t" /* the red zone */
                     "and $-64, %%rsp\n\t"
                     "call *%%rax\n\t"
                     "mov %%r12, %%rsp"
                     : "+a"(function), "+D"(host), "+S"(ring), "+d"(other), "+c"(still)
                     :
                     : "r8", "r9", "r10", "r11", "r12", "cc", "memory", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16",
                       "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
                       "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30",
                       "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7");
#elif defined(__aarch64__)
    hf_word function = ((HF_RING_MEMORY hf_word *)host)[which];
    __asm__ volatile("mov x0, %0\n\t"
                     "mov x1, %1\n\t"
                     "mov x2, %2\n\t"
                     "mov x3, %3\n\t"
                     "blr %4"
                     :
                     : "r"(host), "r"(ring), "r"(other), "r"(still), "r"(function)
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
                       "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
                       "x30", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6",
                       "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31", "p0", "p1",
                       "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11",
                       "p12", "p13", "p14", "p15");
#endif
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
    while (seen <= still && !HF_RING_LOAD(&ring->abort)) {
        hf_ring_call(self->host, HF_RING_WAIT, (hf_word)ring, (hf_word)other, still);
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
    if (more > ring->reader.most)
        HF_RING_STORE(&ring->reader.most, more);
    return at + (more < HF_PUBLISH ? more : HF_PUBLISH);
}

#endif
