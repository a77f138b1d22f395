/* self.c - transport of a single rank, without MPI. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "transport.h"

extern const hf_transport_ops hf_transport_self;

typedef struct self {
    hf_transport base;
    hf_transfer *first; /* of those that wait for their other end, all of one kind */
} self;

static hf_status self_open(hf_transport **out, int comm, const char *library,
                           double deadline) {
    (void)comm;
    (void)library;
    static const int nodes[1];
    self *net = calloc(1, sizeof *net);
    if (!net)
        return hf_fail(HF_ENOMEM, "no memory for a transport");
    net->base = (hf_transport){.ops = &hf_transport_self,
                               .size = 1,
                               .local_size = 1,
                               .nodes = nodes,
                               .deadline = deadline};
    *out = &net->base;
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

static hf_status self_start(hf_transport *base, hf_transfer *t) {
    self *net = (self *)base;
    hf_transfer *other = net->first, **end = &net->first;
    t->since = hf_clock_now();
    if (other && other->sends != t->sends) {
        const hf_transfer *from = t->sends ? t : other, *to = t->sends ? other : t;
        assert(from->bytes == to->bytes);
        memcpy(to->memory, from->memory, from->bytes);
        net->first = other->next;
        other->over = t->over = true;
        return HF_OK;
    }
    while (*end)
        end = &(*end)->next;
    *end = t;
    return HF_OK;
}

static void self_abandon(hf_transport *base, hf_transfer *t) {
    hf_transfer **at = &((self *)base)->first;
    while (*at && *at != t)
        at = &(*at)->next;
    if (*at)
        *at = t->next;
    t->over = true;
}

static hf_status self_look(hf_transport *base, int from, double since) {
    (void)from;
    if (hf_clock_now() - since < base->deadline)
        return HF_OK;
    return hf_fail(HF_ECOMM, "rank 0 waits for itself; the deadline of %g s has passed",
                   base->deadline);
}

static hf_status self_test(hf_transport *base, hf_transfer *t) {
    hf_status status = t->over ? HF_OK : self_look(base, 0, t->since);
    if (status != HF_OK)
        self_abandon(base, t);
    return status;
}

static hf_status self_broadcast(hf_transport *net, void *data, size_t bytes, int root) {
    (void)net, (void)data, (void)bytes, (void)root;
    return HF_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the table's */
static hf_status self_reduce(hf_transport *net, double *values, size_t n,
                             hf_reduction how) {
    (void)net, (void)values, (void)n, (void)how;
    return HF_OK;
}

static hf_status self_group(hf_transport **out, hf_transport *net, int color) {
    (void)color;
    return self_open(out, 0, "", net->deadline);
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

static hf_status self_busy(hf_transport *net, const char *what) {
    (void)net, (void)what;
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
    .start = self_start,
    .test = self_test,
    .abandon = self_abandon,
    .gather = self_gather,
    .broadcast = self_broadcast,
    .reduce = self_reduce,
    .any = self_any,
    .barrier = self_alone,
    .group = self_group,
    .renew = self_alone,
    .alarm = self_nothing,
    .heed = self_alone,
    .look = self_look,
    .busy = self_busy,
    .close = self_close,
};
