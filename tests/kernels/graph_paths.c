/* graph_paths.c - a ring of devices: shortest paths by pull and by push, with updates that fill a
 * packet and wait until they are due. */
/* clang-format off */
#define HF_PROGRAM ../../tests/kernels/graph_far
/* clang-format on */

#include "graph_devices.h"

enum { LONGEST_WAY = 8 };

/** Edges to the vertices of a device, by where they leave. */
static struct {
    ulong rows[ALL + 1];
    uint to[OWN * EACH], weights[OWN * EACH], pieces[2];
    ulong made[2];
} outs[MAX_RANKS];

static uint weight_of(uint v, uint e) {
    return 1 + random_of(~(v * EACH + e)) % 9;
}

static void edges_fill(void) {
    for (uint k = 0; k < n_ranks; k++) {
        device *v = &devices[k];
        uint n = 0;
        outs[k].pieces[1] = n_ranks * OWN;
        for (uint i = 0; i < OWN * EACH; i++)
            v->weights[i] = weight_of(k * OWN + i / EACH, i % EACH);
        for (uint u = 0; u < n_ranks * OWN; u++) {
            outs[k].rows[u] = n;
            for (uint i = 0; i < OWN * EACH; i++)
                if (v->from[i] == u) {
                    outs[k].to[n] = i / EACH;
                    outs[k].weights[n++] = v->weights[i];
                }
        }
        outs[k].rows[n_ranks * OWN] = n;
    }
}

/* How far each vertex is: until no edge makes a way shorter. */
static void far_find(uint *far) {
    memset(far, 0xFF, ALL * sizeof *far);
    far[devices[0].run.source] = 0;
    for (uint changed = 1; changed;) {
        changed = 0;
        for (uint v = 0; v < n_ranks * OWN; v++)
            for (uint e = 0; e < EACH; e++) {
                const uint u = far[from_of(v, e)], way = u + weight_of(v, e);
                if (u != HF_NOBODY && way < far[v])
                    far[v] = way, changed = 1;
            }
    }
}

typedef struct totals {
    uint active, pending, lowest;
} totals;

/* A superstep by kernel `maker`, behind one that pushes where messages are applied. */
static totals superstep(uint maker, uint step, ulong window) {
    static uint everyone, pushes = 1, seals[MAX_RANKS];
    void *p[MAX_RANKS][3];
    task makes[MAX_RANKS], push[MAX_RANKS];
    drain d = {.place = devices[0].run.in_updates / 4,
               .bits = devices[0].run.in_bits / 4,
               .bit_words = n_ranks * WORDS,
               .own_words = WORDS,
               .words = UPDATE,
               .items = n_ranks * OWN,
               .number = step};
    totals t = {.lowest = HF_NOBODY};
    /* Pointers to what an argument points at. */
    static void *at[MAX_RANKS][20];
    for (uint k = 0; k < n_ranks; k++) {
        device *v = &devices[k];
        void *held[] = {v->chunks,   v->rows,         v->from,      v->weights,
                        v->degrees,  v->names,        &v->run,      v->state,
                        v->waiting,  v->later,        v->got,       v->touched,
                        outs[k].to,  outs[k].weights, outs[k].rows, outs[k].pieces,
                        outs[k].made};
        memcpy(at[k], held, sizeof held);
        void **h = at[k], **in = &p[k][0], **out = &p[k][1];
        *in = v->boxes[step % 2];
        *out = v->boxes[1 - step % 2];
        seals[k] = random_of(k);
        d.to[k] = *out;
        d.own_word[k] = k * WORDS;
        push[k] = (task){.call = graph_push_call,
                         .args = {&h[15], &h[14], &h[12], &h[13], &h[6], in, &h[7],
                                  &h[10], &h[11], &h[16], &window}};
        makes[k] =
            maker == GRAPH_STARTS
                ? (task){.call = graph_start_call,
                         .args = {&h[0], &h[4], &h[5], &h[6], &h[7], out, &h[8], &h[9],
                                  &h[10], &h[11], in, &pushes, &window, &seals[k],
                                  &v->told[maker]}}
            : maker == GRAPH_PULLS
                ? (task){.call = graph_pull_call,
                         .args = {&h[0], &h[1], &h[2], &h[3], &h[4], &h[5], &h[6], in,
                                  &h[7], out, &h[8], &h[9], &d.number, &everyone,
                                  &window, &seals[k], &v->told[maker]}}
            : maker == GRAPH_APPLIES
                ? (task){.call = graph_apply_call,
                         .args = {&h[0], &h[4], &h[5], &h[6], &h[16], &h[10], &h[11],
                                  &h[7], out, &h[8], &h[9], &d.number, &window,
                                  &seals[k], &v->told[maker]}}
                : (task){.call = graph_admit_call,
                         .args = {&h[0], &h[4], &h[6], out, &h[8], &h[9], &d.number,
                                  &window, &seals[k], &v->told[maker]}};
    }
    if (maker == GRAPH_APPLIES) {
        tasks_start(push, n_ranks);
        tasks_join(push, n_ranks);
    }
    launch(makes, maker, &d, random_of(~step));
    for (uint k = 0; k < n_ranks; k++) {
        const graph_count *count = (const graph_count *)p[k][1];
        CHECK(count->seal == graph_seal(count, seals[k], step, window), "device %u", k);
        CHECK(memcmp(count, &devices[(k + 1) % n_ranks].came[k].count, sizeof *count) ==
                  0,
              "the count of device %u is not what its barriers told", k);
        t.active += count->active;
        t.pending += count->pending;
        t.lowest = count->lowest < t.lowest ? count->lowest : t.lowest;
    }
    return t;
}

/* The lowest priority of those who wait. */
static uint lowest_find(void) {
    uint lowest = HF_NOBODY;
    for (uint v = 0; v < n_ranks * OWN; v++) {
        const device *d = &devices[v / OWN];
        const uint at = v % OWN, when = d->later[at].far;
        if (d->waiting[at / 32] >> at % 32 & 1 && when < lowest)
            lowest = when;
    }
    return lowest;
}

/* All ways, as the host of the ring goes about it. */
static void paths_test(uint maker) {
    static uint far[ALL];
    uint step = 0, admitted = 0, until = HF_WINDOW;
    devices_fill();
    edges_fill();
    far_find(far);
    totals t = superstep(GRAPH_STARTS, step, (ulong)until << 32);
    ulong settled = 0;
    while (t.active > 0 || t.pending > 0) {
        uint next = maker;
        if (t.active == 0) {
            CHECK(t.lowest == lowest_find(), "step %u: lowest %u", step, t.lowest);
            settled = t.lowest;
            until = t.lowest + HF_WINDOW;
            next = GRAPH_ADMITS;
            admitted++;
        }
        t = superstep(next, ++step, (ulong)until << 32 | settled);
        CHECK(next != GRAPH_ADMITS || t.active > 0, "step %u admits nothing", step);
        CHECK(step < ALL, "it does not end");
    }
    CHECK(step >= LONGEST_WAY && admitted > 1, "%u steps, %u windows", step, admitted);
    for (uint v = 0; v < n_ranks * OWN; v++)
        CHECK(devices[v / OWN].state[v % OWN].far == far[v], "vertex %u: %u, not %u", v,
              devices[v / OWN].state[v % OWN].far, far[v]);
}

int main(void) {
    for (n_ranks = 2; n_ranks <= 3; n_ranks++) {
        rings_make(n_ranks == 2 ? 1 : 300);
        paths_test(GRAPH_PULLS);
        paths_test(GRAPH_APPLIES);
        rings_free();
    }
    return 0;
}
