/* graph_persistent.c - work-items of graph_persistent in threads: however many there are, and
 * whichever comes first, they count and leave what one alone does in one launch, also where a
 * second launch goes on, and where pushes go by ranges. One that is over lets late ones go. */
#include <pthread.h>
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

/* Edges of a row in a range that are worth a search: at 0 all pushes go by ranges. */
enum { NEVER = 1 << 30 };
static unsigned long part = NEVER;
#define GRAPH_REACH_PART part

#include "../../kernels/graph_persistent.h"

enum { OWN = 20000, DEGREE = 8, EDGES = 2 * OWN * DEGREE, CHUNKS = 64, THREADS = 4 };
enum { CAP = GRAPH_ALL ? 6 : 0 }; /* supersteps; 0: the program ends by itself */
enum { WORDS = OWN / 32, BITS = GRAPH_FEW_STEPS * sizeof(graph_count) };
enum {
    UPDATES = BITS + (WORDS + 15) / 16 * 64,
    BOX = UPDATES + OWN * sizeof(hf_update)
};

static ulong rows[OWN + 1];
static uint from[EDGES], weights[EDGES], degrees[2 * OWN], names[OWN],
    chunks[CHUNKS + 1];
static const graph_run run = {.out_bits = BITS,
                              .out_updates = UPDATES,
                              .in_bits = BITS,
                              .in_updates = UPDATES,
                              .own = OWN,
                              .tells = OWN,
                              .step = 1,
                              .ranks = 1,
                              .chunks = CHUNKS,
                              .vertices = OWN,
                              .heard = OWN,
                              .value = {0.85f}};

/* What a run of the program works on. */
typedef struct memory {
    uchar boxes[2][BOX];
    hf_vertex state[OWN];
    uint waiting[WORDS], got[OWN], touched[WORDS];
    hf_update later[OWN];
    uint lists[GRAPH_LISTS_BYTES(sizeof(hf_update)) / sizeof(uint)];
    graph_control control;
    ulong made[2 * CHUNKS];
} memory;

/* Edge `e` goes in front of those from edge `to` on. */
static void edge_move(ulong e, ulong to) {
    const uint end = from[e], weight = weights[e];
    for (; e > to; e--) {
        from[e] = from[e - 1];
        weights[e] = weights[e - 1];
    }
    from[to] = end;
    weights[to] = weight;
}

/* Any edge is the first of its row, and the others rise. */
static void row_sort(ulong begin, ulong end, ulong first) {
    for (ulong e = begin; e < end; e++) {
        ulong to = e;
        while (to > begin && from[to - 1] > from[e])
            to--;
        edge_move(e, to);
    }
    if (begin + first < end)
        edge_move(begin + first, begin);
}

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
    for (size_t v = 0; v < OWN; v++)
        row_sort(rows[v], rows[v + 1], v % 3);
    for (size_t v = 0; v < OWN; v++)
        degrees[OWN + v] = degrees[v] ? from[rows[v]] : HF_NOBODY;
    for (uint c = 0; c <= CHUNKS; c++)
        chunks[c] = c * (OWN / 32) / CHUNKS * 32;
    chunks[CHUNKS] = OWN;
}

static void item_run(memory *m) {
    graph_persistent(chunks, rows, from, weights, degrees, names, &run, m->boxes[0],
                     m->boxes[1], m->state, m->waiting, m->later, chunks, rows, from,
                     weights, m->got, m->touched, m->lists, (uchar *)&m->control);
}

static void *thread_run(void *m) {
    item_run(m);
    return NULL;
}

/* A launch of `threads` work-items at a time. */
static void launch(memory *m, size_t threads) {
    pthread_t others[THREADS];
    m->control.counts[0].superstep = HF_NOBODY;
    for (size_t i = 1; i < threads; i++)
        CHECK(pthread_create(&others[i], NULL, thread_run, m) == 0, "no thread");
    item_run(m);
    for (size_t i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    const uint parts = m->control.meets.done, tickets = m->control.meets.tickets;
    item_run(m);
    CHECK(m->control.meets.done == parts && m->control.meets.tickets == tickets + 1,
          "who came late took part");
}

/* A launch from the start, up to superstep `cap` or a tolerance; 0 and -1: all supersteps. */
static memory *begin(size_t threads, uint cap, float tolerance) {
    memory *m = calloc(1, sizeof *m);
    CHECK(m, "no memory");
    m->control.width = HF_WINDOW;
    m->control.window = graph_window_from(0, &m->control.width, HF_GROWTH);
    m->control.all = EDGES;
    m->control.starts = 1;
    m->control.seal = 7;
    m->control.cap = cap ? cap : CAP;
    m->control.tolerance = tolerance;
    launch(m, threads);
    return m;
}

/* Go on as the host does, behind the `n` supersteps of the first launch. */
static void go_on(memory *m, size_t threads, size_t n) {
    graph_control *c = &m->control;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && c->counts[i - 1].active == 0)
            c->window =
                graph_window_from(c->counts[i - 1].lowest, &c->width, HF_GROWTH);
        c->told += c->counts[i].edges;
    }
    const graph_count last = c->counts[n - 1];
    memset(&c->meets, 0, sizeof c->meets);
    c->edges = last.edges;
    c->superstep = last.superstep;
    c->active = last.active;
    c->pending = last.pending;
    c->lowest = last.lowest;
    c->starts = 0;
    c->cap = CAP;
    c->tolerance = -1;
    if (c->turned % 2) {
        static uchar box[BOX];
        memcpy(box, m->boxes[0], BOX);
        memcpy(m->boxes[0], m->boxes[1], BOX);
        memcpy(m->boxes[1], box, BOX);
    }
    launch(m, threads);
}

