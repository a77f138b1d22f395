/* graph_bits.c - bits and counts that came damaged lead no kernel of bfs out of its memory: a bit
 * behind the last vertex, one of a vertex with too many edges, the end of a chunk. What a kernel
 * gets ends with its last vertex, so the sanitizer sees one that looks up more. */
#include <string.h>

#include "check_kernel.h"

#include "../../kernels/graph_memory.cl"

enum { OWN = 72, HEARD = 38, TELLS = 35, NOBODYS = 84, FIRST = 64, ALL = FIRST + OWN };
enum { BIT_WORDS = (ALL + 31) / 32, UPDATES = 64 };

static void *room(size_t bytes) {
    void *p = calloc(1, bytes);
    CHECK(p, "no memory");
    return p;
}

static uint *box_new(size_t words) {
    uint *box = room(UPDATES + words * sizeof(hf_update));
    for (uint i = 0; i < words; i++)
        box[UPDATES / 4 + i] = i;
    return box;
}

static void bit_set(uint *bits, uint v) {
    bits[v / 32] |= 1u << v % 32;
}

/* Vertices on a line, of which one tells something to the next, and one that is not there. */
typedef struct line {
    ulong rows[OWN + 1], *outs;
    uint *to, *degrees, *state, *got, *touched, *names, chunks[2];
    uint *box;
    graph_run run;
} line;

static void line_make(line *l) {
    *l = (line){.outs = room((OWN + 1) * sizeof(ulong)),
                .to = room(OWN * sizeof(uint)),
                .degrees = room(2 * OWN * sizeof(uint)), /* and the first of each row */
                .state = room(OWN * sizeof(uint)),
                .got = room(OWN * sizeof(uint)),
                .touched = room((OWN + 31) / 32 * sizeof(uint)),
                .names = room(OWN * sizeof(uint)),
                .chunks = {0, OWN},
                .box = box_new(OWN),
                .run = {.in_updates = UPDATES,
                        .own = OWN,
                        .tells = OWN,
                        .ranks = 1,
                        .chunks = 1,
                        .vertices = OWN}};
    for (uint v = 0; v < OWN; v++) {
        l->outs[v] = v;
        l->to[v] = (v + 1) % OWN;
        l->degrees[v] = 1;
        l->state[v] = l->got[v] = HF_NOBODY;
        l->names[v] = v;
    }
    l->outs[OWN] = OWN;
    memcpy(l->rows, l->outs, sizeof l->rows);
    bit_set(l->box, TELLS);
    bit_set(l->box, NOBODYS);
}

