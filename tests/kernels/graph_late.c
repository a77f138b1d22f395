/* graph_late.c - those that wait in graph_few of sssp: a bit behind the last vertex, which came
 * damaged, names none of them, and of more than the list has room for nobody is listed. */
/* clang-format off */
#define HF_PROGRAM ../../kernels/programs/sssp
/* clang-format on */

#include "check_kernel.h"

#include "../../kernels/graph_memory.cl"

enum { NEAREST = 3 };

/* All of the n first vertices wait, the last of them as the nearest, and their lists are not
 * complete yet. */
typedef struct late {
    uint *memory, *waiting, *later;
    graph_lists lists;
} late;

static void *room(size_t words) {
    void *p = calloc(words, sizeof(uint));
    CHECK(p, "no memory");
    return p;
}

static late late_new(uint n, uint own) {
    late l = {.memory = room(GRAPH_LISTS_BYTES(sizeof(hf_update)) / sizeof(uint)),
              .waiting = room((own + 31) / 32),
              .later = room(own)};
    for (uint v = 0; v < n; v++) {
        l.waiting[v / 32] |= 1u << v % 32;
        l.later[v] = v + 1 < n ? NEAREST + 1 + v : NEAREST;
    }
    l.lists = graph_lists_in(l.memory, n);
    return l;
}

static void late_free(late *l) {
    free(l->memory);
    free(l->waiting);
    free(l->later);
}

static void behind_test(void) {
    enum { OWN = 40 };
    late l = late_new(OWN, OWN);
    l.waiting[OWN / 32] |= 1u << (OWN + 12) % 32;
    uint lowest = graph_late(&l.lists, l.waiting, l.later, OWN);
    CHECK(lowest == NEAREST && l.lists.n_late == OWN,
          "%u of %u wait, the nearest at %u", l.lists.n_late, OWN, lowest);
    for (uint i = 0; i < OWN; i++)
        CHECK(l.lists.late[i] == i, "vertex %u is listed in place of %u",
              l.lists.late[i], i);
    late_free(&l);
}

/* So many wait: are they listed? */
static void room_test(uint n, bool listed) {
    const uint own = n + 5;
    late l = late_new(n, own);
    for (uint again = 0; again < 2; again++) {
        uint lowest = graph_late(&l.lists, l.waiting, l.later, own);
        CHECK(lowest == NEAREST, "%u wait, the nearest at %u", n, lowest);
        CHECK(l.lists.known == listed && l.lists.n_late == (listed ? n : 0),
              "%u of %u that wait are listed", l.lists.n_late, n);
        CHECK(l.lists.next[0] == 0, "the list goes on behind its end");
    }
    late_free(&l);
}

int main(void) {
    behind_test();
    room_test(GRAPH_FEW_ROOM, true);
    room_test(GRAPH_FEW_ROOM + 1, false);
    return 0;
}
