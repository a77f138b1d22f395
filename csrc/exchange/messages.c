/* messages.c - chunks go by messages of the transport, from slot to slot. */
#include "chunks.h"

#include "core/error.h"

static hf_status message_go(hf_chunks *c, hf_target *to, size_t slot, size_t bytes) {
    return hf_send(c->base.net, &to->transfer, c->out + slot * c->slot_room, bytes,
                   to->rank);
}

static hf_status message_gone(hf_chunks *c, hf_target *to, bool *is) {
    HF_TRY(c->base.net->ops->test(c->base.net, &to->transfer));
    *is = to->transfer.over;
    return HF_OK;
}

static hf_status message_expect(hf_chunks *c, hf_incoming *in, size_t slot) {
    in->memory = c->in + slot * c->slot_room;
    return hf_recv(c->base.net, &in->transfer, c->in + slot * c->slot_room, in->bytes,
                   in->rank);
}

static hf_status message_come(hf_chunks *c, hf_incoming *in, bool *is) {
    HF_TRY(c->base.net->ops->test(c->base.net, &in->transfer));
    *is = in->transfer.over;
    return HF_OK;
}

const hf_carrier hf_carrier_messages = {
    .go = message_go,
    .gone = message_gone,
    .expect = message_expect,
    .come = message_come,
    .one_by_one = true,
    .ends = true,
};
