/* carrier.h - how a chunk gets from rank to rank, and what there is of it meanwhile. */
#ifndef HF_CARRIER_H
#define HF_CARRIER_H

#include "device.h"
#include "transport.h"

enum { HF_MAX_TARGETS = 16 /**< ranks that a chunk goes to after one read */ };

typedef struct hf_chunks hf_chunks;
typedef struct hf_carrier hf_carrier;

/** The way of a chunk to one rank. */
typedef struct hf_target {
    const hf_carrier *carrier;
    int rank;
    uint64_t number; /**< of the chunk, among those to that rank */
    hf_transfer transfer;
} hf_target;

typedef enum hf_stage { HF_IDLE, HF_COPIES, HF_GOES } hf_stage;

/** A chunk to send, in a slot. */
typedef struct hf_outgoing {
    hf_stage stage;     /**< it is read; then it goes to its targets */
    size_t message, at; /**< the first that sends it; in their block [B] */
    size_t bytes, n_targets;
    double since; /**< when its stage began [s] */
    hf_event *event;
    hf_target targets[HF_MAX_TARGETS];
} hf_outgoing;

/** A chunk to receive. */
typedef struct hf_incoming {
    hf_stage stage; /**< it goes; then it is written */
    const hf_carrier *carrier;
    int rank;
    uint64_t number;
    size_t message;
    size_t bytes, at;   /**< at: in the receive buffer [B] */
    const char *memory; /**< where it lies, once it is there */
    char *copy;         /**< where the host copies it, where it does */
    double since;
    uint64_t deferred_by; /**< the run that does not wait for its write; 0: none */
    hf_event *event;
    hf_transfer transfer;
} hf_incoming;

/** How chunks get from rank to rank. */
struct hf_carrier {
    /** Let the chunk in `slot` go to a rank. */
    hf_status (*go)(hf_chunks *c, hf_target *to, size_t slot, size_t bytes);
    /** Is the slot no longer needed? */
    hf_status (*gone)(hf_chunks *c, hf_target *to, bool *is);
    /** Get ready for the chunk that comes into `slot`. */
    hf_status (*expect)(hf_chunks *c, hf_incoming *in, size_t slot);
    /** Is it there? Then `in->memory` says where. */
    hf_status (*come)(hf_chunks *c, hf_incoming *in, bool *is);
    /** It has been written to the device. NULL: nobody is told. */
    void (*taken)(hf_chunks *c, const hf_incoming *in);
    bool one_by_one; /**< a chunk does not go to a rank before the last one has gone */
    bool waits;      /**< nobody else looks whether the other rank is still there */
    bool ends;       /**< a plan is not done before its chunks have gone */
    bool in_place;   /**< the receiver's device takes chunks from the sender's slots */
};

/** By memory that both ranks see (window.c), from which the receiver's device takes them, or its
 *  host; by messages of the transport (messages.c). */
extern const hf_carrier hf_carrier_window, hf_carrier_copies, hf_carrier_messages;

#endif