/* All vertices with edges are reached, by lists and by the phases that the program has. Returns
 * the supersteps. */
static size_t alone_check(const memory *m) {
    const graph_count *counts = m->control.counts;
    size_t steps = 0, reached = 0, whole = 0, admitted = 0;
    ulong width = HF_WINDOW, window = graph_window_from(0, &width, HF_GROWTH);
    do {
        if (steps > 0 && counts[steps - 1].active == 0)
            window = graph_window_from(counts[steps - 1].lowest, &width, HF_GROWTH);
        CHECK(counts[steps].superstep == steps && counts[steps].first == steps,
              "superstep %zu is %u", steps, counts[steps].superstep);
        CHECK(counts[steps].seal ==
                  graph_seal(&counts[steps], m->control.seal, (uint)steps, window),
              "superstep %zu has the seal of another, or of another window", steps);
        reached += counts[steps].active;
        admitted += counts[steps].active == 0 && counts[steps].pending > GRAPH_FEW_ROOM;
    } while (counts[steps++].end);
    for (size_t v = 0; v < OWN; v++)
        whole += degrees[v] > 0;
    CHECK(reached >= whole, "%zu of %zu vertices told something", reached, whole);
    CHECK(HF_WINDOW == 0 || admitted > 0, "none of %zu supersteps was admitted", steps);
    if (GRAPH_ALL)
        CHECK(m->control.turned == steps && steps == CAP + 1,
              "%zu supersteps, of which %u are no lists", steps, m->control.turned);
    else
        CHECK(m->control.turned > 1 && m->control.turned < steps,
              "%zu supersteps, of which %u are no lists", steps, m->control.turned);
    return steps;
}

/* Where the first message is enough, the order of a list says which one that is, and a list begins
 * anew with each launch. So parents of bfs may differ, each one edge away, but not levels. */
#if GRAPH_EAGER
static uint level_of(const memory *m, uint v) {
    uint level = 0;
    for (uint up; (up = m->state[v].parent) != v; v = up, level++) {
        bool edge = false;
        if (up == HF_NOBODY || level == OWN)
            return HF_NOBODY;
        for (ulong e = rows[v]; e < rows[v + 1]; e++)
            edge = edge || from[e] == up;
        CHECK(edge, "no edge leads from the parent %u to %u", up, v);
    }
    return level;
}

static bool same(const memory *m, const memory *alone, uint v) {
    return level_of(m, v) == level_of(alone, v);
}
#else
static bool same(const memory *m, const memory *alone, uint v) {
    return memcmp(&m->state[v], &alone->state[v], sizeof m->state[v]) == 0;
}
#endif

static void same_check(const memory *m, const memory *alone, size_t first, size_t n,
                       size_t round) {
    for (size_t i = 0; i < n; i++) {
        const graph_count *one = &m->control.counts[i],
                          *other = &alone->control.counts[first + i];
        CHECK(one->superstep == other->superstep && one->active == other->active &&
                  one->edges == other->edges && one->messages == other->messages &&
                  one->known == other->known && one->pending == other->pending,
              "round %zu, superstep %zu counted something else", round, first + i);
    }
    for (uint v = 0; v < OWN; v++)
        CHECK(same(m, alone, v), "round %zu left something else of %u", round, v);
}

int main(void) {
    enum { ROUNDS = GRAPH_ALL ? 6 : 15 };
    graph_make();
    memory *alone = begin(1, 0, -1);
    const size_t steps = alone_check(alone);
    for (size_t i = 0; i < ROUNDS; i++) {
        const size_t threads = 1 + i % THREADS, cut = 2 + i % (steps - 2);
        part = i % 3 ? 0 : NEVER;
        memory *m = begin(threads, 0, -1);
        same_check(m, alone, 0, steps, i);
        free(m);
        m = GRAPH_ALL && i % 2
                ? begin(threads, 0, alone->control.counts[cut - 1].changed)
                : begin(threads, (uint)cut - 1, -1);
        CHECK(!m->control.counts[cut - 1].end, "round %zu went on behind its end", i);
        go_on(m, threads, cut);
        same_check(m, alone, cut, steps - cut, i);
        free(m);
    }
    free(alone);
    return 0;
}
