/* graph_stream.c - kernels/graph_stream.cl as plain C: kernels in threads, on devices that rings
 * join to one ring; they stay from launch to launch.
 *
 * cc -std=c11 -fsanitize=address,undefined -pthread -Icsrc -Ikernels \
 *    tests/kernels/graph_stream.c [-DHF_CHANNEL_WIDTH=16]
 */
#include <stdbool.h>

#include "rings.h"

#include "../../kernels/graph_stream.cl"

enum { MAX_RANKS = 5, WORDS = 9, OWN = 32 * WORDS, EACH = 3, ALL = MAX_RANKS * OWN };
enum { LONGEST = 5, BOX = GRAPH_ALIGN / 4 + ALL / 32 + ALL + 1 /* even */ };

/** A device: what it holds, the rings of its channels, and the link that leads to it. */
typedef struct device {
    hf_ring *told[GRAPH_MAKERS], *passed, *link;
    uint rank, chunks[2], degrees[OWN], names[OWN], from[OWN * EACH], waiting[WORDS];
    uint touched[WORDS], got[OWN], own[OWN], all[ALL];
    ulong boxes[2][BOX / 2];
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
    tasks_start(tasks, 3 * n_ranks);
    tasks_join(tasks, 3 * n_ranks);
    for (uint k = 0; k < n_ranks; k++)
        for (uint r = 0; r < n_ranks; r++) {
            const graph_came *c = &devices[k].came[r];
            CHECK(c->seal == graph_came_seal(c, seal, r), "seal of %u on %u", r, k);
            if (r == k)
                continue;
            CHECK(c->wrong == 0, "%u wrong packets of %u on %u", c->wrong, r, k);
            CHECK(c->taken == c->count.active && c->digest == c->count.digest,
                  "%u packets of %u on %u, not %u", c->taken, r, k, c->count.active);
        }
}

/* ---- blocks of several lengths, some of them empty ---- */

static uint pieces_of(uint rank, uint most) {
    return rank == 1 ? 0 : most / (1 + rank % 3);
}

static void share_test(uint most) {
    enum { PIECE = 2 };
    uint piece = PIECE, number = 7, seal = random_of(most), at = 0;
    uint first[MAX_RANKS], pieces[MAX_RANKS];
    void *from[MAX_RANKS];
    task makes[MAX_RANKS];
    drain d = {.words = PIECE, .number = number};
    for (uint k = 0; k < n_ranks; k++) {
        device *v = &devices[k];
        first[k] = at / PIECE;
        pieces[k] = pieces_of(k, most);
        for (uint i = 0; i < pieces[k] * PIECE; i++)
            v->own[i] = random_of(at++);
        memset(v->all, 0xFF, sizeof v->all);
        from[k] = v->own;
        d.to[k] = v->all;
        makes[k] = (task){.call = graph_share_call,
                          .args = {&from[k], &d.to[k], &first[k], &pieces[k], &piece,
                                   &n_ranks, &number, &seal, &v->told[GRAPH_SHARES]}};
    }
    d.items = at / PIECE;
    launch(makes, GRAPH_SHARES, &d, seal);
    for (uint k = 0; k < n_ranks; k++)
        for (uint i = 0; i < ALL; i++)
            CHECK(devices[k].all[i] == (i < at ? random_of(i) : HF_NOBODY),
                  "word %u of %u on device %u", i, at, k);
}

/* ---- a search ---- */

static uint levels[ALL];

static uint from_of(uint v, uint e) {
    return random_of(v * EACH + e) % (n_ranks * OWN);
}

static void devices_fill(void) {
    memset(levels, 0xFF, sizeof levels);
    for (uint k = 0; k < n_ranks; k++) {
        device *v = &devices[k];
        graph_run *run = &v->run;
        uint head = GRAPH_ALIGN, words = n_ranks * WORDS;
        memset(v->boxes, 0xA5, sizeof v->boxes);
        memset(v->degrees, 0, sizeof v->degrees);
        v->chunks[1] = OWN;
        *run = (graph_run){.in_bits = head,
                           .in_updates = head + words * 4,
                           .out_bits = head + k * WORDS * 4,
                           .out_updates = head + words * 4 + k * OWN * 4,
                           .head = head,
                           .first = k * OWN,
                           .own = OWN,
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
        }
    }
    for (uint v = 0; v < n_ranks * OWN; v++)
        for (uint e = 0; e < EACH; e++)
            devices[from_of(v, e) / OWN].degrees[from_of(v, e) % OWN]++;
}

