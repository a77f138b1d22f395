/* error.c - the thread's one line about its last failure. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/number.h"

static _Thread_local char message[HF_MESSAGE_ROOM];

const char *hf_error(void) {
    return message;
}

hf_status hf_fail(hf_status status, const char *format, ...) {
    /* Formatted aside first: the arguments may point into the old message. */
    char line[sizeof message];
    va_list args;
    va_start(args, format);
    hf_number_vprint(line, sizeof line, format, args);
    va_end(args);
    snprintf(message, sizeof message, "%s", line);
    return status;
}
