/* node.h - what the ranks of one node have in common. */
#ifndef HF_NODE_H
#define HF_NODE_H

#include "transport.h"

/** Memory that all ranks of a node see; they may see it at different addresses. */
typedef struct hf_shared {
    void **parts;     /**< one per rank, page aligned; NULL: it is on another node */
    size_t bytes;     /**< of each part */
    void *memory;     /**< that the parts of this node lie in, one after the other */
    size_t all_bytes; /**< of it, new: zeros [B] */
} hf_shared;

/** Memory of `bytes` per rank, on each node for its own ranks. Collective; fails on all
 *  ranks or none. */
hf_status hf_shared_new(hf_shared **out, hf_transport *net, size_t bytes);

/** What the file of such memory is called until it has lost its name: this and a number. */
#define HF_SHARED_FILE "hpccfpga_window."

/** Leave it; the other ranks keep it until they leave, too. Accepts NULL. Not
 *  collective. */
void hf_shared_free(hf_shared *shared);
/** The same, but the memory stays for good: a device may still use it. */
void hf_shared_keep(hf_shared *shared);

/** Are so many ranks of this node more than its cores? */
bool hf_node_crowded(int ranks);

enum { HF_NODE_ROOM = 128 }; /* characters of a node's name, with its end */

/** A name that the ranks of this node share with no others; zeros follow it. */
void hf_node_name(char name[HF_NODE_ROOM]);

#endif
