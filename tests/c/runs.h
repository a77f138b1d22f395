/* runs.h - what the C tests that run benchmarks share. */
#ifndef HF_RUNS_H
#define HF_RUNS_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/result.h"

/** Text of a kernel file, cut to `room`. */
static inline void source_read(char *text, size_t room, const char *folder,
                               const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(text, 1, room - 1, file) : 0;
    CHECK(got > 0, "%s", path);
    text[got] = '\0';
    if (file)
        fclose(file);
}

static inline const hf_column *column_find(const hf_result *result, const char *name) {
    const hf_column *column;
    for (size_t i = 0; (column = hf_result_column(result, i)); i++)
        if (strcmp(column->name, name) == 0)
            return column;
    CHECK(0, "no column %s", name);
    abort();
}

#endif
