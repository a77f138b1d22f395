/* graph_table.c - what each superstep of a sample was, of this rank. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph_engine.h"

/** Columns of a row; graph.c has their names. */
enum { ACTIVE, EDGES, MESSAGES, BYTES, KERNEL, EXCHANGE, N_COLUMNS };

/** What is kept of a point: its last sample. */
typedef struct kept {
    double *values; /* [n, columns] */
    size_t n;
} kept;

struct graph_table {
    double *rows; /* [GRAPH_ROWS, columns] of this sample */
    hf_laps mark; /* when the last of them was over */
    kept kept[];  /* [points] */
};

hf_status graph_table_new(graph_state *s) {
    graph_table *t = s->table = calloc(1, sizeof *t + s->n_points * sizeof *t->kept);
    if (t)
        t->rows = calloc(GRAPH_ROWS, N_COLUMNS * sizeof *t->rows);
    return t && t->rows
               ? HF_OK
               : hf_fail(HF_ENOMEM, "no memory for tables of %zu points", s->n_points);
}

void graph_table_free(graph_state *s) {
    if (!s->table)
        return;
    for (size_t i = 0; i < s->n_points; i++)
        free(s->table->kept[i].values);
    free(s->table->rows);
    free(s->table);
}

/* Row of a superstep, or NULL past the last. */
static double *row_of(const graph_state *s, size_t superstep) {
    return superstep < GRAPH_ROWS ? s->table->rows + superstep * N_COLUMNS : NULL;
}

static size_t rows_of(const graph_state *s) {
    size_t n = (size_t)s->superstep + 1;
    return n < GRAPH_ROWS ? n : GRAPH_ROWS;
}

void graph_table_begin(graph_state *s) {
    graph_table *t = s->table;
    memset(t->rows, 0, (size_t)GRAPH_ROWS * N_COLUMNS * sizeof *t->rows);
    t->mark = s->env.laps ? *s->env.laps : (hf_laps){0};
}

void graph_table_count(graph_state *s, const graph_count *count) {
    double *row = row_of(s, s->superstep);
    if (!row)
        return;
    row[ACTIVE] += count->active;
    row[EDGES] += (double)count->edges;
    row[MESSAGES] += (double)count->messages;
}

void graph_table_sent(graph_state *s, size_t bytes) {
    double *row = row_of(s, s->superstep);
    if (row)
        row[BYTES] += (double)bytes;
}

void graph_table_time(graph_state *s, uint32_t first) {
    const hf_laps *now = s->env.laps, *mark = &s->table->mark;
    uint32_t n = s->superstep + 1 - first;
    double took[HF_N_LAPS];
    if (!now || n == 0)
        return;
    for (size_t i = 0; i < HF_N_LAPS; i++)
        took[i] = (now->seconds[i] - mark->seconds[i]) / n;
    for (uint32_t at = first; at <= s->superstep; at++) {
        double *row = row_of(s, at);
        if (!row)
            break;
        row[KERNEL] = took[GRAPH_LAP_KERNEL];
        row[EXCHANGE] = took[HF_LAP_TRANSFER] + took[HF_LAP_EXCHANGE];
    }
    s->table->mark = *now;
}

hf_status graph_table_keep(graph_state *s, size_t point) {
    kept *to = &s->table->kept[point];
    size_t n = rows_of(s), bytes = n * N_COLUMNS * sizeof *to->values;
    double *values = realloc(to->values, bytes);
    if (!values)
        return hf_fail(HF_ENOMEM, "no memory for a table of %zu supersteps", n);
    memcpy(values, s->table->rows, bytes);
    *to = (kept){values, n};
    return HF_OK;
}

size_t graph_table_of(const void *state, size_t point, const double **values) {
    const graph_state *s = state;
    *values = s->table->kept[point].values;
    return s->table->kept[point].n;
}
