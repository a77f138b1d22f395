/* report.h - one line about kernels that wait, as far as it has room. */
#ifndef HF_REPORT_H
#define HF_REPORT_H

#include <stddef.h>

#include "hf_ring.h"

typedef struct hf_report {
    char text[400]; /**< entries, "; " in front of each; all-zero is an empty report */
    size_t used, more; /**< characters; entries that found no room */
} hf_report;

__attribute__((format(printf, 2, 3))) void hf_report_add(hf_report *report,
                                                         const char *format, ...);

/** Which ends of a ring wait, and after how many packets. */
void hf_report_ring(hf_report *report, const hf_ring *ring);

#endif
