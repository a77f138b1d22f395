/* exchange.h - how blocks cross between the devices of different ranks.
 *
 * A scheme is one table of functions in one file. Two kinds exist:
 *   host-routed    the host moves the blocks; kernels see global memory only
 *   kernel-routed  kernels send and receive packets; the host only launches them
 */
#ifndef HF_EXCHANGE_H
#define HF_EXCHANGE_H

#include "core/laps.h"
#include "device.h"
#include "links.h"
#include "transport.h"

typedef struct hf_exchange_ops hf_exchange_ops;

/** One block out and one block in; a plain value. Ranks are 0 .. size-1. */
typedef struct hf_message {
    int to;         /**< rank that gets our block */
    int from;       /**< rank whose block we get */
    size_t send_at; /**< offset of our block in the send buffer [B] */
    size_t recv_at; /**< offset of theirs in the receive buffer [B] */
    size_t bytes;   /**< length, equal on both sides [B] */
} hf_message;

/** Channels of a kernel file and how its ports are wired; the same on every rank. */
typedef struct hf_wiring {
    const hf_link *links; /**< of all ranks, checked */
    size_t n_links;
    int ports;    /**< of each rank */
    int inner;    /**< channels between kernels of one device */
    size_t width; /**< of a packet [B] */
    size_t depth; /**< packets that a link holds */
} hf_wiring;

/** One end of a port or of an inner channel, as a kernel's argument; a plain value. */
typedef struct hf_end {
    int index;
    bool inner, sends;
} hf_end;

/** A kernel that runs beside others; `launch` holds the arguments before the ends. */
typedef struct hf_stream {
    const char *name;
    hf_launch launch;
    const hf_end *ends;
    size_t n_ends;
} hf_stream;

/** Packets through the ports of a rank since the last `prepare`; NaN where nobody counts. */
typedef struct hf_traffic {
    double packets;    /**< received */
    double stalls;     /**< waits for room or for a packet */
    double high_water; /**< most packets seen in one link */
} hf_traffic;

/** Parts of `move`: between host and device, and between hosts. */
enum { HF_LAP_TRANSFER, HF_LAP_EXCHANGE };

/** What every scheme shows; implementations put their own fields behind it. */
typedef struct hf_exchange {
    const hf_exchange_ops *ops;
    hf_device *device;
    hf_transport *net;
    hf_laps *laps; /**< NULL, or where `move` counts HF_LAP_TRANSFER, HF_LAP_EXCHANGE */
    const hf_run *run; /**< NULL, or whom `stream` asks by `tick` whether to go on */
    char prelude[128]; /**< goes in front of kernels that are built here */
} hf_exchange;

struct hf_exchange_ops {
    const char *name, *summary;
    const char *device; /**< the runtime it uses unless told otherwise */
    bool host_memory;   /**< moves host memory only: needs the runtime `device` */
    bool kernel_routed; /**< selects the *_stream kernels over the *_memory ones */

    /** Bind the scheme to a device and a transport, both borrowed until `close`. */
    hf_status (*open)(hf_exchange **out, hf_device *device, hf_transport *net);

    /* Host-routed schemes have these two. */

    /** Get ready for messages of up to `bytes`; called before the first `move`. */
    hf_status (*reserve)(hf_exchange *exchange, size_t bytes);

    /** Move `n` messages and return when `recv` holds them all. Collective.
     *  Drains the device queue, then copies. */
    hf_status (*move)(hf_exchange *exchange, hf_buffer *recv, const hf_buffer *send,
                      size_t n, const hf_message *messages);

    /* Kernel-routed schemes have these four. */

    /** Make the channels, in place of those before. Collective. */
    hf_status (*connect)(hf_exchange *exchange, const hf_wiring *wiring);

    /** Empty the channels and take `n` kernels, borrowed until `stream` returns. All ranks
     *  come here between two calls of `stream`. */
    hf_status (*prepare)(hf_exchange *exchange, size_t n, const hf_stream *streams);

    /** Run the kernels side by side until all have ended or the transport's deadline has
     *  passed: then they are stopped, and the message says who waited for what. Where they
     *  can be at any time, a `tick` stops them on all ranks, too. */
    hf_status (*stream)(hf_exchange *exchange);

    /** What went through this rank's ports since `prepare`. */
    void (*traffic)(const hf_exchange *exchange, hf_traffic *out);

    /** Release everything `open` took. Accepts NULL, never fails. */
    void (*close)(hf_exchange *exchange);
};

/** Check a plan of `n` messages on every rank: ranks exist, and what one rank sends to
 *  another is what that one expects, in order and length. Collective. */
hf_status hf_plan_check(hf_transport *net, size_t n, const hf_message *messages);

#endif
