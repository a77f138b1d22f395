/* trace_result.c - the rows of a trace as columns of a result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/trace.h"

enum { POINT, RANK, QUEUE, KIND, LABEL, BYTES, START, END };

static const hf_quantity columns_of[HF_TRACE_COLUMNS] = {
    [POINT] = {"point", "1", HF_I64, NULL},  [RANK] = {"rank", "1", HF_I64, NULL},
    [QUEUE] = {"queue", "1", HF_I64, NULL},  [KIND] = {"kind", "1", HF_NAME, NULL},
    [LABEL] = {"label", "1", HF_NAME, NULL}, [BYTES] = {"bytes", "B", HF_I64, NULL},
    [START] = {"start", "s", HF_F64, NULL},  [END] = {"end", "s", HF_F64, NULL},
};

size_t hf_trace_columns(const hf_trace *trace, hf_column *columns) {
    size_t n;
    hf_trace_facts facts;
    if (!trace)
        return 0;
    hf_trace_rows(trace, &n, &facts);
    for (size_t i = 0; i < HF_TRACE_COLUMNS; i++) {
        columns[i] = (hf_column){.unit = columns_of[i].unit,
                                 .shape = {n},
                                 .n_dims = 1,
                                 .dtype = columns_of[i].dtype};
        snprintf(columns[i].name, sizeof columns[i].name, "%s", columns_of[i].name);
    }
    return HF_TRACE_COLUMNS;
}

static void rows_fill(hf_result *result, const hf_trace_row *rows, size_t n) {
    static const hf_quantity kinds = {.choices = HF_TRACE_KINDS};
    int64_t *point = hf_result_trace(result, POINT)->data,
            *rank = hf_result_trace(result, RANK)->data,
            *queue = hf_result_trace(result, QUEUE)->data,
            *bytes = hf_result_trace(result, BYTES)->data;
    double *start = hf_result_trace(result, START)->data,
           *end = hf_result_trace(result, END)->data, zero = INFINITY;
    uint32_t *kind = hf_result_trace(result, KIND)->data,
             *label = hf_result_trace(result, LABEL)->data;
    for (size_t i = 0; i < n; i++)
        zero = fmin(zero, rows[i].start);
    for (size_t i = 0; i < n; i++) {
        const char *text;
        size_t length = hf_quantity_choice(&kinds, (size_t)rows[i].kind, &text);
        point[i] = rows[i].point;
        rank[i] = rows[i].rank;
        queue[i] = rows[i].queue;
        bytes[i] = rows[i].bytes;
        start[i] = rows[i].start - zero;
        end[i] = rows[i].end - zero;
        hf_name_put(kind + i * HF_NAME_LETTERS, text, length);
        hf_name_put(label + i * HF_NAME_LETTERS, rows[i].label,
                    strnlen(rows[i].label, HF_NAME_LETTERS));
    }
}

void hf_trace_fill(const hf_trace *trace, hf_result *result, size_t summary) {
    size_t n;
    hf_trace_facts facts;
    char note[200];
    if (!trace)
        return;
    const hf_trace_row *rows = hf_trace_rows(trace, &n, &facts);
    rows_fill(result, rows, n);
    hf_result_set_summary(result, summary, "device_clock_error", "s",
                          facts.device_error);
    hf_result_set_summary(result, summary + 1, "rank_clock_error", "s",
                          facts.rank_error);
    snprintf(note, sizeof note,
             "trace: %.0f spans found no room; trace=N keeps N of a sample and rank",
             facts.lost);
    if (facts.lost > 0)
        hf_result_add_note(result, note);
    snprintf(note, sizeof note,
             "trace: %.0f commands are shown from their call to their seen end: the "
             "device's times are missing or contradict the host's clock",
             facts.untimed);
    if (facts.untimed > 0)
        hf_result_add_note(result, note);
}
