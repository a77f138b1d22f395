/* generate.h - graphs whose edges are functions of seed and index. */
#ifndef HF_GRAPH_GENERATE_H
#define HF_GRAPH_GENERATE_H

#include "edges.h"

/** Whether `text` begins with a generator's name and a colon. */
bool generator_named(const char *text);
hf_status generator_open(hf_graph **out, const char *text, uint64_t seed);

#endif
