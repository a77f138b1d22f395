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
#include "source.h"

static inline const hf_column *column_find(const hf_result *result, const char *name) {
    const hf_column *column;
    for (size_t i = 0; (column = hf_result_column(result, i)); i++)
        if (strcmp(column->name, name) == 0)
            return column;
    CHECK(0, "no column %s", name);
    abort();
}

/** Run it; *right says whether the data was verified. `params` are names and values in turn,
 *  NULL at the end. */
static inline hf_status run_take(bool *right, hf_session *session, hf_run run,
                                 const char *const *params) {
    hf_args *args;
    hf_result *result = NULL;
    HF_TRY(hf_args_new(&args, run.bench));
    for (size_t i = 0; params[i]; i += 2)
        CHECK(hf_args_set(args, params[i], 0, NULL, params[i + 1]) == HF_OK);
    run.args = args;
    hf_status status = hf_session_run(session, &result, &run);
    *right = result && hf_result_verified(result);
    hf_result_free(result);
    hf_args_free(args);
    return status;
}

/** Is a run verified? `params` as above. */
static inline bool run_verified(hf_session *session, const char *bench,
                                const char *kernel, const char *const *params) {
    bool right = false;
    hf_run run = {.bench = bench, .kernel = kernel};
    CHECK(run_take(&right, session, run, params) == HF_OK, "%s", hf_error());
    return right;
}

#endif
