/* graph_crew.c - work-items of graph_crew in threads: however many there are, and whichever comes
 * first, they count and leave what one alone does. A launch that is over lets late ones go. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check_kernel.h"

/* Threads swap words: one work-item at a time would not. */
static unsigned swap(unsigned *address, unsigned old, unsigned x) {
    __atomic_compare_exchange_n(address, &old, x, 0, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return old;
}
#define HF_SWAP(address, old, x) swap(address, old, x)
#define HF_OR(address, x)        __atomic_fetch_or(address, x, __ATOMIC_RELAXED)
#define HF_LOOK(address)         __atomic_load_n(address, __ATOMIC_RELAXED)

#include "../../kernels/graph_crew.h"

enum { OWN = 20000, DEGREE = 8, EDGES = 2 * OWN * DEGREE, CHUNKS = 64, THREADS = 4 };
enum { WORDS = OWN / 32, BITS = GRAPH_FEW_STEPS * sizeof(graph_count) };
enum { UPDATES = BITS + (WORDS + 15) / 16 * 64, BOX = UPDATES + OWN * sizeof(hf_update) };

static ulong rows[OWN + 1];
static uint from[EDGES], weights[EDGES], degrees[OWN], names[OWN], chunks[CHUNKS + 1];
static const graph_run run = {.out_bits = BITS,
                              .out_updates = UPDATES,
                              .in_bits = BITS,
                              .in_updates = UPDATES,
                              .own = OWN,
                              .step = 1,
                              .ranks = 1,
                              .chunks = CHUNKS,
                              .vertices = OWN};

/* What a run of the program works on. */
typedef struct memory {
    uchar boxes[2][BOX];
    hf_vertex state[OWN];
    uint waiting[WORDS], got[OWN], touched[WORDS];
    hf_update later[OWN];
    uint lists[2 * (GRAPH_FEW_ROOM + GRAPH_FEW_EDGES)];
    hf_update told[GRAPH_FEW_ROOM];
    graph_shift shift;
    ulong made[2 * CHUNKS];
} memory;

/* Random edges, each both ways. */
static void graph_make(void) {
    static uint ends[EDGES / 2][2];
    uint x = 1;
    for (size_t e = 0; e < EDGES / 2; e++)
        for (size_t i = 0; i < 2; i++) {
            x = graph_mix(x, (uint)e);
            ends[e][i] = x % OWN;
            rows[ends[e][i] + 1]++;
        }
    for (size_t v = 0; v < OWN; v++) {
        degrees[v] = (uint)rows[v + 1];
        rows[v + 1] += rows[v];
    }
    for (size_t e = 0; e < EDGES / 2; e++)
        for (size_t i = 0; i < 2; i++) {
            weights[rows[ends[e][i]]] = 1 + (uint)e % 255;
            from[rows[ends[e][i]]++] = ends[e][1 - i];
        }
    memmove(rows + 1, rows, OWN * sizeof *rows);
    rows[0] = 0;
    for (uint c = 0; c <= CHUNKS; c++)
        chunks[c] = c * (OWN / 32) / CHUNKS * 32;
    chunks[CHUNKS] = OWN;
}

static void item_run(memory *m) {
    graph_crew(chunks, rows, from, weights, degrees, names, &run, m->boxes[0], m->boxes[1],
               m->state, m->waiting, m->later, chunks, rows, from, weights, m->got,
               m->touched, m->lists, (uchar *)&m->shift);
}

static void *thread_run(void *m) {
    item_run(m);
    return NULL;
}

/* A launch from the start, of `threads` work-items at a time. */
static memory *launch(size_t threads) {
    pthread_t others[THREADS];
    memory *m = calloc(1, sizeof *m);
    CHECK(m, "no memory");
    graph_shift *shift = &m->shift;
    shift->width = HF_WINDOW;
    shift->window = graph_window_from(0, &shift->width, HF_GROWTH);
    shift->all = EDGES;
    shift->starts = 1;
    shift->counts[0].superstep = HF_NOBODY;
    for (size_t i = 1; i < threads; i++)
        CHECK(pthread_create(&others[i], NULL, thread_run, m) == 0, "no thread");
    item_run(m);
    for (size_t i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    const uint parts = shift->meets.done, tickets = shift->meets.tickets;
    item_run(m);
    CHECK(shift->meets.done == parts && shift->meets.tickets == tickets + 1,
          "who came late took part");
    return m;
}

/* All vertices with edges are reached, by lists and by phases. */
static size_t alone_check(const memory *m) {
    size_t steps = 0, reached = 0;
    while (m->shift.counts[steps].end)
        steps++;
    CHECK(steps > 3 && steps + 1 < GRAPH_FEW_STEPS, "%zu supersteps", steps);
    for (size_t i = 0; i <= steps; i++) {
        const graph_count *count = &m->shift.counts[i];
        CHECK(count->superstep == i && count->first == i, "superstep %zu is %u", i,
              count->superstep);
        reached += count->active;
    }
    size_t whole = 0;
    for (size_t v = 0; v < OWN; v++)
        whole += degrees[v] > 0;
    CHECK(reached >= whole, "%zu of %zu vertices told something", reached, whole);
    CHECK(m->shift.turned > 1 && m->shift.turned <= steps,
          "%zu supersteps, of which %u are no lists", steps, m->shift.turned);
    return steps + 1;
}

int main(void) {
    enum { ROUNDS = 25 };
    graph_make();
    memory *alone = launch(1);
    const size_t steps = alone_check(alone);
    for (size_t i = 0; i < ROUNDS; i++) {
        memory *m = launch(1 + i % THREADS);
        CHECK(memcmp(m->shift.counts, alone->shift.counts, steps * sizeof(graph_count)) ==
                  0,
              "round %zu counted something else", i);
        CHECK(memcmp(m->state, alone->state, sizeof m->state) == 0,
              "round %zu left something else", i);
        free(m);
    }
    free(alone);
    return 0;
}
