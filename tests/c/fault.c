/* fault.c - scheme `fault`: another one with one planted fault, to prove that faults are seen.
 *
 * HPCCFPGA_FAULT="KIND RANK CALL" names the fault, the rank that has it and the move (or
 * kernel launch, for `launch`; or write to the device, for those that end in `write`) at which it
 * happens, counted from 0 since the session opened; where that move has no block for it, the next
 * one that has. `nopin` pins no memory of others, at any time. HPCCFPGA_FAULT_OVER names the
 * other scheme, `pcie` unless told. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "core/registry.h"
#include "exchange.h"

extern const hf_exchange_ops hf_exchange_fault;

/* The fault of this process; a scheme is the other one with another table. */
static struct {
    char kind[16];
    int rank;
    long call, moves;
} fault;
static const hf_exchange_ops *other;
static hf_block_ops blocks;

/* The device's table with functions replaced. */
static hf_device_ops device_ops;
static const hf_device_ops *device_own;
static long launches_left, writes_left;

static hf_status launch(hf_device *device, const hf_launch *what, const hf_order *order,
                        hf_event **done) {
    return launches_left-- == 0 ? hf_fail(HF_EDEVICE, "planted: a launch failed")
                                : device_own->launch(device, what, order, done);
}

static void nap(double seconds) {
    struct timespec span = {(time_t)seconds, 0};
    nanosleep(&span, NULL);
}

/* As a limit on locked memory does. */
static hf_status planted_pin(hf_buffer **out, hf_device *device, void *memory,
                             size_t bytes) {
    return memory ? hf_fail(HF_ENOMEM, "planted: %zu B may not be locked", bytes)
                  : device_own->pin(out, device, memory, bytes);
}

/* Between the arrival of a block and its copy: what arrived is damaged where it lies, or what the
 * block before was is taken again. That one's memory may be the same, with the new block in it. */
static hf_status planted_write(hf_device *device, hf_buffer *to, size_t at,
                               const void *from, size_t bytes, const hf_order *order,
                               hf_event **done) {
    static void *before;
    if (writes_left > 0 && strcmp(fault.kind, "stalewrite") == 0) {
        void *room = realloc(before, bytes);
        if (!room)
            return hf_fail(HF_ENOMEM, "no memory for a fault");
        before = memcpy(room, from, bytes);
    }
    if (writes_left-- == 0) {
        if (strcmp(fault.kind, "killwrite") == 0)
            raise(SIGKILL);
        if (strcmp(fault.kind, "hangwrite") == 0)
            nap(600);
        if (strcmp(fault.kind, "stopwrite") == 0)
            raise(SIGSTOP); /* with all its threads */
        if (strcmp(fault.kind, "flipwrite") == 0)
            ((unsigned char *)from)[bytes / 2] ^= 0x40;
        if (strcmp(fault.kind, "stalewrite") == 0)
            from = before; /* as long: chunks are */
    }
    return device_own->write(device, to, at, from, bytes, order, done);
}

static void device_plant(hf_device *device) {
    if (device->ops != &device_ops) {
        device_own = device->ops;
        device_ops = *device_own;
        device_ops.launch = launch;
        device_ops.write = planted_write;
        if (strcmp(fault.kind, "nopin") == 0)
            device_ops.pin = planted_pin;
        device->ops = &device_ops;
    }
    launches_left = strcmp(fault.kind, "launch") == 0 ? fault.call : -1;
    writes_left = strstr(fault.kind, "write") ? fault.call : -1;
}

static bool planted(const hf_transport *net, const char *kind) {
    return strcmp(fault.kind, kind) == 0 && fault.rank == net->rank;
}

static hf_status fault_plan(hf_plan *plan) {
    if (planted(plan->exchange->net, "setup"))
        return hf_fail(HF_ENOMEM, "planted: set-up failed");
    return other->blocks->plan(plan);
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
        status = other->blocks->progress(plan, wait, done);
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
        return other->blocks->progress(plan, wait, done);
    fault.rank = -1; /* no second time */
    if (!loses)
        return move_damaged(plan, m, wait, done);
    m->send_bytes = 0;
    return other->blocks->progress(plan, wait, done);
}

static hf_status fault_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    const char *text = getenv("HPCCFPGA_FAULT");
    memset(&fault, 0, sizeof fault);
    fault.rank = -1;
    if (text && sscanf(text, "%15s %d %ld", fault.kind, &fault.rank, &fault.call) != 3)
        return hf_fail(HF_EARG, "HPCCFPGA_FAULT: \"%s\" is not KIND RANK CALL", text);
    static const char kinds[] =
        " none setup launch fail kill hang nopin killwrite "
        "hangwrite stopwrite flipwrite stalewrite lose flip shift swap "
        "stale ";
    char word[20];
    snprintf(word, sizeof word, " %s ", fault.kind);
    if (text && !strstr(kinds, word))
        return hf_fail(HF_EARG, "HPCCFPGA_FAULT: \"%s\" is not one of%s", text, kinds);
    const char *over = getenv("HPCCFPGA_FAULT_OVER");
    HF_TRY(hf_exchange_find(&other, over ? over : HF_SCHEME));
    HF_TRY(other->open(out, device, net));
    blocks = *other->blocks;
    blocks.plan = fault_plan;
    blocks.progress = fault_progress;
    (*out)->ops = &hf_exchange_fault;
    if (fault.rank == net->rank)
        device_plant(device);
    return HF_OK;
}

static void fault_close(hf_exchange *exchange) {
    other->close(exchange);
}

const hf_exchange_ops hf_exchange_fault = {
    .name = "fault",
    .summary = "another scheme with a planted fault, for tests",
    .device = "opencl",
    .blocks = &blocks,
    .open = fault_open,
    .close = fault_close,
};
