/* relay_ndrange.cl - devices of one node pass messages on by themselves.
 *
 * A launch writes the messages of its rank into slots of memory that the ranks share, and takes
 * those of others from theirs. It waits for other devices by looking at words of that memory: no
 * host takes part. So kernels must see pinned memory of the host at the host's address, and as it
 * changes (exchange/relay.h).
 *
 * What goes out waits for launches before this one alone, and comes first: work-groups that run one
 * after the other get on, too.
 */
#include "hf_kernel.h"
#include "relay_layout.h"

/* Data of this device are seen by others before what it writes next. */
#ifdef __NV_CL_C_VERSION
#define RELAY_FENCE() asm volatile("membar.sys;" ::: "memory")
#else
#define RELAY_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

typedef HF_GLOBAL volatile uint relay_word;
typedef HF_GLOBAL volatile ulong relay_note;

/** Wait until so many messages were taken, or more. False: this launch shall leave. */
static inline bool relay_taken(relay_word *receipt, uint wanted, relay_word *stop) {
    for (uint looks = 1; (int)(*receipt - wanted) < 0; looks++)
        if (looks % 64 == 0 && *stop)
            return false;
    return true;
}

/** Wait until a lane has told so much, or more. False: this launch shall leave. What others wrote
 *  before the note is read later, behind a barrier, and past the caches: it is there. */
static inline bool relay_hear(relay_note *note, ulong wanted, relay_word *stop) {
    for (uint looks = 1; *note < wanted; looks++)
        if (looks % 64 == 0 && *stop)
            return false;
    return true;
}

/** Copy `n` bytes by all work-items of a group. */
static inline void relay_copy(HF_GLOBAL uchar *to, HF_GLOBAL const uchar *from,
                              uint n) {
    const uint item = get_local_id(0), items = get_local_size(0);
    const uint wide = (((ulong)to | (ulong)from) & 15) == 0 ? n / 16 : 0;
    for (uint i = item; i < wide; i += items)
        ((HF_GLOBAL volatile uint4 *)to)[i] =
            ((HF_GLOBAL const volatile uint4 *)from)[i];
    for (uint i = 16 * wide + item; i < n; i += items)
        to[i] = ((HF_GLOBAL const volatile uchar *)from)[i];
}

/* ---- short messages: words of 4 bytes, each with the message's number beside it ---- */

static inline uint relay_load(HF_GLOBAL const uchar *from, uint n) {
    uint word = 0;
    if (n >= 4 && ((ulong)from & 3) == 0)
        return *(HF_GLOBAL const uint *)from;
    for (uint i = 0; i < 4 && i < n; i++)
        word |= (uint)from[i] << 8 * i;
    return word;
}

static inline void relay_store(HF_GLOBAL uchar *to, uint word, uint n) {
    if (n >= 4 && ((ulong)to & 3) == 0)
        *(HF_GLOBAL uint *)to = word;
    else
        for (uint i = 0; i < 4 && i < n; i++)
            to[i] = (uchar)(word >> 8 * i);
}

/** A work-item writes or takes 8 bytes: two words, each with its number in one store. */
static inline void relay_words_out(const relay_way *w, HF_GLOBAL const uchar *from,
                                   uint lane) {
    const uint i = lane * RELAY_GROUP + get_local_id(0), at = 8 * i;
    const ulong number = (ulong)w->number << 32;
    if (at >= w->bytes)
        return;
    const uint left = w->bytes - at, first = relay_load(from + at, left),
               second = left > 4 ? relay_load(from + at + 4, left - 4) : 0;
    ((HF_GLOBAL volatile ulong2 *)w->slot)[i] =
        (ulong2)(number | first, number | second);
}

static inline void relay_words_in(const relay_way *w, HF_GLOBAL uchar *to, uint lane,
                                  relay_word *stop) {
    const uint i = lane * RELAY_GROUP + get_local_id(0), at = 8 * i;
    if (at >= w->bytes)
        return;
    const uint left = w->bytes - at;
    ulong2 got;
    uint looks = 0;
    do {
        got = ((HF_GLOBAL const volatile ulong2 *)w->slot)[i];
        if (++looks % 64 == 0 && *stop)
            return;
    } while ((uint)(got.x >> 32) != w->number || (uint)(got.y >> 32) != w->number);
    relay_store(to + at, (uint)got.x, left);
    if (left > 4)
        relay_store(to + at + 4, (uint)got.y, left - 4);
}

/* ---- longer ones: pieces, each of which its lane tells of ---- */

