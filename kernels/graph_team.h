/* graph_team.h - who takes a chunk: a work-item alone, or on GPUs all of a work-group.
 *
 * A team takes a block of GRAPH_BLOCK vertices at a time. Each of its work-items has the bits
 * GRAPH_MINE in word GRAPH_WORD. Functions in which they meet are called by all of them.
 */
#ifndef GRAPH_TEAM_H
#define GRAPH_TEAM_H

#include "graph_program.h"

/** Bits of 32 vertices: of those that tell, and of those whose update is not yet due. */
typedef struct graph_word {
    uint bits, late;
} graph_word;

#if GRAPH_ITEMS == 1

#define GRAPH_LOCAL
#define GRAPH_TEAM  ((uint)HF_ITEM)
#define GRAPH_TEAMS ((uint)HF_ITEMS)
#define GRAPH_ME    0u
#define GRAPH_BLOCK 32u
#define GRAPH_WORD  0u
#define GRAPH_MINE  HF_NOBODY
#define GRAPH_FIRST 1 /* of a word's work-items */
#define GRAPH_MEET()

/* A kernel whose team `mine` of `teams` takes chunks mine, mine + teams, and so on. Its body is a
 * function that graph_persistent.h calls, too. It is inlined: PageRank of urand:20 takes 1.2 times
 * as long by a call. */
#define GRAPH_TEAM_KERNEL(kernel, ...)                                               \
    static inline GRAPH_INLINE void kernel##_part(const uint mine, const uint teams, \
                                                  HF_EACH(HF_DECLARE, __VA_ARGS__)); \
    HF_KERNEL(kernel, __VA_ARGS__) {                                                 \
        kernel##_part(GRAPH_TEAM, GRAPH_TEAMS, HF_EACH(HF_NAME, __VA_ARGS__));       \
    }                                                                                \
    static inline GRAPH_INLINE void kernel##_part(const uint mine, const uint teams, \
                                                  HF_EACH(HF_DECLARE, __VA_ARGS__))
#define GRAPH_INLINE __attribute__((always_inline))
#define GRAPH_TEAM_BEGIN

/** What its work-items share. */
typedef struct graph_team {
    uint nothing;
} graph_team;

/** The next free place of a list with n entries. */
static inline uint graph_slot(graph_team *team, uint n) {
    (void)team;
    return n;
}
static inline void graph_slots_clear(graph_team *team) {
    (void)team;
}
/** The bits that all work-items have of this one's word. */
static inline graph_word graph_word_join(graph_team *team, graph_word word) {
    (void)team;
    return word;
}
/** The first work-item's counts become those of all. */
static inline void graph_count_join(graph_team *team, graph_count *count) {
    (void)team, (void)count;
}

#else

#define GRAPH_LOCAL                    __local
#define GRAPH_TEAM                     ((uint)get_group_id(0))
#define GRAPH_TEAMS                    ((uint)get_num_groups(0))
#define GRAPH_ME                       ((uint)get_local_id(0))
#define GRAPH_BLOCK                    ((uint)GRAPH_ITEMS)
#define GRAPH_WORD                     (GRAPH_ME / 32)
#define GRAPH_MINE                     (1u << GRAPH_ME % 32)
#define GRAPH_FIRST                    (GRAPH_ME % 32 == 0)
#define GRAPH_MEET()                   barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define GRAPH_TEAM_KERNEL(kernel, ...) HF_KERNEL(kernel, __VA_ARGS__)
#define GRAPH_TEAM_BEGIN               const uint mine = GRAPH_TEAM, teams = GRAPH_TEAMS;

typedef struct graph_team {
    union {
        graph_count counts[GRAPH_ITEMS];
        uchar room[GRAPH_ITEMS * GRAPH_ALIGN]; /* of messages */
    } __attribute__((aligned(GRAPH_ALIGN)));
    ulong rows[GRAPH_ITEMS];
    uint ends[GRAPH_ITEMS + 1], heard[GRAPH_ITEMS], longs[GRAPH_ITEMS];
    uint bits[GRAPH_ITEMS / 32], late[GRAPH_ITEMS / 32];
    uint slots, busy, n_longs;
} graph_team;

static inline uint graph_slot(GRAPH_LOCAL graph_team *team, uint n) {
    (void)n;
    return atomic_inc(&team->slots);
}

static inline void graph_slots_clear(GRAPH_LOCAL graph_team *team) {
    if (GRAPH_ME == 0)
        team->slots = 0;
    GRAPH_MEET();
}

static inline graph_word graph_word_join(GRAPH_LOCAL graph_team *team,
                                         graph_word word) {
    GRAPH_MEET();
    if (GRAPH_FIRST)
        team->bits[GRAPH_WORD] = team->late[GRAPH_WORD] = 0;
    GRAPH_MEET();
    if (word.bits)
        atomic_or(&team->bits[GRAPH_WORD], word.bits);
    if (word.late)
        atomic_or(&team->late[GRAPH_WORD], word.late);
    GRAPH_MEET();
    word.bits = team->bits[GRAPH_WORD];
    word.late = team->late[GRAPH_WORD];
    return word;
}

static inline void graph_count_join(GRAPH_LOCAL graph_team *team, graph_count *count) {
    GRAPH_LOCAL graph_count *mine = &team->counts[GRAPH_ME];
    GRAPH_MEET();
    *mine = *count;
    for (uint n = GRAPH_ITEMS / 2; n > 0; n /= 2) {
        GRAPH_MEET();
        if (GRAPH_ME < n) {
            GRAPH_LOCAL const graph_count *other = mine + n;
            mine->edges += other->edges;
            mine->messages += other->messages;
            mine->known += other->known;
            mine->active += other->active;
            mine->pending += other->pending;
            mine->lowest = other->lowest < mine->lowest ? other->lowest : mine->lowest;
            mine->changed += other->changed;
            mine->digest += other->digest;
        }
    }
    *count = *mine; /* of the first: it wrote the last sums itself */
}

#endif

#endif
