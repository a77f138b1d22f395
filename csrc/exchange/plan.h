/* plan.h - schemes that move blocks between device buffers.
 *
 * What is exchanged again and again is planned once: both ends are checked and memory is
 * pinned. Then a plan is started, and goes on whenever `progress` is called, until it is done.
 * One plan of a scheme is under way at a time.
 */
#ifndef HF_PLAN_H
#define HF_PLAN_H

#include "core/param.h"
#include "device.h"

struct hf_exchange;

enum {
    HF_NOBODY = -1,
    HF_MAX_CHUNKS = 16, /**< of a rank under way at a time, each way */
};

/** The entries for chunks in a benchmark's table of parameters. */
/* clang-format off */
#define HF_CHUNK_PARAMS                                                                \
    {"chunk_size", "longest chunk of a message, a multiple of 4096; auto: "            \
     "docs/exchanges.md; schemes that send chunks only [B]",                           \
     "auto", "auto", NULL, 4096, 1 << 30, HF_TEXT},                                    \
    {"chunk_depth", "chunks of a rank that are under way at a time, each way; auto: "  \
     "4; schemes that send chunks only",                                               \
     "auto", "auto", NULL, 1, HF_MAX_CHUNKS, HF_TEXT}
/* clang-format on */

extern const hf_param hf_plan_params[]; /**< those that schemes may take */

/** One block out and one block in; a plain value. Ranks are 0 .. size-1. */
typedef struct hf_message {
    int to;            /**< rank that gets our block, or HF_NOBODY */
    int from;          /**< rank whose block we get, or HF_NOBODY */
    size_t send_at;    /**< offset of our block in the send buffer [B] */
    size_t recv_at;    /**< offset of theirs in the receive buffer [B] */
    size_t send_bytes; /**< length of our block, 0: nothing is sent [B] */
    size_t recv_bytes; /**< length of theirs [B] */
} hf_message;

/** Host memory for copies of the first `bytes` of a message's blocks, made as they pass by. NULL:
 *  none. Where several messages in turn send one block, the first of them copies it. */
typedef struct hf_glance {
    void *sent, *came;
    size_t bytes;
} hf_glance;

/** What every plan shows; schemes put their own fields behind it. */
typedef struct hf_plan {
    struct hf_exchange *exchange;
    hf_buffer *recv;
    const hf_buffer *send;
    size_t n;
    /** [n] Between two starts a block may move within its buffer, and take any length up to
     *  the planned one, the same at both ends. */
    hf_message *messages;
    const hf_glance *glances; /**< [n] the caller's, or NULL */
    bool kernels_beside;      /**< the caller's: they run meanwhile, and need cores */
    bool enqueued, waited;    /**< started by hf_plan_enqueue; by that or hf_plan_run */
} hf_plan;

typedef struct hf_block_ops {
    /** The scheme that makes a plan whose longest message, on any rank, has `bytes`; the same on
     *  all ranks. NULL: this one. A table with `choose` has nothing else. */
    struct hf_exchange *(*choose)(struct hf_exchange *exchange, size_t bytes);

    /** Get ready for `n` messages, checked; `plan` has all its public fields and is where
     *  the scheme's own are, zeroed. All ranks come here together, none with a plan under
     *  way, and no rank starts before all have left. */
    hf_status (*plan)(hf_plan *plan);
    size_t plan_bytes; /**< of a plan, with the scheme's own fields */

    /** Start it, and return at once. Commands of the device run in the queue of `order` and
     *  after its events, which stay until the plan is done; NULL as for a command. */
    hf_status (*start)(hf_plan *plan, const hf_order *order);

    /** Go on with it; *done says that all messages have moved. `wait`: return when they
     *  have. Who never waits calls it many times in a second. */
    hf_status (*progress)(hf_plan *plan, bool wait, bool *done);

    /** Take what a run says of hf_plan_params, or refuse it; `longest` is its message at any
     *  point [B], 0: not known. NULL: it takes the defaults alone. */
    hf_status (*take)(struct hf_exchange *exchange, const hf_args *args,
                      size_t longest);

    /** Give up what is under way, and release what `plan` took. */
    void (*free)(hf_plan *plan);
} hf_block_ops;

/** Plan `n` messages between two separate buffers. Ranks must exist, blocks lie in their
 *  buffers, and what one rank sends to another be what that one expects, in order and
 *  length. Collective; fails on all ranks or none. */
hf_status hf_plan_new(hf_plan **out, struct hf_exchange *exchange, hf_buffer *recv,
                      const hf_buffer *send, size_t n, const hf_message *messages);
/** Accepts NULL. Not collective. */
void hf_plan_free(hf_plan *plan);

/** For schemes: whether the command behind *event, which began at `since`, has ended. If so, the
 *  event is released and *event is NULL. `wait`: return when it has, or fail after the device's
 *  deadline. Without it a command that is late is waited for so long once more. */
hf_status hf_plan_event(const hf_plan *plan, hf_event **event, double since, bool wait,
                        bool *ended);

/** For schemes: bytes `at` .. `at` + n - 1 of what message `i` sends, or of what came. */
void hf_plan_sent(const hf_plan *plan, size_t i, size_t at, const void *bytes,
                  size_t n);
void hf_plan_came(const hf_plan *plan, size_t i, size_t at, const void *bytes,
                  size_t n);

/** Run a plan after what is in queue 0, and wait until it is done. */
hf_status hf_plan_run(hf_plan *plan);
/** Run one that others follow: its last write may be left in queue 0, where all that comes later
 *  finds the block. The last plan of that scheme is run by hf_plan_run, which waits for all; before
 *  that no buffer is freed, no plan is made, and no rank meets others: they may wait for the slot
 *  of that write. */
hf_status hf_plan_enqueue(hf_plan *plan);

#endif
