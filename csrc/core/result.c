/* result.c - columns and summary of a run in one allocation. */
#include "core/result.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

enum { MAX_NOTES = 5, ALIGNMENT = 64 };

typedef struct figure {
    char name[32];
    const char *unit;
    double value;
} figure;

struct hf_result {
    hf_column *columns;
    figure *figures;
    size_t n_columns, n_trace, n_figures, n_notes;
    char notes[MAX_NOTES][256];
    bool verified;
    hf_records records;
};

static size_t align(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t column_bytes(const hf_column *column) {
    size_t count = 1;
    for (int d = 0; d < column->n_dims; d++)
        count *= column->shape[d];
    static const size_t sizes[] = {sizeof(double), sizeof(int64_t), 1,
                                   HF_NAME_LETTERS * sizeof(uint32_t)};
    return count * sizes[column->dtype];
}

hf_status hf_result_new(hf_result **out, size_t n_columns, size_t n_trace,
                        const hf_column *columns, size_t n_summary) {
    size_t n = n_columns + n_trace, columns_at = align(sizeof(hf_result));
    size_t figures_at = columns_at + align(n * sizeof *columns);
    size_t data_at = figures_at + align(n_summary * sizeof(figure));
    size_t bytes = data_at;
    for (size_t i = 0; i < n; i++)
        bytes += align(column_bytes(&columns[i]));
    char *block = aligned_alloc(ALIGNMENT, bytes);
    if (!block)
        return hf_fail(HF_ENOMEM, "no memory for a result of %zu B", bytes);
    memset(block, 0, bytes);
    hf_result *result = (hf_result *)block;
    result->columns = (hf_column *)(block + columns_at);
    result->figures = (figure *)(block + figures_at);
    result->n_columns = n_columns;
    result->n_trace = n_trace;
    result->n_figures = n_summary;
    for (size_t i = 0; i < n; i++) {
        result->columns[i] = columns[i];
        result->columns[i].data = block + data_at;
        data_at += align(column_bytes(&columns[i]));
    }
    *out = result;
    return HF_OK;
}

void hf_result_free(hf_result *result) {
    if (result)
        free(result->records.data);
    free(result);
}

hf_records hf_result_records(const hf_result *result) {
    return result->records;
}

hf_status hf_result_set_records(hf_result *result, hf_records records) {
    size_t n = records.n, bytes = records.bytes;
    const char *from = records.data;
    if (!from)
        return HF_OK;
    char *to = malloc(n * bytes + 1);
    if (!to)
        return hf_fail(HF_ENOMEM, "no memory for %zu records of a run", n);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * bytes, from + records.order[i] * bytes, bytes);
    result->records = (hf_records){.data = to, .n = n, .bytes = bytes};
    return HF_OK;
}

const hf_column *hf_result_column(const hf_result *result, size_t index) {
    return index < result->n_columns ? &result->columns[index] : NULL;
}

const hf_column *hf_result_trace(const hf_result *result, size_t index) {
    return index < result->n_trace ? &result->columns[result->n_columns + index] : NULL;
}

static void *column_data(hf_result *result, const char *name, hf_dtype dtype) {
    size_t i = 0;
    while (i < result->n_columns && strcmp(result->columns[i].name, name) != 0)
        i++;
    assert(i < result->n_columns && result->columns[i].dtype == dtype);
    (void)dtype;
    return result->columns[i].data;
}

double *hf_result_doubles(hf_result *result, const char *name) {
    return column_data(result, name, HF_F64);
}

int64_t *hf_result_integers(hf_result *result, const char *name) {
    return column_data(result, name, HF_I64);
}

unsigned char *hf_result_flags(hf_result *result, const char *name) {
    return column_data(result, name, HF_BOOL);
}

uint32_t *hf_result_names(hf_result *result, const char *name) {
    return column_data(result, name, HF_NAME);
}

void hf_name_put(uint32_t *to, const char *text, size_t length) {
    for (size_t i = 0; i < length && i < HF_NAME_LETTERS; i++)
        to[i] = (unsigned char)text[i];
}

size_t hf_quantity_choice(const hf_quantity *quantity, size_t index,
                          const char **text) {
    const char *choice = quantity->choices;
    for (; index > 0; index--)
        choice += strcspn(choice, "|") + 1;
    size_t length = strcspn(choice, "|");
    *text = choice;
    return length < HF_NAME_LETTERS ? length : HF_NAME_LETTERS;
}

void hf_result_set_summary(hf_result *result, size_t index, const char *name,
                           const char *unit, double value) {
    assert(index < result->n_figures);
    figure *f = &result->figures[index];
    snprintf(f->name, sizeof f->name, "%s", name);
    f->unit = unit;
    f->value = value;
}

bool hf_result_summary(const hf_result *result, size_t index, const char **name,
                       const char **unit, double *value) {
    if (index >= result->n_figures)
        return false;
    *name = result->figures[index].name;
    *unit = result->figures[index].unit;
    *value = result->figures[index].value;
    return true;
}

void hf_result_add_note(hf_result *result, const char *note) {
    if (result->n_notes < MAX_NOTES)
        snprintf(result->notes[result->n_notes++], sizeof result->notes[0], "%s", note);
}

const char *hf_result_note(const hf_result *result, size_t index) {
    return index < result->n_notes ? result->notes[index] : NULL;
}

void hf_result_set_verified(hf_result *result, bool verified) {
    result->verified = verified;
}

bool hf_result_verified(const hf_result *result) {
    return result->verified;
}
