/* source.h - the text of a kernel file, for the tests that build one. */
#ifndef HF_SOURCE_H
#define HF_SOURCE_H

#include <stdbool.h>
#include <stdio.h>

/** Text of a kernel file, cut to `room`; false if there is none. */
static inline bool source_read(char *text, size_t room, const char *folder,
                               const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(text, 1, room - 1, file) : 0;
    text[got] = '\0';
    if (file)
        fclose(file);
    return got > 0;
}

#endif
