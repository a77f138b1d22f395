/* fault.c - scheme `fault`: `pcie` with one planted fault, to prove that faults are seen.
 *
 * HPCCFPGA_FAULT="KIND RANK CALL" names the fault, the rank that has it and the move (or
 * kernel launch, for `launch`) at which it happens, counted from 0 since the session opened; where
 * that move has no block for it, the next one that has. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "exchange.h"

extern const hf_exchange_ops hf_exchange_fault;
extern const hf_exchange_ops hf_exchange_pcie;

/* The fault of this process; a scheme is that of `pcie` with another table. */
static struct {
    char kind[16];
    int rank;
    long call, moves;
} fault;
static hf_block_ops blocks;

/* The device's table with one function replaced. */
static hf_device_ops device_ops;
static hf_status (*device_launch)(hf_device *, const hf_launch *, const hf_order *,
                                  hf_event **);
static long launches_left;

static hf_status launch(hf_device *device, const hf_launch *what, const hf_order *order,
                        hf_event **done) {
    return launches_left-- == 0 ? hf_fail(HF_EDEVICE, "planted: a launch failed")
                                : device_launch(device, what, order, done);
}

static void launch_plant(hf_device *device, long call) {
    if (device->ops != &device_ops) {
        device_ops = *device->ops;
        device_launch = device_ops.launch;
        device_ops.launch = launch;
        device->ops = &device_ops;
    }
    launches_left = call;
}

static bool planted(const hf_transport *net, const char *kind) {
    return strcmp(fault.kind, kind) == 0 && fault.rank == net->rank;
}

static hf_status fault_plan(hf_plan *plan) {
    if (planted(plan->exchange->net, "setup"))
        return hf_fail(HF_ENOMEM, "planted: set-up failed");
    return hf_exchange_pcie.blocks->plan(plan);
}

static void nap(double seconds) {
    struct timespec span = {(time_t)seconds, 0};
    nanosleep(&span, NULL);
}

/* Damage `bytes` bytes that were just received, where `old` was before. */
static void damage(const char *kind, unsigned char *data, const unsigned char *old,
                   size_t bytes) {
    size_t at = bytes / 2 | 7;
    if (strcmp(kind, "flip") == 0)
        data[at < bytes ? at : 0] ^= 0x40; /* the first byte of a number */
    else if (strcmp(kind, "stale") == 0)
        memcpy(data, old, bytes);
    else if (strcmp(kind, "shift") == 0)
        memmove(data, data + 1, bytes - 1);
    else if (strcmp(kind, "swap") == 0)
        for (size_t i = 0; i < bytes / 2; i++) {
            unsigned char byte = data[i];
            data[i] = data[bytes / 2 + i];
            data[bytes / 2 + i] = byte;
        }
}

/* The first block that this move sends, or brings; NULL: it has none. */
static hf_message *block_find(const hf_plan *plan, bool sends) {
    for (size_t i = 0; i < plan->n; i++) {
        hf_message *m = &plan->messages[i];
        if (sends ? m->send_bytes > 0 : m->recv_bytes > 0)
            return m;
    }
    return NULL;
}

/* Move, and damage a block that comes. */
static hf_status move_damaged(hf_plan *plan, const hf_message *m, bool wait,
                              bool *done) {
    hf_device *device = plan->exchange->device;
    size_t bytes = m->recv_bytes;
    unsigned char *old = malloc(2 * bytes);
    if (!old)
        return hf_fail(HF_ENOMEM, "no memory for a fault");
    unsigned char *data = old + bytes;
    hf_status status =
        device->ops->read(device, plan->recv, m->recv_at, old, bytes, NULL, NULL);
    if (status == HF_OK)
        status = hf_exchange_pcie.blocks->progress(plan, wait, done);
    if (status == HF_OK)
        status =
            device->ops->read(device, plan->recv, m->recv_at, data, bytes, NULL, NULL);
    if (status == HF_OK) {
        damage(fault.kind, data, old, bytes);
        status =
            device->ops->write(device, plan->recv, m->recv_at, data, bytes, NULL, NULL);
    }
    free(old);
    return status;
}

static hf_status fault_progress(hf_plan *plan, bool wait, bool *done) {
    bool now = fault.moves++ >= fault.call && fault.rank == plan->exchange->net->rank;
    bool loses = strcmp(fault.kind, "lose") == 0;
    hf_message *m = now ? block_find(plan, loses) : NULL;
    if (now && strcmp(fault.kind, "fail") == 0)
        return hf_fail(HF_EDEVICE, "planted: a move failed");
    if (now && strcmp(fault.kind, "kill") == 0)
        raise(SIGKILL);
    if (now && strcmp(fault.kind, "hang") == 0)
        nap(600);
    if (!m)
        return hf_exchange_pcie.blocks->progress(plan, wait, done);
    fault.rank = -1; /* no second time */
    if (!loses)
        return move_damaged(plan, m, wait, done);
    m->send_bytes = 0;
    return hf_exchange_pcie.blocks->progress(plan, wait, done);
}

static hf_status fault_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    const char *text = getenv("HPCCFPGA_FAULT");
    memset(&fault, 0, sizeof fault);
    fault.rank = -1;
    if (text && sscanf(text, "%15s %d %ld", fault.kind, &fault.rank, &fault.call) != 3)
        return hf_fail(HF_EARG, "HPCCFPGA_FAULT: \"%s\" is not KIND RANK CALL", text);
    static const char kinds[] =
        " none setup launch fail kill hang lose flip shift swap stale ";
    char word[20];
    snprintf(word, sizeof word, " %s ", fault.kind);
    if (text && !strstr(kinds, word))
        return hf_fail(HF_EARG, "HPCCFPGA_FAULT: \"%s\" is not one of%s", text, kinds);
    HF_TRY(hf_exchange_pcie.open(out, device, net));
    blocks = *hf_exchange_pcie.blocks;
    blocks.plan = fault_plan;
    blocks.progress = fault_progress;
    (*out)->ops = &hf_exchange_fault;
    if (planted(net, "launch"))
        launch_plant(device, fault.call);
    return HF_OK;
}

static void fault_close(hf_exchange *exchange) {
    hf_exchange_pcie.close(exchange);
}

const hf_exchange_ops hf_exchange_fault = {
    .name = "fault",
    .summary = "pcie with a planted fault, for tests",
    .device = "opencl",
    .blocks = &blocks,
    .open = fault_open,
    .close = fault_close,
};