static void line_free(line *l) {
    void *all[] = {l->outs, l->to,    l->degrees, l->state,
                   l->got,  l->names, l->touched, l->box};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void push_test(void) {
    line l;
    ulong made[2], *m = made, window = (ulong)HF_NOBODY << 32;
    uint *chunks = l.chunks, *none = NULL;
    graph_run *run = &l.run;
    line_make(&l);
    void *args[] = {&chunks,  &l.outs, &l.to,      &none, &run,   &l.box,
                    &l.state, &l.got,  &l.touched, &m,    &window};
    graph_push_call(args, 1);
    CHECK(made[0] == 1 && made[1] == 2, "%lu messages, %lu known",
          (unsigned long)made[0], (unsigned long)made[1]);
    CHECK(l.got[TELLS + 1] == TELLS, "vertex %u got %u", TELLS + 1, l.got[TELLS + 1]);
    line_free(&l);
}

static void pull_test(void) {
    line l;
    ulong window = (ulong)HF_NOBODY << 32, *rows = l.rows;
    uint *chunks = l.chunks, *none = NULL, *from, step = 1, everyone = 0, seal = 7;
    uint *out = room(UPDATES * 3 + OWN * sizeof(hf_update));
    graph_run *run = &l.run;
    line_make(&l);
    from = room(OWN * sizeof *from);
    for (uint v = 0; v < OWN; v++)
        from[v] = l.degrees[OWN + v] = (v + OWN - 1) % OWN;
    l.run.out_bits = UPDATES * 2;
    l.run.out_updates = UPDATES * 3;
    void *args[] = {&chunks, &rows,     &from,    &none, &l.degrees, &l.names,
                    &run,    &l.box,    &l.state, &out,  &none,      &none,
                    &step,   &everyone, &window,  &seal};
    graph_pull_call(args, 1);
    const graph_count *count = (const graph_count *)out;
    CHECK(count->known == 2 && count->messages == 1, "%lu messages, %lu known",
          count->messages, count->known);
    CHECK(l.state[TELLS + 1] == TELLS, "the parent of vertex %u is %u", TELLS + 1,
          l.state[TELLS + 1]);
    line_free(&l);
    free(from);
    free(out);
}

/* Of those who tell, one has so many `more` edges. */
static graph_count few(uint more) {
    line l;
    ulong window = (ulong)HF_NOBODY << 32, width = HF_NOBODY;
    uint *none = NULL, zero = 0, one = 1, seal = 7;
    uint *lists = room(GRAPH_LISTS_BYTES(sizeof(hf_update)));
    uint *counts = room(sizeof(graph_count));
    graph_run *run = &l.run;
    line_make(&l);
    l.to = realloc(l.to, (OWN + more) * sizeof *l.to);
    CHECK(l.to, "no memory");
    for (uint e = OWN; e < OWN + more; e++)
        l.to[e] = 0;
    for (uint v = TELLS + 1; v <= OWN; v++)
        l.outs[v] += more;
    void *args[] = {&l.outs,  &l.to,   &none, &l.names, &run,   &l.box,
                    &l.state, &counts, &none, &none,    &l.got, &lists,
                    &zero,    &one,    &zero, &window,  &width, &seal};
    graph_few_call(args, 1);
    graph_count count;
    memcpy(&count, counts, sizeof count);
    line_free(&l);
    free(lists);
    free(counts);
    return count;
}

/* A bit of one who has more edges than lists have room came damaged: nothing is counted. */
static void few_test(void) {
    graph_count count = few(0);
    CHECK(count.known == 2 && count.messages == 1, "%lu messages, %lu known",
          count.messages, count.known);
    count = few(GRAPH_FEW_EDGES - 1);
    CHECK(count.known == GRAPH_FEW_EDGES + 1 && count.seal, "%lu known", count.known);
    count = few(GRAPH_FEW_EDGES);
    CHECK(count.known == 0 && !count.seal, "%lu known, %u edges at most", count.known,
          GRAPH_FEW_EDGES);
}

/* Of two ranks, number `rank` takes updates; the second has fewer vertices than numbers in its
 * words, and its last tell nothing. Digests of each; with the bits of a word. */
static void take(uint *digests, uint rank, uint word, uint more, uint end) {
    const graph_count counts[] = {{.end = FIRST}, {.first = FIRST, .end = end}};
    graph_place places[] = {{.updates = 3 * UPDATES, .heard = FIRST},
                            {.updates = 3 * UPDATES,
                             .first = FIRST,
                             .heard = FIRST + HEARD},
                            {.first = ALL}},
                *p = places;
    uint *in = room(11 * UPDATES + ALL * sizeof(hf_update)),
         *out = room(3 * UPDATES + (rank ? OWN : FIRST) * sizeof(hf_update));
    uint step = 1, listed = 0;
    graph_run run = {.in_bits = 10 * UPDATES,
                     .in_updates = 11 * UPDATES,
                     .out_bits = 2 * UPDATES,
                     .head = 2 * UPDATES,
                     .rank = rank,
                     .ranks = 2,
                     .chunks = 1},
              *r = &run;
    for (uint i = 0; i < 2; i++)
        memcpy(i == rank ? out : in, &counts[i], sizeof counts[i]);
    uint *bits = (rank ? out : in) + 2 * UPDATES / 4;
    bit_set(bits, TELLS);
    bits[word] |= more;
    memset(digests, 0, 2 * sizeof *digests);
    void *args[] = {&r, &p, &out, &in, &digests, &step, &listed};
    graph_take_call(args, 1);
    free(in);
    free(out);
}

static void take_test(void) {
    for (uint rank = 0; rank < 2; rank++) {
        uint right[2], wrong[2];
        const uint damaged[] = {HEARD, OWN - 1, NOBODYS};
        take(right, rank, 0, 0, ALL);
        for (uint i = 0; i < sizeof damaged / sizeof *damaged; i++) {
            take(wrong, rank, damaged[i] / 32, 1u << damaged[i] % 32, ALL);
            CHECK(right[0] == wrong[0] && right[1] != wrong[1],
                  "rank %u does not see a damaged bit of %u", rank, damaged[i]);
        }
        /* Of a whole word those that tell something count, and each other as damage. */
        uint told[2];
        take(told, rank, HEARD / 32, (1u << HEARD % 32) - 1, ALL);
        take(wrong, rank, HEARD / 32, HF_NOBODY, ALL);
        CHECK(wrong[1] - told[1] == 32 - HEARD % 32, "rank %u takes a damaged word",
              rank);
        take(wrong, rank, 0, 0, ALL | 1u << 30);
        CHECK(right[0] == wrong[0] && right[1] != wrong[1],
              "rank %u does not see a damaged end of a chunk", rank);
    }
}

int main(void) {
    push_test();
    pull_test();
    few_test();
    take_test();
    return 0;
}
