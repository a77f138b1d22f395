/* graph_devices.h - kernels/graph_stream.cl as plain C: kernels in threads, on devices that rings
 * join to one ring; they stay from launch to launch.
 */
#ifndef GRAPH_DEVICES_H
#define GRAPH_DEVICES_H

#include <stdbool.h>

#include "rings.h"

#include "../../kernels/graph_stream.cl"

enum { MAX_RANKS = 5, WORDS = 9, OWN = 32 * WORDS, EACH = 3, ALL = MAX_RANKS * OWN };
enum {
    UPDATE = sizeof(hf_update) / 4,
    BOX = GRAPH_ALIGN / 4 + ALL / 32 + ALL * UPDATE
};

/** A device: what it holds, the rings of its channels, and the link that leads to it. */
typedef struct device {
    hf_ring *told[GRAPH_MAKERS], *passed, *link;
    uint rank, chunks[2], degrees[2 * OWN], names[OWN], from[OWN * EACH],
        waiting[WORDS];
    uint touched[WORDS], got[OWN], own[OWN], all[ALL], weights[OWN * EACH];
    ulong boxes[2][BOX / 2 + 1];
    hf_update later[OWN];
    hf_vertex state[OWN];
    ulong rows[OWN + 1];
    graph_run run;
    graph_came came[MAX_RANKS];
} device;

static device devices[MAX_RANKS];
static uint n_ranks;

static uint random_of(uint i) {
    return graph_mix(graph_mix(0x5EED, i), ~i);
}

static void rings_make(size_t depth) {
    for (uint k = 0; k < n_ranks; k++) {
        devices[k].rank = k;
        for (int i = 0; i < GRAPH_MAKERS; i++)
            devices[k].told[i] = ring_new(16);
        devices[k].passed = ring_new(GRAPH_HELD);
        devices[k].link = ring_new(depth);
    }
}

static void ring_end(hf_ring *ring, const char *name) {
    CHECK(ring->writer.moved == ring->reader.moved, "%s: packets that nobody wants",
          name);
    free(ring);
}

static void rings_free(void) {
    for (uint k = 0; k < n_ranks; k++) {
        for (int i = 0; i < GRAPH_MAKERS; i++)
            ring_end(devices[k].told[i], "told");
        ring_end(devices[k].passed, "passed");
        ring_end(devices[k].link, "link");
    }
}

/* Where a launch puts what comes. */
typedef struct drain {
    void *to[MAX_RANKS];
    ulong place, bits;
    uint bit_words, own_word[MAX_RANKS], own_words, words, items, number;
} drain;

/* A launch on all devices: of each a kernel that makes packets, and two that pass them. */
static void launch(const task *makes, uint maker, drain *d, uint seal) {
    task tasks[3 * MAX_RANKS];
    void *came[MAX_RANKS];
    for (uint k = 0; k < n_ranks; k++) {
        device *v = &devices[k];
        came[k] = v->came;
        tasks[3 * k] = makes[k];
        tasks[3 * k + 1] =
            (task){.call = graph_sender_call,
                   .args = {&maker, &v->rank, &n_ranks, &seal, &v->told[0], &v->told[1],
                            &v->told[2], &v->told[3], &v->told[4], &v->passed,
                            &devices[(k + 1) % n_ranks].link}};
        tasks[3 * k + 2] = (task){
            .call = graph_receiver_call,
            .args = {&d->to[k], &came[k], &d->place, &d->bits, &d->bit_words,
                     &d->own_word[k], &d->own_words, &d->words, &d->items, &v->rank,
                     &n_ranks, &d->number, &seal, &v->link, &v->passed}};
    }
    uint most = 0;
    ulong before = devices[0].link->writer.moved;
    tasks_start(tasks, 3 * n_ranks);
    tasks_join(tasks, 3 * n_ranks);
    for (uint r = 1; r <= n_ranks; r++) { /* of rank 0 on device 1 */
        const uint told = devices[r % n_ranks].came[r - 1].count.active;
        most = told > most ? told : most;
    }
    CHECK(devices[0].link->writer.moved - before == graph_sent(n_ranks, most),
          "%u updates of a rank at most, and %llu packets", most,
          (unsigned long long)(devices[0].link->writer.moved - before));
    for (uint k = 0; k < n_ranks; k++)
        for (uint r = 0; r < n_ranks; r++) {
            const graph_came *c = &devices[k].came[r];
            if (r == k)
                continue;
            CHECK(c->wrong == 0, "%u wrong packets of %u on %u", c->wrong, r, k);
            CHECK(c->taken == c->count.active && c->digest == c->count.digest,
                  "%u packets of %u on %u, not %u", (uint)c->taken, r, k,
                  c->count.active);
        }
}

/* ---- a graph ---- */

static uint from_of(uint v, uint e) {
    return random_of(v * EACH + e) % (n_ranks * OWN);
}

static void devices_fill(void) {
    for (uint k = 0; k < n_ranks; k++) {
        device *v = &devices[k];
        graph_run *run = &v->run;
        uint head = GRAPH_ALIGN, words = n_ranks * WORDS;
        memset(v->boxes, 0xA5, sizeof v->boxes);
        memset(v->degrees, 0, sizeof v->degrees);
        v->chunks[1] = OWN;
        *run =
            (graph_run){.in_bits = head,
                        .in_updates = head + words * 4,
                        .out_bits = head + k * WORDS * 4,
                        .out_updates = head + words * 4 + k * OWN * sizeof(hf_update),
                        .head = head,
                        .first = k * OWN,
                        .own = OWN,
                        .tells = OWN,
                        .rank = k,
                        .ranks = n_ranks,
                        .chunks = 1,
                        .vertices = n_ranks * OWN,
                        .source = 5};
        for (uint i = 0; i < OWN; i++) {
            v->names[i] = k * OWN + i;
            v->rows[i + 1] = v->rows[i] + EACH;
            for (uint e = 0; e < EACH; e++)
                v->from[i * EACH + e] = from_of(k * OWN + i, e);
            v->degrees[OWN + i] = v->from[i * EACH];
        }
    }
    for (uint v = 0; v < n_ranks * OWN; v++)
        for (uint e = 0; e < EACH; e++)
            devices[from_of(v, e) / OWN].degrees[from_of(v, e) % OWN]++;
}

#endif
