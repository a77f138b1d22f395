/* graph_layout.h - what the kernels of `graph` and their host both know.
 *
 * An outbox is what a rank tells the others in a superstep: a head, then a bit for each of its
 * vertices that has an update, then room for the update of each. Vertices that no edge leaves tell
 * nothing; they come last, and their room does not cross. The head is a count of each chunk, then
 * lists of updates, which stand for bits and updates where all of them fit; none in programs that
 * apply all vertices. An inbox is as much from each rank, whose bits and updates come behind
 * its head where the lists are too short, then the bits and the updates of all vertices.
 *
 * In architecture gravf a head has no lists, but how many messages were made for each rank.
 * Records of these lie behind the updates in an outbox, and behind the heads in an inbox.
 */
#ifndef GRAPH_LAYOUT_H
#define GRAPH_LAYOUT_H

#define GRAPH_ALIGN  64   /**< bytes at which each part begins */
#define GRAPH_STATE  4096 /**< most bytes of a vertex */
#define GRAPH_VALUES 4    /**< scalars of a program */

#ifndef GRAPH_FEW_EDGES            /* tests have fewer */
#define GRAPH_FEW_EDGES (1u << 14) /**< of the vertices of a superstep of graph_few */
#define GRAPH_FEW_ROOM  (1u << 16) /**< vertices in a list */
#endif
#define GRAPH_FEW_WORK  (1u << 21) /**< and of all in a launch, before the last */
#define GRAPH_FEW_STEPS 256 /**< supersteps in a launch: their counts are a head */
#define GRAPH_FEW_GRAPH 0xFFFFFFFFu /**< of the graph: lists have 32 bits for them */
#if GRAPH_FEW_EDGES > GRAPH_FEW_ROOM
#error "GRAPH_FEW_EDGES is at most GRAPH_FEW_ROOM: lists change places"
#endif

/** Bytes of the lists of graph_lists.h, for updates of so many bytes. */
#define GRAPH_LISTS_BYTES(update)                         \
    (GRAPH_FEW_ROOM * (4 * sizeof(unsigned) + (update)) + \
     GRAPH_FEW_EDGES * (3 * sizeof(unsigned) + (update)))

/** What was counted in a chunk. */
typedef struct graph_count {
    unsigned long edges;    /**< that leave the vertices with an update */
    unsigned long messages; /**< gathered */
    unsigned long known; /**< those who told before, and edges that leave them, as those
                                 find who take what they told; in architecture gravf
                                 those who tell, as who sends messages finds them */
    unsigned active;     /**< vertices with an update */
    unsigned pending;    /**< vertices whose update is not yet due */
    unsigned lowest;     /**< of the priorities of these */
    float changed;       /**< sum of what HF_CHANGED was given */
    unsigned first, end; /**< numbers of its vertices; in those of graph_few the number
                                 of the superstep in the launch, and whether another follows */
    unsigned superstep;
    unsigned digest; /**< of the updates; in architecture gravf of what was gathered */
    unsigned listed; /**< sum of the words of its list, unused ones included; in
                          architecture gravf digest of the messages that were made */
    unsigned seal;   /**< of all this */
} graph_count;

/** What stays the same in a run of a program. Places are in bytes from the begin of a box. */
typedef struct graph_run {
    unsigned long out_bits, out_updates, in_bits, in_updates;
    unsigned long list, head; /**< of updates in a head; length of a head */
    unsigned long out_records, in_records, made; /**< made: for each rank, in a head */
    unsigned long home;  /**< records for ranks before this one */
    unsigned first, own; /**< numbers of this rank's vertices */
    unsigned tells;      /**< of these, the first that may tell something */
    unsigned id;         /**< own vertex v is id + v * step of the input */
    unsigned step;       /**< 0: its name says which */
    unsigned rank, ranks;
    unsigned chunks;           /**< of each rank */
    unsigned digests;          /**< counts have those of updates */
    unsigned room;             /**< updates in the list of a chunk, a multiple of 4 */
    unsigned list_words;       /**< of the list of a chunk */
    unsigned vertices, source; /**< as programs see them */
    unsigned heard; /**< vertices of all ranks that edges leave which are kept */
    float value[GRAPH_VALUES];
} graph_run;

/** Where what rank r told lies in an inbox: its outbox up to the last update that may be. The list
 *  of places has one more that ends it: `first` is the number of all vertices. */
typedef struct graph_place {
    unsigned long box, updates; /**< begin, and from there on its updates */
    unsigned first, heard; /**< numbers of its first vertex, and of the first behind
                                those that may tell something */
} graph_place;

/** What a program is: words that graph_traits writes. */
enum {
    GRAPH_VERTEX_BYTES,
    GRAPH_UPDATE_BYTES,
    GRAPH_MESSAGE_BYTES,
    GRAPH_RECORD_BYTES,
    GRAPH_ALWAYS,
    GRAPH_WEIGHTED,
    GRAPH_UNDIRECTED,
    GRAPH_WINDOW,     /**< priorities that are due together; 0: all are */
    GRAPH_GROWTH,     /**< factor by which the next window is wider */
    GRAPH_SUPERSTEPS, /**< at most, unless told otherwise; 0: any number */
    GRAPH_SOURCE,     /**< it starts at one vertex */
    GRAPH_HINTS,      /**< it says when it has got enough */
    GRAPH_PRIORITIES, /**< updates have some */
    GRAPH_TEAM_ITEMS, /**< work-items that take a chunk together */
    GRAPH_PROOF,      /**< that all these were written */
    GRAPH_TRAITS
};

static inline unsigned graph_mix(unsigned x, unsigned y) {
    x = (x ^ y) * 0x9E3779B1u;
    x = (x ^ (x >> 15)) * 0x85EBCA77u;
    return x ^ (x >> 13);
}

static inline unsigned graph_mix_long(unsigned x, unsigned long y) {
    return graph_mix(graph_mix(x, (unsigned)y), (unsigned)(y >> 32));
}

static inline unsigned graph_proof(const unsigned *traits) {
    unsigned x = GRAPH_TRAITS;
    for (unsigned i = 0; i < GRAPH_PROOF; i++)
        x = graph_mix(x, traits[i]);
    return x;
}

/** The window of priorities from `lowest` on: those below are settled, and behind << 32 those
 *  from there on are not yet due. `*width` becomes that of the next one. */
static inline unsigned long graph_window_from(unsigned lowest, unsigned long *width,
                                              unsigned growth) {
    const unsigned long most = 0xFFFFFFFFu, until = lowest + *width,
                        wider = *width * growth;
    *width = wider < most ? wider : most;
    return lowest | (until < most ? until : most) << 32;
}

/** What word `i` of a list adds to its sum. */
static inline unsigned graph_term(unsigned i, unsigned word) {
    return (2 * i + 1) * word;
}

/** Seal of a count. `seal` is of a rank's sample; the rest is what the kernel was told. */
static inline unsigned graph_seal(const graph_count *c, unsigned seal,
                                  unsigned superstep, unsigned long window) {
    union {
        float number;
        unsigned bits;
    } changed;
    unsigned x = graph_mix_long(graph_mix(seal, superstep), window);
    changed.number = c->changed;
    x = graph_mix_long(graph_mix_long(x, c->edges), c->messages);
    x = graph_mix_long(x, c->known);
    x = graph_mix(graph_mix(x, c->active), c->pending);
    x = graph_mix(graph_mix(x, c->lowest), changed.bits);
    x = graph_mix(graph_mix(graph_mix(x, c->first), c->end), c->superstep);
    return graph_mix(graph_mix(x, c->digest), c->listed);
}

#endif
