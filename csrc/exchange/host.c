/* host.c - scheme `host`: host buffers over the CPU's own network, the yardstick. */
#include <stdlib.h>

#include "core/error.h"
#include "exchange.h"

extern const hf_exchange_ops hf_exchange_host;

static hf_status host_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    hf_exchange *exchange = malloc(sizeof *exchange);
    if (!exchange)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    *exchange = (hf_exchange){.ops = &hf_exchange_host, .device = device, .net = net};
    *out = exchange;
    return HF_OK;
}

static hf_status host_reserve(hf_exchange *exchange, size_t bytes) {
    (void)exchange;
    (void)bytes;
    return HF_OK;
}

static hf_status host_move(hf_exchange *exchange, hf_buffer *recv,
                           const hf_buffer *send, size_t n,
                           const hf_message *messages) {
    hf_transport *net = exchange->net;
    for (size_t i = 0; i < n; i++) {
        const hf_message *m = &messages[i];
        HF_TRY(net->ops->sendrecv(net, (const char *)send->host + m->send_at, m->to,
                                  (char *)recv->host + m->recv_at, m->from, m->bytes));
        hf_lap(exchange->laps, HF_LAP_EXCHANGE);
    }
    return HF_OK;
}

static void host_close(hf_exchange *exchange) {
    free(exchange);
}

const hf_exchange_ops hf_exchange_host = {
    .name = "host",
    .summary = "host buffers only, the CPU's own network: the yardstick",
    .device = "host",
    .host_memory = true,
    .open = host_open,
    .reserve = host_reserve,
    .move = host_move,
    .close = host_close,
};
