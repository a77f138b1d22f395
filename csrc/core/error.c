/* error.c - the thread's one line about its last failure. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/number.h"

static const char gap[] = " ... ";
/* Of a message that is too long: letters before the gap, and behind it. */
enum { HEAD = HF_MESSAGE_ROOM / 3, TAIL = HF_MESSAGE_ROOM - HEAD - sizeof gap };

static _Thread_local char message[HF_MESSAGE_ROOM];

const char *hf_error(void) {
    return message;
}

hf_status hf_fail(hf_status status, const char *format, ...) {
    /* Formatted aside first: the arguments may point into the old message. */
    char line[sizeof message], *whole;
    va_list args;
    va_start(args, format);
    int n = hf_number_vprint(line, sizeof line, format, args);
    va_end(args);
    if (n >= (int)sizeof line && (whole = malloc((size_t)n + 1))) {
        va_start(args, format);
        hf_number_vprint(whole, (size_t)n + 1, format, args);
        va_end(args);
        snprintf(line + HEAD, sizeof line - HEAD, "%s%s", gap, whole + n - TAIL);
        free(whole);
    }
    snprintf(message, sizeof message, "%s", line);
    return status;
}
