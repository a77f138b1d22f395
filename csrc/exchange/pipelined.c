/* pipelined.c - scheme `pipelined`: device -> host, host -> host, host -> device, in chunks that
 * go on side by side. Hosts of one node copy; others send messages.
 */
#include "chunks.h"

extern const hf_exchange_ops hf_exchange_pipelined;

static hf_status pipelined_open(hf_exchange **out, hf_device *device,
                                hf_transport *net) {
    return hf_chunks_open(out, &hf_exchange_pipelined, device, net, &hf_carrier_copies);
}

const hf_exchange_ops hf_exchange_pipelined = {
    .name = "pipelined",
    .summary = "read, copy or message, and write of different chunks at the same time",
    .device = "opencl",
    .blocks = &hf_chunks_blocks,
    .open = pipelined_open,
    .close = hf_chunks_close,
};