/** What a lane has told when it has moved so many of its pieces. */
static inline ulong relay_told(const relay_way *w, uint pieces) {
    return (ulong)w->number * RELAY_ROUNDS + pieces;
}

/** Bytes of the piece at `at`; 0 past the end. */
static inline uint relay_piece(const relay_way *w, uint at) {
    return at >= w->bytes ? 0 : min((uint)RELAY_PIECE, w->bytes - at);
}

static inline void relay_pieces_out(const relay_way *w, HF_GLOBAL const uchar *from,
                                    uint lane, uint lanes) {
    HF_GLOBAL uchar *slot = (HF_GLOBAL uchar *)w->slot;
    relay_note *note = (relay_note *)(w->notes + RELAY_LINE * lane);
    for (uint k = 0, at; (at = (k * lanes + lane) * RELAY_PIECE) < w->bytes; k++) {
        relay_copy(slot + at, from + at, relay_piece(w, at));
        barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) == 0) {
            RELAY_FENCE();
            *note = relay_told(w, k + 1);
        }
    }
}

static inline void relay_pieces_in(const relay_way *w, HF_GLOBAL uchar *to, uint lane,
                                   uint lanes, relay_word *stop, local uint *go) {
    HF_GLOBAL const uchar *slot = (HF_GLOBAL const uchar *)w->slot;
    relay_note *note = (relay_note *)(w->notes + RELAY_LINE * lane);
    for (uint k = 0, at; (at = (k * lanes + lane) * RELAY_PIECE) < w->bytes; k++) {
        if (get_local_id(0) == 0)
            *go = relay_hear(note, relay_told(w, k + 1), stop);
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint goes = *go;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (goes)
            relay_copy(to + at, slot + at, relay_piece(w, at));
    }
}

/* ---- a lane ---- */

/** Take way number `k` if the work-group is of it: field by field, which stays in registers. */
static inline void relay_pick(relay_way *w, uint *way, const relay_way *next, uint k,
                              uint group, uint before) {
    const bool is = group >= before && group < next->groups;
    *way = is ? k : *way;
    w->slot = is ? next->slot : w->slot;
    w->notes = is ? next->notes : w->notes;
    w->receipt = is ? next->receipt : w->receipt;
    w->at = is ? next->at : w->at;
    w->bytes = is ? next->bytes : w->bytes;
    w->number = is ? next->number : w->number;
    w->taken = is ? next->taken : w->taken;
    w->groups = is ? next->groups : w->groups;
}

/** Pass on what a job says, by relay_way.groups work-groups of RELAY_GROUP work-items. */
__attribute__((reqd_work_group_size(RELAY_GROUP, 1, 1)))
HF_KERNEL(relay, HF_READ(uchar, sent), HF_WRITE(uchar, got), HF_VALUE(relay_job, job)) {
    local uint go;
    const uint group = get_group_id(0), item = get_local_id(0);
    relay_word *stop = (relay_word *)job.stop;
    uint way = group >= job.ways[0].groups;
    relay_way w = way ? job.ways[1] : job.ways[0];
    if (group >= job.ways[1].groups)
#pragma unroll /* else each work-item keeps a copy of the job in memory */
        for (uint k = 2; k < RELAY_WAYS; k++)
            relay_pick(&w, &way, &job.ways[k], k, group, job.ways[k - 1].groups);
    const uint lanes = relay_lanes(w.bytes), lane = group + lanes - w.groups;
    if (item == 0) {
        go = 1;
        if (group == 0)
            *(relay_word *)job.begun = job.launch;
        if (way < job.out && (int)(w.taken + RELAY_SLOTS - w.number) < 0)
            go = relay_taken((relay_word *)w.receipt, w.number - RELAY_SLOTS, stop);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint goes = go;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (way < job.out) {
        if (goes && w.bytes <= RELAY_SHORT)
            relay_words_out(&w, sent + w.at, lane);
        else if (goes)
            relay_pieces_out(&w, sent + w.at, lane, lanes);
        return;
    }
    if (w.bytes <= RELAY_SHORT)
        relay_words_in(&w, got + w.at, lane, stop);
    else
        relay_pieces_in(&w, got + w.at, lane, lanes, stop, &go);
}

/* ---- does the device see the host's memory? ---- */

/** Tell so in the first of three words, and wait for the host's answer in the next one; look for it
 *  `most` times. */
HF_KERNEL(relay_probe, HF_VALUE(ulong, word), HF_VALUE(uint, most)) {
    relay_word *told = (relay_word *)word;
    told[0] = 1;
    for (uint looks = 0; looks < most && told[1] != 2; looks++)
        ;
    told[2] = told[1];
}
