/* rings_report.c - why kernels on a node have not ended: a rank stands still, a kernel computes, or
 * each waits for another, which is a deadlock. */
#include <time.h>

#include "core/clock.h"
#include "rings.h"

/* How long a rank may take to answer [s]: one that runs looks at its kernels every HF_HEARING. */
static const double answer_seconds = 1;
static const struct timespec nap = {0, 1000000};

void hf_rings_look(hf_medium *base, const bool *ended) {
    hf_roster *mine = hf_rings_roster((hf_rings *)base, base->net->rank);
    for (size_t i = 0; i < base->n; i++)
        HF_RING_STORE(&mine->ended[i], ended[i]);
    HF_RING_STORE(&mine->looks, mine->looks + 1);
}

/* ---- ranks ---- */

static size_t kernels_left(const hf_rings *r, int rank) {
    const hf_roster *its = hf_rings_roster(r, rank);
    size_t n = HF_RING_LOAD(&its->n), left = 0;
    for (size_t i = 0; i < n; i++)
        left += !HF_RING_LOAD(&its->ended[i]);
    return left;
}

/* Has a rank not begun the launch that this one waits in? */
static bool rank_behind(const hf_rings *r, int rank) {
    return HF_RING_LOAD(&hf_rings_roster(r, rank)->launches) <
           hf_rings_roster(r, r->base.net->rank)->launches;
}

/* Has a rank that should look at kernels not done so since the report began? */
static bool rank_silent(const hf_rings *r, int rank) {
    return rank != r->base.net->rank &&
           (kernels_left(r, rank) > 0 || rank_behind(r, rank)) &&
           HF_RING_LOAD(&hf_rings_roster(r, rank)->looks) == r->looks[rank];
}

static bool any_silent(const hf_rings *r) {
    bool silent = false;
    for (int rank = 0; rank < r->base.net->size; rank++)
        silent |= rank_silent(r, rank);
    return silent;
}

/* Wait until each rank has looked at its kernels again, or `answer_seconds`. This rank looks at
 * its own, for others that report. */
static void ranks_hear(hf_rings *r, const bool *ended) {
    double end = hf_clock_now() + answer_seconds;
    for (int rank = 0; rank < r->base.net->size; rank++)
        r->looks[rank] = HF_RING_LOAD(&hf_rings_roster(r, rank)->looks);
    do {
        hf_rings_look(&r->base, ended);
        nanosleep(&nap, NULL);
    } while (any_silent(r) && hf_clock_now() < end && !hf_rings_halted(r));
}

/* ---- kernels ---- */

/* Does the kernel of this number wait at any of its rings? */
static bool kernel_waits(const hf_rings *r, hf_word kernel) {
    const hf_ring *ring;
    for (size_t i = 0; (ring = hf_rings_at(r, i)); i++)
        if ((ring->writer.owner == kernel && HF_RING_LOAD(&ring->writer.waits)) ||
            (ring->reader.owner == kernel && HF_RING_LOAD(&ring->reader.waits)))
            return true;
    return false;
}

static void kernels_report(const hf_rings *r, hf_report *report, int rank) {
    const hf_roster *its = hf_rings_roster(r, rank);
    size_t n = HF_RING_LOAD(&its->n);
    for (size_t i = 0; i < n; i++)
        if (!HF_RING_LOAD(&its->ended[i]) && !kernel_waits(r, hf_rings_kernel(rank, i)))
            hf_report_cause(report, "%s still computes", its->names[i]);
}

/* ---- rings ---- */

static hf_word packets_moved(const hf_rings *r) {
    const hf_ring *ring;
    hf_word moved = 0;
    for (size_t i = 0; (ring = hf_rings_at(r, i)); i++)
        moved += HF_RING_LOAD(&ring->writer.moved) + HF_RING_LOAD(&ring->reader.moved);
    return moved;
}

/* Report a side that waits. Returns whether what it waits for is there: then its kernel is slow,
 * or has no core. */
static bool side_report(hf_report *report, const hf_ring *ring, bool writer) {
    const hf_ring_side *side = writer ? &ring->writer : &ring->reader;
    hf_word written = HF_RING_LOAD(&ring->writer.moved),
            read = HF_RING_LOAD(&ring->reader.moved);
    bool full = written - read >= ring->depth, empty = written <= read,
         ready = writer ? !full : !empty;
    if (!HF_RING_LOAD(&side->waits))
        return false;
    hf_report_add(report, "; %s: %s after %llu packets", ring->names[writer ? 0 : 1],
                  ready    ? "ready"
                  : writer ? "full"
                           : "empty",
                  (unsigned long long)(writer ? written : read));
    return ready;
}

/* The rings of all ranks tell. A rank whose deadline passed earlier has stopped all kernels:
 * what was read may be of kernels that have left. */
hf_status hf_rings_report(hf_medium *base, hf_report *report, const bool *ended) {
    hf_rings *r = (hf_rings *)base;
    const hf_ring *ring;
    hf_word moved = packets_moved(r);
    bool ready = false;
    ranks_hear(r, ended);
    for (int rank = 0; rank < base->net->size; rank++)
        if (rank_silent(r, rank))
            hf_report_cause(report, "rank %d stands still", rank);
    for (int rank = 0; rank < base->net->size; rank++)
        if (!rank_silent(r, rank))
            kernels_report(r, report, rank);
    for (size_t i = 0; (ring = hf_rings_at(r, i)); i++) {
        ready |= side_report(report, ring, true);
        ready |= side_report(report, ring, false);
    }
    for (int rank = 0; rank < base->net->size; rank++)
        if (kernels_left(r, rank) == 0)
            hf_report_add(report, "; rank %d runs no kernel", rank);
    if (!report->cause[0])
        hf_report_cause(report, ready || moved != packets_moved(r) ? "kernels go on"
                                                                   : "deadlock");
    return hf_rings_halted(r) ? hf_rings_stopped_fail(r) : HF_OK;
}
