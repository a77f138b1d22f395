/* graph_stream.c - a ring of devices: blocks that are shared, and a search.
 *
 * cc -std=c11 -fsanitize=address,undefined -pthread -Icsrc -Ikernels \
 *    tests/kernels/graph_stream.c [-DHF_CHANNEL_WIDTH=16]
 */
#include "graph_devices.h"

enum { LONGEST = 5 };

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
    memset(levels, 0xFF, sizeof levels);
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
