/* report.h - one line of text that is cut at whole entries: which kernels wait, and where. */
#ifndef HF_REPORT_H
#define HF_REPORT_H

#include <stddef.h>

typedef struct hf_report {
    char text[400];    /**< the entries; all-zero is an empty report */
    size_t used, more; /**< characters; entries for which there was no room */
} hf_report;

/** Add an entry; its separator is part of it. */
__attribute__((format(printf, 2, 3))) void hf_report_add(hf_report *report,
                                                         const char *format, ...);

#endif
