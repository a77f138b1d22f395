/* chunks_open.c - a scheme of chunks is opened and closed, and takes what a run says of chunks. */
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/pages.h"
#include "one_core.h"
#include "relay.h"

hf_status hf_chunks_take(hf_exchange *base, const hf_args *args, size_t longest) {
    hf_chunks *c = (hf_chunks *)base;
    size_t size = (size_t)hf_args_number_or(args, "chunk_size", 0);
    char most[40] = "";
    if (longest >= HF_PAGE)
        snprintf(most, sizeof most, ", up to %zu", longest / HF_PAGE * HF_PAGE);
    if (longest > 0 && size > longest)
        return hf_fail(HF_EARG,
                       "chunk_size: %zu B is larger than the longest message, %zu B; "
                       "auto%s, or longer messages",
                       size, longest, most);
    c->chunk_size = size;
    c->relay_note = ""; /* of the run that begins */
    hf_chunks_note(c);
    c->chunk_depth = (size_t)hf_args_number_or(args, "chunk_depth", 0);
    return HF_OK;
}

hf_status hf_chunks_open(hf_exchange **out, const hf_exchange_ops *ops,
                         hf_device *device, hf_transport *net, const hf_carrier *near) {
    size_t ranks = (size_t)net->size;
    hf_chunks *c = calloc(1, sizeof *c + 2 * ranks * sizeof(uint64_t));
    if (!c)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    c->base = (hf_exchange){.ops = ops, .device = device, .net = net};
    c->sent = (uint64_t *)(c + 1);
    c->expected = c->sent + ranks;
    c->near = near;
    c->relay_note = "";
    c->crowded = hf_node_crowded(net->local_size);
    c->one_core = hf_device_on_one_core(device);
    for (size_t slot = 0; slot < HF_MAX_CHUNKS; slot++)
        c->ins[slot].transfer.over = true;
    *out = &c->base;
    return HF_OK;
}

void hf_chunks_close(hf_exchange *base) {
    if (base) {
        hf_relay_free((hf_chunks *)base);
        hf_chunks_room_free((hf_chunks *)base);
        hf_team_free(((hf_chunks *)base)->team);
    }
    free(base);
}
