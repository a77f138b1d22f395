/* exchange.h - how blocks cross between the devices of different ranks.
 *
 * A scheme is one table of functions in one file, and fills one of two more:
 *   host-routed    the host moves the blocks (plan.h); kernels see global memory only
 *   kernel-routed  kernels send and receive packets (stream.h); the host only launches them
 */
#ifndef HF_EXCHANGE_H
#define HF_EXCHANGE_H

#include "core/laps.h"
#include "device.h"
#include "plan.h"
#include "stream.h"
#include "transport.h"

#define HF_PRELUDE_ROOM 320 /* it may hold the name of a folder */

typedef struct hf_exchange_ops hf_exchange_ops;

/** What every scheme shows; implementations put their own fields behind it. */
typedef struct hf_exchange {
    const hf_exchange_ops *ops;
    hf_device *device;
    hf_transport *net;
    hf_laps *laps; /**< see hf_exchange_lap */
    struct hf_exchange *
        *choices; /**< [n_choices] that plans are of in place of this one */
    size_t n_choices;
    bool used;         /**< a plan of this scheme has run since hf_exchange_used */
    const hf_run *run; /**< NULL, or whom `stream` asks by `tick` whether to go on */
    char prelude[HF_PRELUDE_ROOM]; /**< goes in front of kernels that are built here */
    char note[420];                /**< a remark for results, or "" */
} hf_exchange;

struct hf_exchange_ops {
    const char *name, *summary;
    const char *device; /**< the runtime it uses unless told otherwise */
    bool host_memory;   /**< moves host memory only: needs the runtime `device` */
    bool relays;        /**< its plans may go by the device's `relay` */

    const hf_block_ops *blocks;   /**< of a host-routed scheme, else NULL */
    const hf_stream_ops *streams; /**< of a kernel-routed one, else NULL */

    /** Bind the scheme to a device and a transport, both borrowed until `close`. */
    hf_status (*open)(hf_exchange **out, hf_device *device, hf_transport *net);
    /** Release everything `open` took. Accepts NULL, never fails. */
    void (*close)(hf_exchange *exchange);
};

/** From now on plans count HF_LAP_TRANSFER and HF_LAP_EXCHANGE there, or nowhere: NULL. */
void hf_exchange_lap(hf_exchange *exchange, hf_laps *laps);

/** Which of its choices have run a plan since this was asked last? A bit for each. */
unsigned hf_exchange_used(hf_exchange *exchange);

/** Open the exchange that makes each plan by the scheme that is expected to be the fastest. Its
 *  schemes are added, in order, before the first plan. */
hf_status hf_choice_open(hf_exchange **out, hf_device *device, hf_transport *net,
                         const hf_expected *expected);

/** Add an open scheme, which is closed with the others, or at once after an error. */
hf_status hf_choice_add(hf_exchange *base, hf_exchange *scheme);

/** Kind of the kernel files that go with a scheme: their names end with it. */
static inline const char *hf_exchange_kernels(const hf_exchange_ops *scheme) {
    return scheme->streams ? "stream" : "memory";
}

#endif
