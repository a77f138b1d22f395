/* graph_text.h - graphs as text: blocks of whole lines, and the numbers in them. */
#ifndef HF_GRAPH_TEXT_H
#define HF_GRAPH_TEXT_H

#include <string.h>

#include "graph_file.h"

typedef struct text_graph text_graph;

/** Read all lines from `at` to `end`, which is a line's end that follows the block. */
typedef hf_status (*text_reader)(const text_graph *g, uint64_t block, const char *at,
                                 const char *end, edge_flow *flow);

struct text_graph {
    file_graph base;
    text_reader read;
    uint64_t first;   /**< number that the format gives the first vertex */
    uint64_t *begins; /**< [blocks + 1] places in the file */
    bool column;      /**< lines have weights, wanted or not */
    uint64_t *lines;  /**< [blocks + 1] vertices before each block, or NULL */
    uint64_t skip;    /**< numbers before a vertex's neighbours */
};

/** A graph whose lines begin at place `at`; none is longer than `longest`. */
hf_status text_open(text_graph **out, const graph_file *file, uint64_t at,
                    size_t longest, text_reader read);
/** Without its file. */
void text_free(text_graph *g);

/** The line at place `*at`, which moves on: [LINE_ROOM] characters with an end of line. */
enum { LINE_ROOM = 1 << 12 };
hf_status line_read(const graph_file *file, uint64_t *at, char *line);

/** Number of the line with place `at`, from 1. */
uint64_t line_of(const graph_file *file, uint64_t at);

/** What stands at `at` in a block is no `what` from `low` to `high`. */
hf_status word_fail(const text_graph *g, uint64_t block, const char *text,
                    const char *at, const char *what, uint64_t low, uint64_t high);
/** The same for a weight. */
hf_status weight_fail(const text_graph *g, uint64_t block, const char *text,
                      const char *at);
/** The line at `at` has something that does not belong there. */
hf_status line_fail(const text_graph *g, uint64_t block, const char *text,
                    const char *at, const char *said);

static inline const char *blanks_skip(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/** Where the line ends; the text ends with one. */
static inline const char *line_end(const char *at) {
    return *at == '\n' ? at : memchr(at, '\n', SIZE_MAX / 2);
}

static inline bool word_ends(const char *at) {
    return *at == ' ' || *at == '\n' || *at == '\t' || *at == '\r';
}

/** Digits at `at`; what stands behind them, or NULL if it is no number below 10^18. */
static inline const char *digits_read(const char *at, uint64_t *out) {
    const char *begin = at;
    uint64_t number = 0;
    for (unsigned digit; (digit = (unsigned)(*at - '0')) < 10; at++)
        number = number * 10 + digit;
    *out = number;
    return word_ends(at) && at > begin && at - begin <= 18 ? at : NULL;
}

/** A weight, which may be written as 2.0 or 2e0; NULL if it is no whole number from 1 to
 *  2^32 - 1. */
const char *weight_read(const char *at, uint32_t *out);

#endif
