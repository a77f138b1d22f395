/* fault.c - scheme `fault`: `pcie` with one planted fault, to prove that faults are seen.
 *
 * HPCCFPGA_FAULT="KIND RANK CALL" names the fault, the rank that has it and the move (or
 * kernel launch, for `launch`) at which it happens, counted from 0 since the session opened.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "exchange.h"

extern const hf_exchange_ops hf_exchange_fault;
extern const hf_exchange_ops hf_exchange_pcie;

typedef struct fault {
    hf_exchange base;
    hf_exchange *inner;
    char kind[16];
    int rank;
    long call, moves;
} fault;

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

static hf_status fault_open(hf_exchange **out, hf_device *device, hf_transport *net) {
    fault *f = calloc(1, sizeof *f);
    if (!f)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    f->base = (hf_exchange){.ops = &hf_exchange_fault, .device = device, .net = net};
    f->rank = -1;
    const char *text = getenv("HPCCFPGA_FAULT");
    if (text && sscanf(text, "%15s %d %ld", f->kind, &f->rank, &f->call) != 3) {
        free(f);
        return hf_fail(HF_EARG, "HPCCFPGA_FAULT: \"%s\" is not KIND RANK CALL", text);
    }
    static const char kinds[] = " none setup launch fail kill hang flip shift swap ";
    char word[20];
    snprintf(word, sizeof word, " %s ", f->kind);
    if (text && !strstr(kinds, word)) {
        free(f);
        return hf_fail(HF_EARG, "HPCCFPGA_FAULT: \"%s\" is not one of%s", text, kinds);
    }
    hf_status status = hf_exchange_pcie.open(&f->inner, device, net);
    if (status == HF_OK && strcmp(f->kind, "launch") == 0 && f->rank == net->rank)
        launch_plant(device, f->call);
    *out = &f->base;
    return status;
}

static hf_status fault_reserve(hf_exchange *base, size_t bytes) {
    fault *f = (fault *)base;
    if (strcmp(f->kind, "setup") == 0 && f->rank == base->net->rank)
        return hf_fail(HF_ENOMEM, "planted: set-up failed");
    return f->inner->ops->reserve(f->inner, bytes);
}

static void nap(double seconds) {
    struct timespec span = {(time_t)seconds, 0};
    nanosleep(&span, NULL);
}

/* Damage `bytes` bytes that were just received. */
static void damage(const char *kind, unsigned char *data, size_t bytes) {
    if (strcmp(kind, "flip") == 0)
        data[bytes / 2] ^= 1;
    else if (strcmp(kind, "shift") == 0)
        memmove(data, data + 1, bytes - 1);
    else if (strcmp(kind, "swap") == 0)
        for (size_t i = 0; i < bytes / 2; i++) {
            unsigned char byte = data[i];
            data[i] = data[bytes / 2 + i];
            data[bytes / 2 + i] = byte;
        }
}

/* Move all messages, and damage the first. */
static hf_status move_damaged(fault *f, hf_buffer *recv, const hf_buffer *send,
                              size_t n, const hf_message *m) {
    hf_device *device = f->base.device;
    unsigned char *data = malloc(m->bytes);
    hf_status status = data ? HF_OK : hf_fail(HF_ENOMEM, "no memory for a fault");
    if (status == HF_OK)
        status = f->inner->ops->move(f->inner, recv, send, n, m);
    if (status == HF_OK)
        status =
            device->ops->read(device, recv, m->recv_at, data, m->bytes, NULL, NULL);
    if (status == HF_OK) {
        damage(f->kind, data, m->bytes);
        status =
            device->ops->write(device, recv, m->recv_at, data, m->bytes, NULL, NULL);
    }
    free(data);
    return status;
}

static hf_status fault_move(hf_exchange *base, hf_buffer *recv, const hf_buffer *send,
                            size_t n, const hf_message *messages) {
    fault *f = (fault *)base;
    bool now = f->moves++ == f->call;
    if (!now || f->rank != base->net->rank)
        return f->inner->ops->move(f->inner, recv, send, n, messages);
    if (strcmp(f->kind, "fail") == 0)
        return hf_fail(HF_EDEVICE, "planted: a move failed");
    if (strcmp(f->kind, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(f->kind, "hang") == 0)
        nap(600);
    return move_damaged(f, recv, send, n, messages);
}

static void fault_close(hf_exchange *base) {
    fault *f = (fault *)base;
    if (f)
        hf_exchange_pcie.close(f->inner);
    free(f);
}

const hf_exchange_ops hf_exchange_fault = {
    .name = "fault",
    .summary = "pcie with a planted fault, for tests",
    .device = "opencl",
    .open = fault_open,
    .reserve = fault_reserve,
    .move = fault_move,
    .close = fault_close,
};
