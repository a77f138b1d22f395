/* self.c - transport of a single rank, without MPI. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "transport.h"

extern const hf_transport_ops hf_transport_self;

static hf_status self_open(hf_transport **out, int comm, const char *library,
                           double deadline) {
    (void)comm;
    (void)library;
    hf_transport *net = calloc(1, sizeof *net);
    if (!net)
        return hf_fail(HF_ENOMEM, "no memory for a transport");
    net->ops = &hf_transport_self;
    net->size = net->local_size = 1;
    net->deadline = deadline;
    *out = net;
    return HF_OK;
}

static void self_version(char *text, size_t room) {
    if (room)
        *text = '\0';
}

static hf_status self_sendrecv(hf_transport *net, const void *send, int to, void *recv,
                               int from, size_t bytes) {
    assert(to == 0 && from == 0);
    (void)net;
    (void)to;
    (void)from;
    memcpy(recv, send, bytes);
    return HF_OK;
}

static hf_status self_gather(hf_transport *net, void *all, const void *mine,
                             size_t bytes) {
    (void)net;
    memcpy(all, mine, bytes);
    return HF_OK;
}

static hf_status self_check(const hf_transport *net) {
    (void)net;
    return HF_OK;
}

/* Nobody else takes part. */
static hf_status self_alone(hf_transport *net) {
    (void)net;
    return HF_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the table's type */
static hf_status self_any(hf_transport *net, bool *flag) {
    (void)net;
    (void)flag;
    return HF_OK;
}

static void self_nothing(hf_transport *net) {
    (void)net;
}

static void self_close(hf_transport *net) {
    free(net);
}

const hf_transport_ops hf_transport_self = {
    .name = "self",
    .summary = "one rank, no MPI",
    .open = self_open,
    .version = self_version,
    .check = self_check,
    .sendrecv = self_sendrecv,
    .gather = self_gather,
    .any = self_any,
    .barrier = self_alone,
    .renew = self_nothing,
    .alarm = self_nothing,
    .heed = self_alone,
    .close = self_close,
};
