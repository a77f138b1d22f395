/* ptrans_stream.c - kernels/ptrans_stream.cl as plain C: pairs of kernels in threads.
 *
 * cc -std=c11 -fsanitize=address,undefined -pthread -Icsrc -Ikernels \
 *    tests/kernels/ptrans_stream.c [-DHF_CHANNEL_WIDTH=8] [-DHF_REAL=double]
 */
#include <stdbool.h>

#include "rings.h"

#define HF_BLOCK 32
#include "../../kernels/ptrans_stream.cl"

enum { BLOCK = 32, SIZE = BLOCK * BLOCK, MOST_BLOCKS = 5, BOARDS = 2 };

/** What a board holds. */
typedef struct board {
    HF_REAL a[MOST_BLOCKS * SIZE], b[MOST_BLOCKS * SIZE], c[MOST_BLOCKS * SIZE];
    uint sources[MOST_BLOCKS];
} board;

static board boards[BOARDS];

static void boards_fill(void) {
    for (int k = 0; k < BOARDS; k++)
        for (uint i = 0; i < MOST_BLOCKS * SIZE; i++) {
            boards[k].a[i] = (HF_REAL)(i * 7 % 1009 + (uint)k * 2000);
            boards[k].b[i] = (HF_REAL)(i * 3 % 503);
            boards[k].c[i] = -1;
        }
}

/** Two boards, each wired to the other, or to itself; `blocks` blocks in the order of the
 *  sources, `rounds` times. */
static void pair_check(uint blocks, ulong rounds, size_t depth, bool self) {
    hf_ring *in[BOARDS];
    void *a[BOARDS], *b[BOARDS], *c[BOARDS], *sources[BOARDS];
    task tasks[2 * BOARDS];
    boards_fill();
    for (int k = 0; k < BOARDS; k++) {
        in[k] = ring_new(depth);
        a[k] = boards[k].a;
        b[k] = boards[k].b;
        c[k] = boards[k].c;
        sources[k] = boards[k].sources;
        for (uint i = 0; i < blocks; i++)
            boards[k].sources[i] = (i + 1 + (uint)k) % blocks;
    }
    for (int k = 0; k < BOARDS; k++) {
        int to = self ? k : 1 - k;
        tasks[2 * k] = (task){.call = ptrans_send_0_call,
                              .args = {&a[k], &sources[k], &blocks, &rounds, &in[to]}};
        tasks[2 * k + 1] = (task){.call = ptrans_recv_1_call,
                                  .args = {&b[k], &c[k], &blocks, &rounds, &in[k]}};
    }
    tasks_start(tasks, 2 * BOARDS);
    tasks_join(tasks, 2 * BOARDS);
    for (int k = 0; k < BOARDS; k++) {
        const board *mine = &boards[k], *theirs = &boards[self ? k : 1 - k];
        for (uint n = 0; n < MOST_BLOCKS; n++)
            for (uint i = 0; i < BLOCK; i++)
                for (uint j = 0; j < BLOCK; j++) {
                    uint at = n * SIZE + i * BLOCK + j;
                    uint from = theirs->sources[n % blocks] * SIZE + j * BLOCK + i;
                    HF_REAL right = n < blocks ? mine->b[at] + theirs->a[from] : -1;
                    CHECK(mine->c[at] == right, "board %d: block %u at %u, %u: %g", k,
                          n, i, j, (double)mine->c[at]);
                }
        CHECK(in[k]->reader.moved == rounds * blocks * PTRANS_CHUNKS &&
                  in[k]->reader.moved == in[k]->writer.moved,
              "board %d: packets that nobody wants", k);
        free(in[k]);
    }
}

int main(void) {
    static const size_t depths[] = {3, 100, 8192};
    for (uint blocks = 1; blocks <= MOST_BLOCKS; blocks++)
        for (ulong rounds = 1; rounds <= 3; rounds++)
            for (int d = blocks * rounds > 2; d < 3; d++) /* depth 3 is slow */
                for (int self = 0; self < 2; self++)
                    pair_check(blocks, rounds, depths[d], self);
    return 0;
}
