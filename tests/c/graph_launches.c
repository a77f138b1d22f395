/* graph_launches.c - lists have 32 bits for edges: with more, a program that pushes has a launch
 * for each superstep. */
#include "bench/graph_engine.h"
#include "check.h"

/* Does the program have lists, and a persistent kernel, in a graph of so many edges? */
static void edges_test(bool pushes, uint64_t edges, bool fewer, bool persists) {
    hf_part part = {.in_edges = edges};
    graph_state s = {.env = {.size = 1, .ndrange = true},
                     .routing = &graph_by_plans,
                     .architecture = &graph_updates_cross,
                     .direction = GRAPH_AUTO,
                     .traits[GRAPH_ALWAYS] = !pushes,
                     .pushes = pushes,
                     .part = &part};
    graph_launches_choose(&s);
    CHECK(s.fewer == fewer && s.persists == persists, "%llu edges: %d, %d",
          (unsigned long long)edges, s.fewer, s.persists);
}

int main(void) {
    const uint64_t most = UINT32_MAX;
    edges_test(true, most, true, true);
    edges_test(true, most + 1, false, false);
    edges_test(false, most, false, true);
    edges_test(false, most + 1, false, true);
    return check_failures > 0;
}
