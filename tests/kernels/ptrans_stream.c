/* ptrans_stream.c - kernels/ptrans_stream.cl as plain C: pairs of kernels in threads.
 *
 * cc -std=c11 -fsanitize=address,undefined -pthread -Icsrc -Ikernels \
 *    tests/kernels/ptrans_stream.c [-DHF_CHANNEL_WIDTH=8] [-DHF_REAL=double]
 */
#include <stdbool.h>

#include "rings.h"

#define HF_BLOCK 32
#include "../../kernels/ptrans_stream.cl"

enum { BLOCK = 32, SIZE = BLOCK * BLOCK, MAX_BLOCKS = 5, BOARDS = 2 };

/** What a board holds. */
typedef struct board {
    HF_REAL a[MAX_BLOCKS * SIZE], b[MAX_BLOCKS * SIZE], c[MAX_BLOCKS * SIZE];
    uint sources[MAX_BLOCKS];
} board;

static board boards[BOARDS];

static void boards_fill(void) {
    for (int k = 0; k < BOARDS; k++)
        for (uint i = 0; i < MAX_BLOCKS * SIZE; i++) {
            boards[k].a[i] = (HF_REAL)(i * 7 % 1009 + (uint)k * 2000);
            boards[k].b[i] = (HF_REAL)(i * 3 % 503);
            boards[k].c[i] = -1;
        }
}

/** Two boards, each wired to the other, or to itself. `far` blocks go there in the order of
 *  the sources; before them `own` blocks, on the second board one more, stay where they are. */
static void pair_check(uint own, uint far, size_t depth, bool self) {
    hf_ring *in[BOARDS], *held[BOARDS];
    void *a[BOARDS], *b[BOARDS], *c[BOARDS], *sources[BOARDS];
    uint near[BOARDS], blocks[BOARDS];
    task tasks[2 * BOARDS];
    boards_fill();
    for (int k = 0; k < BOARDS; k++) {
        in[k] = ring_new(depth);
        held[k] = ring_new(16);
        a[k] = boards[k].a;
        b[k] = boards[k].b;
        c[k] = boards[k].c;
        sources[k] = boards[k].sources;
        near[k] = own > 0 ? own + (uint)k : 0;
        blocks[k] = near[k] + far;
        for (uint i = 0; i < near[k]; i++)
            boards[k].sources[i] = (i + 1) % near[k];
        for (uint i = 0; i < far; i++)
            boards[k].sources[near[k] + i] = (i + 1 + (uint)k) % far;
    }
    for (int k = 0; k < BOARDS; k++) {
        int to = self ? k : 1 - k;
        tasks[2 * k] = (task){
            .call = ptrans_send_0_call,
            .args = {&a[k], &sources[k], &blocks[k], &near[k], &in[to], &held[k]}};
        tasks[2 * k + 1] =
            (task){.call = ptrans_recv_1_call,
                   .args = {&b[k], &c[k], &blocks[k], &near[k], &in[k], &held[k]}};
    }
    tasks_start(tasks, 2 * BOARDS);
    tasks_join(tasks, 2 * BOARDS);
    for (int k = 0; k < BOARDS; k++) {
        int other = self ? k : 1 - k;
        const board *mine = &boards[k];
        for (uint n = 0; n < MAX_BLOCKS; n++) {
            bool stays = n < near[k], comes = n < blocks[k];
            const board *theirs = &boards[stays ? k : other];
            uint sent = stays ? n : n - near[k] + near[other];
            uint source = comes ? theirs->sources[sent] + (stays ? 0 : near[other]) : 0;
            for (uint i = 0; i < BLOCK; i++)
                for (uint j = 0; j < BLOCK; j++) {
                    uint at = n * SIZE + i * BLOCK + j;
                    HF_REAL sum =
                        mine->b[at] + theirs->a[source * SIZE + j * BLOCK + i];
                    CHECK(mine->c[at] == (comes ? sum : -1),
                          "board %d: block %u at %u, %u: %g", k, n, i, j,
                          (double)mine->c[at]);
                }
        }
        CHECK(in[k]->reader.moved == far * PTRANS_CHUNKS &&
                  in[k]->reader.moved == in[k]->writer.moved &&
                  held[k]->reader.moved == near[k] * PTRANS_CHUNKS &&
                  held[k]->reader.moved == held[k]->writer.moved,
              "board %d: packets that nobody wants", k);
        free(in[k]);
        free(held[k]);
    }
}

int main(void) {
    static const size_t depths[] = {3, 100, 8192};
    for (uint far = 0; far <= MAX_BLOCKS; far++)
        for (int d = far > 2; d < 3; d++) /* depth 3 is slow */
            for (int self = 0; self < 2; self++)
                for (uint own = 0; own == 0 || own + 1 + far <= MAX_BLOCKS; own++)
                    pair_check(own, far, depths[d], self);
    return 0;
}
