/* error.c - the thread's one line about its last failure. */
#include "core/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/number.h"

static const char gap[] = " ... ";
/* Of a message that is too long: letters before the gap, and behind it. */
enum { HEAD = HF_MESSAGE_ROOM / 3, TAIL = HF_MESSAGE_ROOM - HEAD - sizeof gap };

static _Thread_local char message[HF_MESSAGE_ROOM];

const char *hf_error(void) {
    return message;
}

/* Is it a byte of a letter, but not the first? */
static bool letter_goes_on(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
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
        size_t head = HEAD;
        const char *tail = whole + n - TAIL;
        while (head > 0 && letter_goes_on(whole[head]))
            head--;
        while (letter_goes_on(*tail))
            tail++;
        snprintf(line + head, sizeof line - head, "%s%s", gap, tail);
        free(whole);
    }
    snprintf(message, sizeof message, "%s", line);
    return status;
}

hf_status hf_owner_check(const char *what, long owner) {
    long own = getpid();
    return own == owner
               ? HF_OK
               : hf_fail(HF_EARG,
                         "%s process %ld, of which this one, %ld, is a child: start "
                         "processes anew (\"spawn\" of multiprocessing)",
                         what, owner, own);
}
