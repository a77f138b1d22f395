/* known.c - the names that a message lists, and the one that was meant. */
#include "core/known.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LETTERS = 48, NEAR = 3 /* letters of a word for each wrong one */ };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Letters that are to be put in, left out, changed or swapped with the next (restricted
 * Damerau-Levenshtein distance); of long words the beginnings count. */
static size_t letters_between(const char *a, const char *b) {
    size_t n = least(strlen(a), MAX_LETTERS), m = least(strlen(b), MAX_LETTERS);
    size_t rows[3][MAX_LETTERS + 1], *old = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1,
                           last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], old[j - 2] + 1);
        }
        size_t *free_row = old;
        old = last;
        last = now;
        now = free_row;
    }
    return last[m];
}

void hf_known_add(hf_known *known, const char *name) {
    size_t used = strlen(known->names);
    snprintf(known->names + used, sizeof known->names - used, "%s%s", used ? ", " : "",
             name);
    size_t distance = letters_between(known->wanted, name);
    if (*known->nearest && distance >= known->distance)
        return;
    known->distance = distance;
    snprintf(known->nearest, sizeof known->nearest, "%s", name);
}

const char *hf_known_near(const hf_known *known) {
    size_t letters = least(strlen(known->wanted), MAX_LETTERS);
    bool near = *known->nearest && known->distance * NEAR <= letters;
    return near ? known->nearest : NULL;
}

const char *hf_known_text(hf_known *known) {
    const char *near = hf_known_near(known);
    snprintf(known->text, sizeof known->text, "%s%s%sknown: %s",
             near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "",
             known->names);
    return known->text;
}
