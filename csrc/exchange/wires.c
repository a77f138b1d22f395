/* wires.c - cables between boards: the kernels' ports are wired by the board itself, and the
 * host has nothing to do. It can neither stop kernels nor see what they wait for. */
#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "medium.h"

static hf_status wires_open(hf_medium **out, hf_device *device, hf_transport *net) {
    hf_medium *wires = calloc(1, sizeof *wires);
    if (!wires)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    *wires = (hf_medium){.ops = &hf_medium_wires, .device = device, .net = net};
    *out = wires;
    return HF_OK;
}

static hf_status wires_connect(hf_medium *wires, const hf_wiring *wiring) {
    (void)wires, (void)wiring;
    return HF_OK;
}

static hf_status wires_clear(hf_medium *wires) {
    (void)wires;
    return HF_OK;
}

static double wires_stop(hf_medium *wires, const char *why) {
    (void)wires;
    (void)why;
    return HUGE_VAL;
}

static hf_status wires_report(hf_medium *wires, hf_report *report, const bool *ended) {
    for (size_t i = 0; i < wires->n; i++)
        if (!ended[i])
            hf_report_add(report, "; rank %d %s", wires->net->rank,
                          wires->streams[i].name);
    return HF_OK;
}

static void wires_close(hf_medium *wires) {
    free(wires);
}

const hf_medium_ops hf_medium_wires = {
    .ports = HF_PORTS_WIRES,
    .open = wires_open,
    .connect = wires_connect,
    .clear = wires_clear,
    .stop = wires_stop,
    .report = wires_report,
    .close = wires_close,
};
