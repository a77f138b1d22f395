/* transport.h - how host bytes cross between ranks.
 *
 * Every call that can block ends by its deadline; afterwards the transport is broken and
 * each further call fails at once. All calls but `version`, `check`, `alarm` and `heed`
 * are collective over the ranks that they name. What all ranks do together, `gather`, `any`,
 * `barrier` and `close`, proves that each of them took part in this very call, and that what
 * it told came as it was sent.
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
    double deadline;            /**< longest wait for other ranks [s] */
    double since; /**< 0, or when this rank began to wait for others by other means, in
                          vain: its next meeting with all counts from then [s] */
} hf_transport;

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

    /** Everybody's `bytes` in rank order: `all` is [size, bytes]. Collective. */
    hf_status (*gather)(hf_transport *net, void *all, const void *mine, size_t bytes);

    /** *flag becomes true on all ranks if it is on any. Collective. */
    hf_status (*any)(hf_transport *net, bool *flag);

    /** Return when all ranks have come here, all at the same moment. Collective. */
    hf_status (*barrier)(hf_transport *net);

    /** Start an epoch: what an earlier, failed one left in flight is never received.
     *  Collective in the sense that every rank must do it equally often. */
    void (*renew)(hf_transport *net);

    /** Wake every rank that waits for us in this epoch; they fail with HF_ECOMM. */
    void (*alarm)(hf_transport *net);

    /** HF_ECOMM once a rank has raised the alarm in this epoch or none can go on. Who waits
     *  for other ranks by other means calls it many times in a second. */
    hf_status (*heed)(hf_transport *net);

    /** Release what `open` took; where a rank does not come, it stays. Accepts NULL, never
     *  fails. */
    void (*close)(hf_transport *net);
};

/** Every rank gets the worst status of any rank and its message. Collective. */
hf_status hf_agree(hf_transport *net, hf_status status);

/** HF_EARG on every rank, with both values, where a rank's `text`, of what is called
 *  `what`, is not that of rank 0. Collective. */
hf_status hf_same(hf_transport *net, const char *what, const char *text);

/** Memory that all ranks of a node see; they may see it at different addresses. */
typedef struct hf_shared {
    void **parts; /**< one per rank, page aligned, of any content */
    size_t bytes; /**< of each part */
} hf_shared;

/** Memory of `bytes` per rank, all of them on one node. Collective. */
hf_status hf_shared_new(hf_shared **out, hf_transport *net, size_t bytes);

/** Leave it; the other ranks keep it until they leave, too. Accepts NULL. Not
 *  collective. */
void hf_shared_free(hf_shared *shared);

enum { HF_NODE_ROOM = 128 }; /* characters of a node's name, with its end */

/** A name that the ranks of this node share with no others; zeros follow it. */
void hf_node_name(char name[HF_NODE_ROOM]);

#endif
