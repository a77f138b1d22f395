/* pcie.c - scheme `pcie`: device -> host, host -> host, host -> device, one by one. */
#include <stdlib.h>

#include "core/error.h"
#include "core/pages.h"
#include "exchange.h"

extern const hf_exchange_ops hf_exchange_pcie;

typedef struct pcie {
    hf_exchange base;
    void *out, *in; /* staging memory */
    size_t bytes;   /* of each */
} pcie;

static hf_status pcie_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    pcie *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    exchange->base =
        (hf_exchange){.ops = &hf_exchange_pcie, .device = device, .net = net};
    *out = &exchange->base;
    return HF_OK;
}

static void staging_free(pcie *exchange) {
    free(exchange->out);
    free(exchange->in);
    exchange->out = exchange->in = NULL;
    exchange->bytes = 0;
}

static hf_status pcie_reserve(hf_exchange *base, size_t bytes) {
    pcie *exchange = (pcie *)base;
    if (bytes <= exchange->bytes)
        return HF_OK;
    staging_free(exchange);
    exchange->out = hf_pages_new(bytes);
    exchange->in = hf_pages_new(bytes);
    if (!exchange->out || !exchange->in) {
        staging_free(exchange);
        return hf_fail(HF_ENOMEM, "no host memory for two messages of %zu B", bytes);
    }
    exchange->bytes = bytes;
    return HF_OK;
}

static hf_status pcie_move(hf_exchange *base, hf_buffer *recv, const hf_buffer *send,
                           size_t n, const hf_message *messages) {
    pcie *exchange = (pcie *)base;
    hf_device *device = base->device;
    hf_transport *net = base->net;
    for (size_t i = 0; i < n; i++) {
        const hf_message *m = &messages[i];
        HF_TRY(device->ops->read(device, send, m->send_at, exchange->out, m->bytes,
                                 NULL, NULL));
        hf_lap(base->laps, HF_LAP_TRANSFER);
        HF_TRY(net->ops->sendrecv(net, exchange->out, m->to, exchange->in, m->from,
                                  m->bytes));
        hf_lap(base->laps, HF_LAP_EXCHANGE);
        HF_TRY(device->ops->write(device, recv, m->recv_at, exchange->in, m->bytes,
                                  NULL, NULL));
        hf_lap(base->laps, HF_LAP_TRANSFER);
    }
    return HF_OK;
}

static void pcie_close(hf_exchange *base) {
    pcie *exchange = (pcie *)base;
    if (exchange)
        staging_free(exchange);
    free(exchange);
}

const hf_exchange_ops hf_exchange_pcie = {
    .name = "pcie",
    .summary = "read from the device, MPI, write to the device, one after the other",
    .device = "opencl",
    .open = pcie_open,
    .reserve = pcie_reserve,
    .move = pcie_move,
    .close = pcie_close,
};
