/* report.c - one line of text that is cut at whole entries. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void hf_report_cause(hf_report *report, const char *format, ...) {
    char cause[sizeof report->cause];
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    if (report->cause[0])
        hf_report_add(report, "; %s", cause);
    else
        memcpy(report->cause, cause, sizeof cause);
}
