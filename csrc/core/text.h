/* text.h - text from files and libraries, which may hold anything. */
#ifndef HF_TEXT_H
#define HF_TEXT_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

/** Copy text of at most `bytes` bytes, which need not end in NUL, as far as there is room. Each
 *  control character becomes '?', so a message that shows the text stays one line. */
static inline void hf_text_copy(char *to, size_t room, const void *from, size_t bytes) {
    const char *text = from;
    size_t n = 0;
    for (; n < bytes && n + 1 < room && text[n]; n++)
        to[n] = iscntrl((unsigned char)text[n]) ? '?' : text[n];
    to[n] = '\0';
}

/** Whether `part` occurs in `text`, in upper or lower case. */
static inline bool hf_text_contains(const char *text, const char *part) {
    for (;; text++) {
        size_t i = 0;
        while (part[i] &&
               tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (!part[i])
            return true;
        if (!*text)
            return false;
    }
}

#endif
