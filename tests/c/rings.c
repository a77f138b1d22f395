/* rings.c - what a kernel has moved is published at all its ends, once it waits at one or ends. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "rings.h"

enum { ENDS = 4, PORTS = 2 };

extern const hf_transport_ops hf_transport_self;

static const hf_end ends[ENDS] = {{.index = 0, .sends = true},
                                  {.index = 1, .sends = true},
                                  {.index = 1},
                                  {.index = 0, .inner = true}};
static hf_buffer buffer;

static hf_status memory_wrap(hf_buffer **out, hf_device *device, void *memory,
                             size_t bytes) {
    (void)device, (void)memory, (void)bytes;
    *out = &buffer;
    return HF_OK;
}

static void memory_free(hf_buffer *unused) {
    (void)unused;
}

/* The side of its ring at which the kernel is. */
static hf_ring_side *side_of(const hf_rings *r, const hf_end *end) {
    if (end->inner)
        return &r->inner[end->index].ring->reader;
    return end->sends ? &r->out[end->index].ring->writer
                      : &r->in[end->index].ring->reader;
}

static void moved_set(const hf_rings *r, hf_word packets) {
    for (size_t e = 0; e < ENDS; e++)
        side_of(r, &ends[e])->moved = packets;
}

static void published_check(const hf_rings *r, hf_word packets, const char *when) {
    for (size_t e = 0; e < ENDS; e++)
        CHECK(side_of(r, &ends[e])->at == packets, "%s, end %zu: %llu", when, e,
              (unsigned long long)side_of(r, &ends[e])->at);
}

int main(void) {
    static const hf_device_ops ops = {.wrap = memory_wrap, .free = memory_free};
    static const hf_link links[PORTS] = {{.out = 0, .in = 0}, {.out = 1, .in = 1}};
    const hf_wiring wiring = {.links = links,
                              .ports = PORTS,
                              .inner = 1,
                              .width = 8,
                              .depth = 16,
                              .inner_depth = 16};
    const hf_stream stream = {.name = "kernel", .ends = ends, .n_ends = ENDS};
    hf_device device = {.ops = &ops, .info = {.memory = 1 << 30, .kernels = 1}};
    hf_transport *net;
    hf_medium *medium;
    hf_arg args[ENDS + 1];
    size_t n = 0;
    CHECK(hf_transport_self.open(&net, 0, "", 60) == HF_OK, "%s", hf_error());
    CHECK(hf_medium_rings.open(&medium, &device, net) == HF_OK, "%s", hf_error());
    medium->wiring = wiring;
    CHECK(hf_medium_rings.connect(medium, &wiring) == HF_OK, "%s", hf_error());
    medium->streams = &stream;
    medium->n = 1;
    CHECK(hf_medium_rings.clear(medium) == HF_OK, "%s", hf_error());
    CHECK(hf_medium_rings.ready(medium) == HF_OK, "%s", hf_error());
    hf_medium_rings.attach(medium, 0, args, &n);
    CHECK(n == ENDS + 1, "%zu arguments", n);
    const hf_rings *r = (hf_rings *)medium;
    hf_ring_host *host = (hf_ring_host *)(uintptr_t)r->hosts[0];
    hf_ring *full = r->out[0].ring;
    moved_set(r, 5);
    published_check(r, 0, "it works");
    host->wait(host, full, &full->reader, 0);
    published_check(r, 5, "it waits");
    moved_set(r, 9);
    host->leave(host);
    published_check(r, 9, "it has ended");
    hf_medium_rings.close(medium);
    hf_transport_self.close(net);
    return check_failures != 0;
}
