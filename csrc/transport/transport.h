/* transport.h - how host bytes cross between ranks.
 *
 * Every call that can block ends by its deadline; afterwards the transport is broken and
 * each further call fails at once. All calls but `version`, `check`, `alarm`, `heed`, `look`,
 * `busy` and those of transfers are collective over the ranks that they name. What all ranks do
 * together proves that each of them took part in this very call, and that what it told came
 * as it was sent; a broadcast proves so of the ranks that it came through.
 */
#ifndef HF_TRANSPORT_H
#define HF_TRANSPORT_H

#include <stdint.h>

#include "hf.h"

typedef struct hf_transport_ops hf_transport_ops;

/** What every transport shows; implementations put their own fields behind it. */
typedef struct hf_transport {
    const hf_transport_ops *ops;
    int rank, size;             /**< 0 <= rank < size */
    int local_rank, local_size; /**< the same among the ranks of this node */
    const int *nodes;           /**< [size] the lowest rank on the node of each */
    double deadline;            /**< longest wait for other ranks [s] */
    const char *why; /**< NULL, or this rank's own failure: ranks that ask hear it */
    double since; /**< 0, or when this rank began to wait for others by other means, in
                          vain: the deadline of its next collective call counts from then [s] */
} hf_transport;

/** A message that moves while its owner does something else; the owner's memory, made by
 *  hf_send or hf_recv. Its fields are the transport's, but `over`. */
typedef struct hf_transfer {
    bool over; /**< it has moved, or was abandoned */
    bool sends;
    int peer;
    char *memory;
    size_t bytes;
    double since;
    unsigned tests;
    uint64_t handle;
    struct hf_transfer *next;
} hf_transfer;

typedef enum hf_reduction { HF_SUM, HF_MAX } hf_reduction;

struct hf_transport_ops {
    const char *name, *summary;

    /** `comm` is a Fortran handle of a communicator, duplicated here (collective);
     *  `library` names the MPI library of its maker, compared with ours. */
    hf_status (*open)(hf_transport **out, int comm, const char *library,
                      double deadline);

    /** Version of the library underneath, "" if there is none. */
    void (*version)(char *text, size_t room);

    /** HF_OK if calls can be made: what is underneath is still up. */
    hf_status (*check)(const hf_transport *net);

    /** Send `bytes` to rank `to` while receiving as many from rank `from`; own rank
     *  allowed, memory separate, any length. */
    hf_status (*sendrecv)(hf_transport *net, const void *send, int to, void *recv,
                          int from, size_t bytes);

    /** Start what hf_send or hf_recv has described; what fails is over. */
    hf_status (*start)(hf_transport *net, hf_transfer *transfer);

    /** Progress. It fails as a wait does, by the deadline since the start, and then is over. */
    hf_status (*test)(hf_transport *net, hf_transfer *transfer);

    /** A message that is no longer wanted: its memory is not touched afterwards. */
    void (*abandon)(hf_transport *net, hf_transfer *transfer);

    /** Everybody's `bytes` in rank order: `all` is [size, bytes]. Collective. */
    hf_status (*gather)(hf_transport *net, void *all, const void *mine, size_t bytes);

    /** What `root` has in `data` becomes what all have. Collective. */
    hf_status (*broadcast)(hf_transport *net, void *data, size_t bytes, int root);

    /** Each of `n` values becomes the sum or the largest of all ranks', NaN if one is; the
     *  same on all. Collective. */
    hf_status (*reduce)(hf_transport *net, double *values, size_t n, hf_reduction how);

    /** *flag becomes true on all ranks if it is on any. Collective. */
    hf_status (*any)(hf_transport *net, bool *flag);

    /** Return when all ranks have come here, all at the same moment. Collective. */
    hf_status (*barrier)(hf_transport *net);

    /** A transport over the ranks that give the same `color`, in their order; of this epoch,
     *  and closed before `net`. It fails where `net` does. Collective. */
    hf_status (*group)(hf_transport **out, hf_transport *net, int color);

    /** Start an epoch: what an earlier, failed one left in flight is never received. Fails on the
     *  ranks alone that cannot give up such a message. Every rank must do it equally often. */
    hf_status (*renew)(hf_transport *net);

    /** Wake every rank that waits for us in this epoch; they fail with HF_ECOMM. */
    void (*alarm)(hf_transport *net);
    /** HF_ECOMM once a rank has raised the alarm in this epoch or none can go on. Who waits
     *  for other ranks by other means calls it many times in a second. */
    hf_status (*heed)(hf_transport *net);
    /** As `heed`, for a wait for rank `from` since `since`: it ends by the deadline, too. */
    hf_status (*look)(hf_transport *net, int from, double since);
    /** As `heed`, while this rank waits for its device; ranks that ask hear `what`. */
    hf_status (*busy)(hf_transport *net, const char *what);

    /** Release what `open` took if all ranks come. Accepts NULL, never fails. */
    void (*close)(hf_transport *net);
};

/** Start to send to rank `to`, or to receive from rank `from`, memory that stays until the
 *  transfer is over. A message meets the one that its receiver expects as the first from
 *  that rank, in equal length. Own rank allowed. */
hf_status hf_send(hf_transport *net, hf_transfer *out, const void *memory, size_t bytes,
                  int to);
hf_status hf_recv(hf_transport *net, hf_transfer *out, void *memory, size_t bytes,
                  int from);

#endif
