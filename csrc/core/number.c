/* number.c - numbers as text: a program that set its locale may have a decimal comma. */
#include "core/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* This thread's locale, and the one that stands in for it; both 0 where memory lacks. */
typedef struct locales {
    locale_t before, plain;
} locales;

static locales plain_begin(void) {
    locales l = {.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    l.before = l.plain ? uselocale(l.plain) : l.plain;
    return l;
}

static void plain_end(locales l) {
    if (!l.plain)
        return;
    uselocale(l.before);
    freelocale(l.plain);
}

double hf_number_read(const char *text, char **end) {
    locales l = plain_begin();
    double number = strtod(text, end);
    plain_end(l);
    return number;
}

int hf_number_vprint(char *to, size_t room, const char *format, va_list args) {
    locales l = plain_begin();
    int length = vsnprintf(to, room, format, args);
    plain_end(l);
    return length;
}

int hf_number_print(char *to, size_t room, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = hf_number_vprint(to, room, format, args);
    va_end(args);
    return length;
}
