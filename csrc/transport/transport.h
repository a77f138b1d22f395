/* transport.h - how host bytes cross between ranks.
 *
 * Every call that can block, but `open` and `close`, ends by its deadline; afterwards the
 * transport is broken and each further call fails at once. `share` and `unshare` wait that
 * long for all ranks to come; what MPI does then with those that came has no deadline. All
 * calls but `version` and `alarm` are collective over the ranks that they name.
 */
#ifndef HF_TRANSPORT_H
#define HF_TRANSPORT_H

#include "hf.h"

typedef struct hf_transport_ops hf_transport_ops;

/** What every transport shows; implementations put their own fields behind it. */
typedef struct hf_transport {
    const hf_transport_ops *ops;
    int rank, size;             /**< 0 <= rank < size */
    int local_rank, local_size; /**< the same among the ranks of this node */
    double deadline; /**< longest wait for one rank; twice that for all [s] */
} hf_transport;

/** Memory that all ranks see; they may see it at different addresses. */
typedef struct hf_shared {
    void **parts; /**< one per rank, page aligned, of any content */
    size_t bytes; /**< of each part */
} hf_shared;

struct hf_transport_ops {
    const char *name, *summary;

    /** `comm` is a Fortran handle of a communicator, duplicated here (collective);
     *  `library` names the MPI library of its maker, compared with ours. */
    hf_status (*open)(hf_transport **out, int comm, const char *library);

    /** Version of the library underneath, "" if there is none. */
    void (*version)(char *text, size_t room);

    /** Send `bytes` to rank `to` while receiving as many from rank `from`; own rank
     *  allowed, memory separate, any length. */
    hf_status (*sendrecv)(hf_transport *net, const void *send, int to, void *recv,
                          int from, size_t bytes);

    /** Everybody's `bytes` in rank order: `all` is [size, bytes]. Collective. */
    hf_status (*gather)(hf_transport *net, void *all, const void *mine, size_t bytes);

    /** Return when all ranks have come here. Collective. */
    hf_status (*barrier)(hf_transport *net);

    /** Memory of `bytes` per rank, all of them on one node. Collective, as is `unshare`:
     *  where a rank gives NULL, because it uses its part yet, everybody's stays. */
    hf_status (*share)(hf_transport *net, hf_shared **out, size_t bytes);
    void (*unshare)(hf_transport *net, hf_shared *shared);

    /** Start an epoch: what an earlier, failed one left in flight is never received.
     *  Collective in the sense that every rank must do it equally often. */
    void (*renew)(hf_transport *net);

    /** Wake every rank that waits for us in this epoch; they fail with HF_ECOMM. */
    void (*alarm)(hf_transport *net);

    /** Release everything `open` took. Accepts NULL, never fails. */
    void (*close)(hf_transport *net);
};

/** Every rank gets the worst status of any rank and its message. Collective. */
hf_status hf_agree(hf_transport *net, hf_status status);

#endif
