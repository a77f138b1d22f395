/* stream.h - schemes whose kernels send and receive packets; the host only launches them. */
#ifndef HF_STREAM_H
#define HF_STREAM_H

#include "device.h"

struct hf_exchange;

/** The entries for channels in a benchmark's table of parameters: what their errors name. The
 *  width is a knob of its kernels. */
/* clang-format off */
#define HF_TOPOLOGY_PARAM                                                              \
    {"topology", "wiring of the external channels: published, ring, pairs, "           \
     "torus:PxQ, or a list of cables RANK:PORT-RANK:PORT; kernel-routed schemes only", \
     "published", NULL, NULL, 0, 0, HF_TEXT}
#define HF_DEPTH_PARAM                                                                 \
    {"channel_depth", "packets that an emulated external channel holds", "16384",      \
     NULL, NULL, 1, 1 << 30, HF_INT}
/* clang-format on */

/** Packets that an inner channel holds, where its kernels need no more. */
enum { HF_INNER_DEPTH = 16 };

/** Channels of a kernel file and how its ports are wired; the same on every rank. */
typedef struct hf_wiring {
    const hf_link *links; /**< [ranks, ports] of who sends, checked; NULL: no ports */
    int ports;            /**< of each rank */
    int inner;            /**< channels between kernels of one device */
    size_t width;         /**< of a packet [B] */
    size_t depth;         /**< packets that a link holds */
    size_t inner_depth;   /**< and an inner channel, as its kernels declare */
} hf_wiring;

/** One end of a port or of an inner channel, as a kernel's argument; a plain value. */
typedef struct hf_end {
    int index;
    bool inner, sends;
} hf_end;

enum { HF_MAX_ENDS = 8 }; /**< of a kernel */

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

typedef struct hf_stream_ops {
    /** Make the channels, empty, in place of those before. Collective; all ranks have come
     *  here before one calls `stream`. */
    hf_status (*connect)(struct hf_exchange *exchange, const hf_wiring *wiring);

    /** Empty the channels. All ranks come here before one calls `stream` again. */
    hf_status (*prepare)(struct hf_exchange *exchange);

    /** Run `n` kernels side by side until all have ended or the transport's deadline has
     *  passed: then they are stopped, and the message says who waited for what. On media that
     *  can be stopped, a failing `tick` also stops the kernels on all ranks. Channels keep what
     *  is in them for the next call; ranks need not meet between two calls. */
    hf_status (*stream)(struct hf_exchange *exchange, size_t n,
                        const hf_stream *streams);

    /** What went through this rank's ports since `prepare`. */
    void (*traffic)(const struct hf_exchange *exchange, hf_traffic *out);
} hf_stream_ops;

#endif
