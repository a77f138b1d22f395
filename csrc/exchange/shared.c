/* shared.c - scheme `shared`: device -> memory that the ranks of a node share -> device.
 *
 * Ranks of other nodes get messages from the same memory.
 */
#include "chunks.h"

extern const hf_exchange_ops hf_exchange_shared;

static hf_status shared_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    return hf_chunks_open(out, &hf_exchange_shared, device, net, &hf_carrier_window);
}

const hf_exchange_ops hf_exchange_shared = {
    .name = "shared",
    .summary = "read into memory that the ranks of a node share, write from there",
    .device = "opencl",
    .relays = true,
    .blocks = &hf_chunks_blocks,
    .open = shared_open,
    .close = hf_chunks_close,
};
