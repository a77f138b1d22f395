/* graph_checking.h - what the checks of programs share. */
#ifndef HF_GRAPH_CHECKING_H
#define HF_GRAPH_CHECKING_H

#include <stdatomic.h>

#include "core/parallel.h"
#include "graph_engine.h"

#define GRAPH_NOBODY UINT32_MAX

enum {
    GRAPH_AHEAD = 24, /**< vertices whose edges are fetched before they are looked at */
    GRAPH_AT_ONCE = 4096, /**< vertices that a thread takes */
};

/** What a thread found among its vertices. */
typedef struct graph_found {
    double error, changed;
    uint64_t reached, edges;
    uint32_t levels[UINT8_MAX + 1]; /**< vertices in each, of bfs */
} graph_found;

struct graph_checking {
    graph_state *s;
    const graph_check *check;
    const uint32_t *words; /**< [vertices] the state, where it is a word each */
    uint32_t *levels;      /**< those of the state */
    uint32_t *parents;
    uint8_t *lows;
    uint32_t source;  /**< its number, of bfs */
    uint32_t skipped; /**< levels of bfs, and the next */
    size_t n_threads;
    atomic_size_t next; /**< vertex that no thread has taken */
    graph_found found[HF_MAX_CORES];
};

/* ---- graph_check.c ---- */

/** Call `work` in each thread, which takes vertices. */
void graph_threads_do(graph_checking *c, void (*work)(void *context, size_t thread));
/** The next of n vertices for this thread, *first .. *end - 1: are there any? */
bool graph_vertices_take(graph_checking *c, size_t n, uint32_t *first, uint32_t *end);

/* ---- graph_levels.c ---- */

/** Levels of a search's tree. */
hf_status graph_levels_begin(graph_checking *c);
/** Is own vertex `i` one level below its parent, and no edge too long? */
double graph_levels_vertex(const graph_checking *c, uint32_t i);
/** Most vertices are right by what is known of them without their edges. */
size_t graph_levels_sift(const graph_checking *c, uint32_t first, uint32_t end,
                         uint32_t *which);

#endif
