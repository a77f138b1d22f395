/* graph_led.c - a word of vertices that pull by their first edges, all at once: it leaves what one
 * vertex after the other does, and which vertices these are is found alike by any number. */
/* clang-format off */
#define HF_PROGRAM ../../tests/kernels/graph_near
/* clang-format on */

#include <string.h>

#include "check_kernel.h"

#include "../../kernels/graph_memory.cl"

enum { OWN = 96, FIRST = 32, MIRROR = 128, ROOM = 20, LIST = 2 * ROOM, UNTIL = 20 };

/* A sequence of numbers that does not repeat here: of all 32 bits. */
static uint next(void) {
    static ulong x = 1;
    x = x * 6364136223846793005 + 1442695040888963407;
    return (uint)(x >> 32);
}

/* What a word of vertices is pulled with, and what that leaves. */
typedef struct word {
    graph_run run;
    ulong rows[OWN + 1];
    uint names[OWN], degrees[OWN], leads[OWN], weights[OWN], mirror[MIRROR];
    hf_vertex state[OWN];
    uint later[OWN], told[OWN], list[LIST];
    graph_word word;
    graph_out out;
} word;

/* A word whose vertices with a bit in `led` have a first edge that counts, of one rank or several;
 * edges leave `tells` of them. Nobody may look where the first edge of another leads. */
static void word_make(word *w, uint led, uint tells, uint digests, uint step) {
    memset(w, 0, sizeof *w);
    w->run.own = OWN;
    w->run.tells =
        OWN; /* a part may drop edges: it has room for updates that nobody hears */
    w->run.step = step;
    for (uint v = 0; v < OWN; v++) {
        const uint mine = v >= FIRST && led >> (v - FIRST) % 32 & 1,
                   nobodys = mine ? 0 : 1u << 31;
        w->rows[v + 1] = v + 1;
        w->names[v] = next() % 1000 | nobodys;
        w->degrees[v] = (v < FIRST + tells ? 1 + next() % 5 : 0) | nobodys;
        w->leads[v] = mine ? next() % MIRROR : HF_NOBODY;
        w->weights[v] = next() % 9;
        w->state[v].far = next() % 30 | nobodys;
        w->later[v] = w->told[v] = HF_NOBODY;
    }
    for (uint u = 0; u < MIRROR; u++)
        w->mirror[u] = next() % 24;
    w->word.late = next();
    w->word.bits = next() & ~w->word.late;
    w->out.digests = digests;
    w->out.room = ROOM;
    w->out.superstep = 3;
    w->out.until = UNTIL;
    w->out.count = graph_nothing(0, OWN, 3);
    w->out.count.active = next() % 4;
    w->out.count.edges = next();
    w->out.count.messages = next();
    w->out.count.digest = next();
}

/* The parts of `w` that pointers lead to are its own. */
static word *own(word *w) {
    w->out.told = w->told;
    w->out.list = w->out.ids = w->list;
    w->out.tolds = w->list + ROOM;
    return w;
}

static uint one_by_one(word *w, uint led, uint settled) {
    uint enough = 0;
    for (uint i = 0; i < 32; i++) {
        const uint v = FIRST + i;
        if (!(led >> i & 1))
            continue;
        const hf_message got =
            graph_along_from(w->leads[v], w->weights, w->mirror, w->rows[v]);
        if (!HF_ENOUGH(got, settled))
            continue;
        enough |= 1u << i;
        w->out.count.messages++;
        graph_change(&w->out, &w->word, &w->run, w->names, w->degrees, w->state,
                     w->later, v, got);
    }
    return enough;
}

static uint at_once(word *w, uint led, uint settled) {
    return graph_led_change(&w->out, &w->word, &w->run, w->names, w->degrees, w->rows,
                            w->leads, w->weights, w->mirror, w->state, w->later, FIRST,
                            led, settled);
}

static void change_test(uint led, uint tells, uint digests, uint step) {
    word one, all;
    uint settled = next() % 20;
    word_make(&one, led, tells, digests, step);
    memcpy(&all, &one, sizeof all);
    const uint right = one_by_one(own(&one), led, settled),
               enough = at_once(own(&all), led, settled);
    CHECK(enough == right, "%08x have enough, not %08x", enough, right);
    memset(&one.out, 0, offsetof(graph_out, digests)); /* its pointers */
    memset(&all.out, 0, offsetof(graph_out, digests));
    CHECK(!memcmp(&one, &all, sizeof one), "%08x by first edges leave another state",
          led);
}

static void led_by_test(uint these) {
    uint leads[OWN], active[MIRROR / 32], right = 0;
    for (uint v = 0; v < OWN; v++)
        leads[v] = next() % MIRROR;
    for (uint i = 0; i < MIRROR / 32; i++)
        active[i] = next();
    for (uint i = 0; i < 32; i++) {
        const uint u = leads[FIRST + i];
        right |= (these >> i & active[u / 32] >> u % 32 & 1) << i;
        if (!(these >> i & 1))
            leads[FIRST + i] = HF_NOBODY; /* nobody may look there */
    }
    const uint led = graph_led_by(leads, active, FIRST, these);
    CHECK(led == right, "%08x of %08x, not %08x", led, these, right);
}

/* Edges lead to each `every`-th vertex before `end`. */
static void led_end_test(uint first, uint last, uint end, uint every) {
    ulong rows[OWN + 1] = {0};
    uint right = first;
    for (uint v = 0; v < OWN; v++) {
        const uint has = v < end && v % every == 0;
        rows[v + 1] = rows[v] + has;
        if (has && v >= first && v < last)
            right = v + 1;
    }
    const uint found = graph_led_end(rows, first, last);
    CHECK(found == right, "edges end at %u of %u to %u, not %u", found, first, last,
          right);
}

int main(void) {
    for (uint n = 0; n < 4000; n++) {
        uint led = next();
        led = n % 3 == 0 ? led : n % 3 == 1 ? led & next() : HF_NOBODY;
        led_by_test(n ? led : 0);
        change_test(led ? led : 1, n % 7 ? 32 : n % 32, n % 2, n % 5 == 0);
    }
    for (uint first = 0; first <= OWN; first += 32)
        for (uint last = first; last <= OWN; last += 16)
            for (uint end = 0; end <= OWN; end++)
                for (uint every = 1; every < 40; every += 6)
                    led_end_test(first, last, end, every);
    return 0;
}
