/* plan.c - do both ends of every message agree? */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "exchange.h"

/* Refuse what one rank can see alone; a rank's own fault must not skip the gather. */
static hf_status own_check(const hf_transport *net, size_t n,
                           const hf_message *messages) {
    for (size_t i = 0; i < n; i++) {
        const hf_message *m = &messages[i];
        int bad = m->to < 0 || m->to >= net->size ? m->to : m->from;
        if (bad < 0 || bad >= net->size)
            return hf_fail(HF_EARG,
                           "message %zu of rank %d names rank %d; ranks are 0 "
                           ".. %d",
                           i, net->rank, bad, net->size - 1);
        if (m->bytes == 0)
            return hf_fail(HF_EARG, "message %zu of rank %d is empty", i, net->rank);
    }
    return HF_OK;
}

/* The k-th message from `from` to `to` in a rank's list: its length, 0 if none. */
static size_t nth_bytes(const hf_message *list, size_t n, size_t k, int to, int from) {
    for (size_t i = 0; i < n; i++)
        if ((to >= 0 ? list[i].to == to : list[i].from == from) && k-- == 0)
            return list[i].bytes;
    return 0;
}

static hf_status ends_check(const hf_transport *net, size_t room, const size_t *counts,
                            const hf_message *all) {
    const hf_message *mine = all + (size_t)net->rank * room;
    size_t n_mine = counts[net->rank];
    for (int peer = 0; peer < net->size; peer++) {
        const hf_message *theirs = all + (size_t)peer * room;
        size_t n_theirs = counts[peer];
        for (size_t k = 0;; k++) {
            size_t sent = nth_bytes(theirs, n_theirs, k, net->rank, -1);
            size_t expected = nth_bytes(mine, n_mine, k, -1, peer);
            if (sent != expected)
                return hf_fail(HF_EARG,
                               "rank %d sends %zu B to rank %d as message %zu of the "
                               "pair, which expects %zu B",
                               peer, sent, net->rank, k, expected);
            if (sent == 0)
                break;
        }
    }
    return HF_OK;
}

hf_status hf_plan_check(hf_transport *net, size_t n, const hf_message *messages) {
    size_t size = (size_t)net->size, room = 0;
    size_t *counts = malloc(size * sizeof *counts);
    bool *ready = malloc(size * sizeof *ready);
    hf_message *mine = NULL, *all = NULL;
    hf_status status =
        counts && ready ? HF_OK : hf_fail(HF_ENOMEM, "no memory for a plan");
    if (status == HF_OK)
        status = net->ops->gather(net, counts, &n, sizeof n);
    assert(status != HF_OK || counts);
    for (size_t r = 0; status == HF_OK && r < size; r++)
        room = counts[r] > room ? counts[r] : room;
    if (status == HF_OK && room > 0) {
        mine = calloc(room, sizeof *mine);
        all = calloc(size * room, sizeof *all);
        bool own = mine && all;
        assert(ready);
        if (own)
            memcpy(mine, messages, n * sizeof *mine);
        /* All ranks take part in the next gather, or none. */
        status = net->ops->gather(net, ready, &own, sizeof own);
        for (size_t r = 0; status == HF_OK && r < size; r++)
            if (!ready[r])
                status = hf_fail(HF_ENOMEM, "no memory for a plan");
        if (status == HF_OK)
            status = net->ops->gather(net, all, mine, room * sizeof *mine);
    }
    if (status == HF_OK)
        status = own_check(net, n, messages);
    if (status == HF_OK && room > 0)
        status = ends_check(net, room, counts, all);
    free(all);
    free(mine);
    free(ready);
    free(counts);
    return status;
}
