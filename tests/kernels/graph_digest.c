/* graph_digest.c - the sum of the digests of updates is another where updates changed places, are
 * those of a superstep before or have another bit, once or all of them. */
#include "check_kernel.h"

#include "../../kernels/graph_memory.cl"

enum { VERTICES = 1024, STEP = 5 };

/* How the update that vertex `v` has differs from what it told. */
typedef uint (*fault)(uint v);

static uint told(uint v) {
    return 3 + v / 2; /* neighbours may tell the same */
}
static uint swapped(uint v) {
    return told(v == 33 ? 77 : v == 77 ? 33 : v);
}
static uint all_swapped(uint v) {
    return told(v ^ 2);
}
static uint turned(uint v) {
    return told((v + 2) % VERTICES);
}
static uint flipped(uint v) {
    return told(v) ^ (v == 33);
}
static uint all_flipped(uint v) {
    return told(v) ^ 1u << 31;
}
static uint repeated(uint v) {
    return told(v == 33 ? 35 : v);
}

static uint digest_of(fault f, uint superstep) {
    uint sum = 0;
    for (uint v = 0; v < VERTICES; v++)
        sum += graph_digest(v, f(v), superstep);
    return sum;
}

int main(void) {
    const fault faults[] = {swapped, all_swapped, turned,
                            flipped, all_flipped, repeated};
    const uint right = digest_of(told, STEP);
    CHECK(right == digest_of(told, STEP), "the same updates have another digest");
    CHECK(right != digest_of(told, STEP - 1), "those of a superstep before pass");
    for (uint i = 0; i < sizeof faults / sizeof *faults; i++)
        CHECK(right != digest_of(faults[i], STEP), "fault %u passes", i);
    return 0;
}
