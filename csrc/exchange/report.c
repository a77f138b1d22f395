/* report.c - one line of text that is cut at whole entries. */
#include "report.h"

#include <stdarg.h>
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
