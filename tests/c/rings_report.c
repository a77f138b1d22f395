/* rings_report.c - what ranks 0 and 1 say of kernels that have not ended, told apart: a deadlock, a
 * kernel that computes, one that waits for a core, a rank that stands still.
 *
 * Each rank has a kernel `send` and a kernel `take`; a link leads from send to take of the other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "core/error.h"
#include "rings.h"

enum { RANKS = 2, DEPTH = 4, WIDTH = 8, SEND = 0, TAKE = 1, KERNELS = 2 };

static hf_rings r;
static atomic_bool reports;
static bool answers, moves; /* what rank 1 does while a report is made */

/* Rank 1: a packet goes through ring 0, and it looks at its kernels. */
static void *other_run(void *context) {
    hf_roster *its = hf_rings_roster(&r, 1);
    hf_ring *ring = hf_rings_at(&r, 0);
    (void)context;
    while (answers && reports) {
        if (HF_RING_LOAD(&r.looks[1]) == its->looks) { /* the report has begun */
            HF_RING_STORE(&ring->writer.moved, ring->writer.moved + moves);
            HF_RING_STORE(&ring->reader.moved, ring->reader.moved + moves);
            HF_RING_STORE(&its->looks, its->looks + 1);
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return NULL;
}

/* All kernels run, and none waits. */
static void ranks_make(void) {
    hf_ring *ring;
    for (int rank = 0; rank < RANKS; rank++) {
        hf_roster *its = hf_rings_roster(&r, rank);
        memset(its, 0, r.shared->bytes);
        its->n = KERNELS;
        snprintf(its->names[SEND], sizeof its->names[SEND], "rank %d send", rank);
        snprintf(its->names[TAKE], sizeof its->names[TAKE], "rank %d take", rank);
    }
    for (int to = 0; (ring = hf_rings_at(&r, (size_t)to)); to++) {
        ring->depth = DEPTH;
        ring->writer.owner = hf_rings_kernel(1 - to, SEND);
        ring->reader.owner = hf_rings_kernel(to, TAKE);
        snprintf(ring->names[0], sizeof ring->names[0], "rank %d send out 0", 1 - to);
        snprintf(ring->names[1], sizeof ring->names[1], "rank %d take in 0", to);
    }
}

/* The ring that leads to a rank: so many packets, and who waits. */
static void link_set(int to, hf_word written, hf_word read, bool writer, bool reader) {
    hf_ring *ring = hf_rings_at(&r, (size_t)to);
    ring->writer.moved = written;
    ring->reader.moved = read;
    ring->writer.waits = writer;
    ring->reader.waits = reader;
}

static void report_check(const bool *ended, const char *cause, const char *text) {
    pthread_t other;
    hf_report report = {.used = 0};
    reports = true;
    r.looks[1] = ~(hf_word)0;
    CHECK(pthread_create(&other, NULL, other_run, NULL) == 0);
    hf_status status = hf_medium_rings.report(&r.base, &report, ended);
    reports = false;
    pthread_join(other, NULL);
    CHECK(status == HF_OK, "%s", hf_error());
    CHECK(strcmp(report.cause, cause) == 0, "%s, not %s", report.cause, cause);
    CHECK(strcmp(report.text, text) == 0, "\"%s\", not \"%s\"", report.text, text);
}

static void reports_test(void) {
    static const bool none[KERNELS], sent[KERNELS] = {[SEND] = true};
    ranks_make();
    answers = true;
    hf_rings_roster(&r, 1)->ended[SEND] = 1;
    link_set(0, 3, 3, false, true);
    link_set(1, 5, 5, false, true);
    report_check(sent, "deadlock",
                 "; rank 0 take in 0: empty after 3 packets"
                 "; rank 1 take in 0: empty after 5 packets");
    moves = true;
    report_check(sent, "kernels go on",
                 "; rank 0 take in 0: empty after 4 packets"
                 "; rank 1 take in 0: empty after 5 packets");
    moves = false;
    link_set(0, 3, 3, false, true);
    link_set(1, 9, 5, true, false);
    report_check(none, "rank 1 take still computes",
                 "; rank 0 take in 0: empty after 3 packets"
                 "; rank 0 send out 0: full after 9 packets");
    hf_rings_roster(&r, 1)->ended[SEND] = 0;
    report_check(none, "rank 1 send still computes",
                 "; rank 1 take still computes"
                 "; rank 0 take in 0: empty after 3 packets"
                 "; rank 0 send out 0: full after 9 packets");
    link_set(0, 4, 3, true, true);
    link_set(1, 8, 5, true, true);
    report_check(none, "kernels go on",
                 "; rank 1 send out 0: ready after 4 packets"
                 "; rank 0 take in 0: ready after 3 packets"
                 "; rank 0 send out 0: ready after 8 packets"
                 "; rank 1 take in 0: ready after 5 packets");
    answers = false;
    link_set(0, 3, 3, false, true);
    report_check(sent, "rank 1 stands still",
                 "; rank 0 take in 0: empty after 3 packets"
                 "; rank 0 send out 0: ready after 8 packets"
                 "; rank 1 take in 0: ready after 5 packets");
    link_set(1, 8, 5, false, true); /* a rank of a higher number is the cause */
    report_check(none, "rank 1 stands still",
                 "; rank 0 send still computes"
                 "; rank 0 take in 0: empty after 3 packets"
                 "; rank 1 take in 0: ready after 5 packets");
    hf_rings_roster(&r, 1)->ended[SEND] = hf_rings_roster(&r, 1)->ended[TAKE] = 1;
    link_set(1, 5, 5, false, false);
    report_check(sent, "deadlock",
                 "; rank 0 take in 0: empty after 3 packets"
                 "; rank 1 runs no kernel");
    /* Rank 1 is between its first launch and its second. */
    hf_rings_roster(&r, 0)->launches = 2;
    hf_rings_roster(&r, 1)->launches = 1;
    report_check(sent, "rank 1 stands still",
                 "; rank 0 take in 0: empty after 3 packets"
                 "; rank 1 runs no kernel");
}

static void stopped_check(int rank, const char *line) {
    static const bool none[KERNELS];
    hf_report report = {.used = 0};
    r.base.net->rank = rank;
    CHECK(hf_medium_rings.report(&r.base, &report, none) == HF_ECOMM);
    CHECK(strcmp(hf_error(), line) == 0, "%s", hf_error());
}

/* Who reads after another rank has stopped the kernels says what that one says. */
static void halt_test(void) {
    ranks_make();
    hf_medium_rings.stop(&r.base, "rank 1 stands still");
    stopped_check(1, "rank 1 stands still");
    stopped_check(0,
                  "another rank stopped the channels"); /* it is the one, and knows */
}

int main(void) {
    hf_transport net = {.rank = 0, .size = RANKS};
    hf_word looks[RANKS];
    void *parts[RANKS];
    hf_shared shared = {.parts = parts, .bytes = 3 * sizeof(hf_ring)};
    r = (hf_rings){.base = {.ops = &hf_medium_rings,
                            .net = &net,
                            .wiring = {.ports = 1, .width = WIDTH, .depth = DEPTH},
                            .n = KERNELS},
                   .shared = &shared,
                   .looks = looks};
    for (int rank = 0; rank < RANKS; rank++)
        if (posix_memalign(&parts[rank], sizeof(hf_ring), shared.bytes) != 0)
            return 1;
    reports_test();
    halt_test();
    for (int rank = 0; rank < RANKS; rank++)
        free(parts[rank]);
    return check_failures != 0;
}
