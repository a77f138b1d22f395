/* medium.h - what the channels between devices are made of.
 *
 * The scheme `channel` starts kernels, waits for them and stops them. A medium makes the
 * channels that they use, one table of functions in one file:
 *   rings  memory that the ranks of a node share, for CPUs
 *   pipes  named pipes, for Intel's FPGA emulator
 *   wires  cables between boards
 * The device says by `info.ports` which one it needs.
 */
#ifndef HF_MEDIUM_H
#define HF_MEDIUM_H

#include "exchange.h"
#include "report.h"

typedef struct hf_medium_ops hf_medium_ops;

/** What every medium shows; implementations put their own fields behind it. */
typedef struct hf_medium {
    const hf_medium_ops *ops;
    hf_device *device;
    hf_transport *net;
    hf_wiring wiring;         /**< of the last `connect`, without its links */
    const hf_stream *streams; /**< [n] the kernels that run */
    size_t n;
    bool stuck; /**< kernels run on and cannot be stopped: what they use stays */
    char prelude[HF_PRELUDE_ROOM]; /**< goes in front of kernels that are built here */
} hf_medium;

struct hf_medium_ops {
    hf_ports ports; /**< of the devices that it serves */
    bool stops;     /**< `stop` makes kernels leave at any time, on all ranks */

    /** Bind the medium to a device and a transport, both borrowed until `close`. */
    hf_status (*open)(hf_medium **out, hf_device *device, hf_transport *net);
    /** Make the channels, in place of those before. `wiring` is that of the medium, with
     *  its links. Collective. */
    hf_status (*connect)(hf_medium *medium, const hf_wiring *wiring);
    /** Empty the channels; all kernels have ended. */
    hf_status (*clear)(hf_medium *medium);
    /** Get ready for the next `n` kernels, all before have ended; NULL: it always is. */
    hf_status (*ready)(hf_medium *medium);
    /** Append the arguments that kernel `i` takes for its channels; NULL: it takes none. */
    void (*attach)(hf_medium *medium, size_t i, hf_arg *args, size_t *n_args);

    /** Have waiting kernels leave, or go on to their end. Returns the pause until the
     *  next call is due [s]: some media need many. */
    double (*stop)(hf_medium *medium, const char *why);
    /** HF_ECOMM or HF_EARG if the kernels, which have ended, were told to leave; NULL:
     *  they never are. */
    hf_status (*check)(const hf_medium *medium);
    /** Note which kernels of this rank have ended, [n], for reports of other ranks. Called
     *  every HF_HEARING while kernels run. NULL: reports need no such note. */
    void (*look)(hf_medium *medium, const bool *ended);
    /** Add why kernels have not ended, and which wait where; `ended` as in `look`. Fails where
     *  another rank has stopped the kernels meanwhile. */
    hf_status (*report)(hf_medium *medium, hf_report *report, const bool *ended);
    /** What went through this rank's ports since `clear`; NULL: nobody counts. */
    void (*traffic)(const hf_medium *medium, hf_traffic *out);

    /** Release everything `open` and `connect` took, but for what stuck kernels use. */
    void (*close)(hf_medium *medium);
};

extern const hf_medium_ops hf_medium_rings, hf_medium_pipes, hf_medium_wires;

/** HF_ENOTSUP unless all ranks run on one node. */
hf_status hf_medium_one_node(const hf_transport *net);

#endif
