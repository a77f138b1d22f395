/* report.h - one line of text that is cut at whole entries: why kernels have not ended. */
#ifndef HF_REPORT_H
#define HF_REPORT_H

#include <stddef.h>

/** All-zero is an empty report. */
typedef struct hf_report {
    char cause[96];    /**< why they have not; "": unknown */
    char text[400];    /**< entries: which kernels wait, and where; further causes */
    size_t used, more; /**< characters; entries for which there was no room */
} hf_report;

/** Add an entry; its separator is part of it. */
__attribute__((format(printf, 2, 3))) void hf_report_add(hf_report *report,
                                                         const char *format, ...);

/** Name the cause, or add another one as an entry. */
__attribute__((format(printf, 2, 3))) void hf_report_cause(hf_report *report,
                                                           const char *format, ...);

#endif