/* Vertices that a search reaches in step `step`. */
static uint levels_step(uint step) {
    uint n = 0;
    for (uint v = 0; v < n_ranks * OWN; v++)
        for (uint e = 0; e < EACH && levels[v] == HF_NOBODY; e++)
            if (levels[from_of(v, e)] == step - 1) {
                levels[v] = step;
                n++;
            }
    return n;
}

/* A superstep; how many vertices tell something. Step 0 starts. */
static uint superstep(uint step) {
    static uint nothing, everyone, seals[MAX_RANKS];
    ulong window = (ulong)HF_NOBODY << 32;
    void *p[MAX_RANKS][16];
    task makes[MAX_RANKS];
    drain d = {.place = devices[0].run.in_updates / 4,
               .bits = devices[0].run.in_bits / 4,
               .bit_words = n_ranks * WORDS,
               .own_words = WORDS,
               .words = sizeof(hf_update) / 4,
               .items = n_ranks * OWN,
               .number = step};
    uint told = 0;
    for (uint k = 0; k < n_ranks; k++) {
        device *v = &devices[k];
        void *held[] = {v->chunks,  v->rows,
                        v->from,    v->waiting,
                        v->degrees, v->names,
                        &v->run,    v->boxes[step % 2],
                        v->state,   v->boxes[1 - step % 2],
                        v->waiting, v->later,
                        v->got,     v->touched};
        memcpy(p[k], held, sizeof held);
        void **h = p[k];
        seals[k] = random_of(k);
        d.to[k] = v->boxes[1 - step % 2];
        d.own_word[k] = k * WORDS;
        makes[k] =
            step == 0 ? (task){.call = graph_start_call,
                               .args = {&h[0], &h[4], &h[5], &h[6], &h[8], &h[9],
                                        &h[10], &h[11], &h[12], &h[13], &h[7], &nothing,
                                        &window, &seals[k], &v->told[GRAPH_STARTS]}}
                      : (task){.call = graph_pull_call,
                               .args = {&h[0], &h[1], &h[2], &h[3], &h[4], &h[5], &h[6],
                                        &h[7], &h[8], &h[9], &h[10], &h[11], &d.number,
                                        &everyone, &window, &seals[k],
                                        &v->told[GRAPH_PULLS]}};
    }
    launch(makes, step == 0 ? GRAPH_STARTS : GRAPH_PULLS, &d, random_of(~step));
    for (uint k = 0; k < n_ranks; k++) {
        const device *other = &devices[(k + 1) % n_ranks];
        const graph_count *count = (const graph_count *)devices[k].boxes[1 - step % 2];
        CHECK(count->seal == graph_seal(count, seals[k], step, window), "device %u", k);
        CHECK(memcmp(count, &other->came[k].count, sizeof *count) == 0,
              "the count of device %u is not what its barriers told", k);
        told += count->active;
    }
    return told;
}

static void search_test(void) {
    devices_fill();
    levels[5] = 0;
    uint told = superstep(0), step = 0;
    for (uint found = 1; found > 0;) {
        CHECK(told <= found, "step %u: %u of %u told", step, told, found);
        found = levels_step(++step);
        told = superstep(step);
        for (uint v = 0; v < n_ranks * OWN; v++)
            CHECK((devices[v / OWN].state[v % OWN].parent != HF_NOBODY) ==
                      (levels[v] != HF_NOBODY),
                  "step %u: vertex %u", step, v);
    }
    CHECK(step >= LONGEST, "%u steps", step);
}

int main(void) {
    for (n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks++)
        for (size_t depth = 1; depth < 1000; depth += 333) {
            rings_make(depth);
            share_test(0);
            share_test(1);
            share_test(GRAPH_SLOTS);
            share_test(GRAPH_SLOTS + 1);
            search_test();
            rings_free();
        }
    return 0;
}
