/* graph_sound.h - a vertex program as plain C, by itself, for sanitizers: is it sound?
 *
 * Compiled as a program of its own, with HF_HOST. It takes the supersteps of graph_again over a
 * small graph, and gathers the messages that arise there in other orders. It prints a line for
 * each kind of fault.
 */
#ifndef GRAPH_SOUND_H
#define GRAPH_SOUND_H

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

/* The dialect, without the tables that the device `host` has. */
#define HF_KERNEL_HOST_H
typedef uint8_t uchar;
typedef uint16_t ushort;
typedef uint32_t uint;
typedef uint64_t ulong;
#define HF_GLOBAL
#define HF_RESTRICT restrict
#define HF_ITEM     0
#define HF_ITEMS    1
#define HF_ALONE
#define HF_DEFINE(kernel, replicated, streams, ...) \
    static inline void kernel(HF_EACH(HF_DECLARE, __VA_ARGS__))

#include "graph_again.h"

enum {
    SOUND_VERTICES = 48,
    SOUND_DEGREE = 5,
    SOUND_EDGES = SOUND_VERTICES * SOUND_DEGREE,
    SOUND_SUPERSTEPS = 64,
    SOUND_MESSAGES = 24
};

static uint sound_random(uint i) {
    return graph_mix(graph_mix(0x5EED, i), ~i);
}

/** A message as bytes, those between the fields of a struct, too: a struct's copy keeps them. */
static int sound_same(hf_message a, hf_message b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/** Sums of floats depend on their order a little: they may. */
#define SOUND_EXACT _Generic((hf_message *)0, float * : 0, double * : 0, default : 1)

static hf_message sound_messages[SOUND_MESSAGES];
static uint sound_n;

static void sound_keep(hf_message m) {
    for (uint i = 0; i < sound_n; i++)
        if (sound_same(sound_messages[i], m))
            return;
    if (sound_n < SOUND_MESSAGES)
        sound_messages[sound_n++] = m;
}

static int sound_gather(void) {
    const hf_message nothing = HF_NOTHING;
    int order = 0, group = 0, changes = 0;
    for (uint i = 0; i < sound_n; i++)
        for (uint j = 0; j < sound_n; j++) {
            const hf_message a = sound_messages[i], b = sound_messages[j];
            order |= !sound_same(hf_gather(a, b), hf_gather(b, a));
            for (uint k = 0; SOUND_EXACT && k < sound_n; k++) {
                const hf_message c = sound_messages[k];
                group |= !sound_same(hf_gather(hf_gather(a, b), c),
                                     hf_gather(a, hf_gather(b, c)));
            }
            changes |= !sound_same(hf_gather(nothing, a), a);
        }
    if (order)
        puts("HF_GATHER does not commute: gather(a, b) is not gather(b, a)");
    if (group)
        puts("HF_GATHER does not associate: its grouping changes the result");
    if (changes)
        puts("HF_NOTHING changes what it is gathered with");
    return order || group || changes;
}

int main(void) {
    static ulong rows[SOUND_VERTICES + 1];
    static uint from[SOUND_EDGES], weights[SOUND_EDGES], degrees[SOUND_VERTICES];
    static uint active[2][SOUND_VERTICES];
    static hf_vertex state[SOUND_VERTICES];
    static hf_update told[2][SOUND_VERTICES];
    graph_run run = {.vertices = SOUND_VERTICES, .source = 1, .value = {SOUND_VALUES}};
    uint found[2] = {1, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* who would end it otherwise is gone */
    for (uint e = 0; e < SOUND_EDGES; e++) {
        from[e] = sound_random(e) % SOUND_VERTICES;
        weights[e] = 1 + sound_random(e + SOUND_EDGES) % 255;
        degrees[from[e]]++;
        rows[e / SOUND_DEGREE + 1] = e + 1;
    }
    for (uint n = 0; n < SOUND_SUPERSTEPS && found[0]; n++) {
        uint now = n % 2, next = 1 - now;
        graph_again(rows, from, weights, degrees, &run, state, active[now], told[now],
                    active[next], told[next], found, n);
        for (uint e = 0; e < SOUND_EDGES; e++)
            if (active[next][from[e]]) {
                const hf_edge edge = {GRAPH_WEIGHT(weights, e)};
                sound_keep(hf_scatter(told[next][from[e]], edge));
            }
    }
    return sound_gather();
}

#endif
