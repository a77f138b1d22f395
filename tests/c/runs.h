/* runs.h - what the C tests that run benchmarks share. */
#ifndef HF_RUNS_H
#define HF_RUNS_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "core/param.h"
#include "core/result.h"
#include "core/session.h"

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

/** Is a run verified? `params` are names and values in turn, NULL at the end. */
static inline bool run_verified(hf_session *session, const char *bench,
                                const char *kernel, const char *const *params) {
    hf_args *args;
    hf_result *result = NULL;
    CHECK(hf_args_new(&args, bench) == HF_OK);
    for (size_t i = 0; params[i]; i += 2)
        CHECK(hf_args_set(args, params[i], 0, NULL, params[i + 1]) == HF_OK);
    hf_run run = {.bench = bench, .args = args, .kernel = kernel};
    CHECK(hf_session_run(session, &result, &run) == HF_OK, "%s", hf_error());
    bool right = result && hf_result_verified(result);
    hf_result_free(result);
    hf_args_free(args);
    return right;
}

#endif
