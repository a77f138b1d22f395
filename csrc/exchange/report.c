/* report.c - one line about kernels that wait, as far as it has room. */
#include "report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

void hf_report_add(hf_report *report, const char *format, ...) {
    size_t room = sizeof report->text - report->used;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(report->text + report->used, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room) {
        report->text[report->used] = '\0';
        report->more++;
    } else {
        report->used += (size_t)length;
    }
}

static void side_add(hf_report *report, const hf_ring *ring, bool writer) {
    const hf_ring_side *side = writer ? &ring->writer : &ring->reader;
    if (HF_RING_LOAD(&side->waits))
        hf_report_add(report, "; %s: %s after %llu packets",
                      ring->names[writer ? 0 : 1], writer ? "full" : "empty",
                      (unsigned long long)HF_RING_LOAD(&side->moved));
}

void hf_report_ring(hf_report *report, const hf_ring *ring) {
    side_add(report, ring, true);
    side_add(report, ring, false);
}
