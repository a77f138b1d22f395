/* graph_record.h - a message on its way along an edge: architecture gravf. */
#ifndef GRAPH_RECORD_H
#define GRAPH_RECORD_H

#include "graph_outbox.h"

/** Digest of a message for edge `place` of `rank`, of which those of a superstep are added. */
static inline uint graph_record_digest(uint rank, uint place,
                                       HF_GLOBAL const hf_message *message,
                                       uint superstep) {
    union {
        uint words[(sizeof(hf_message) + sizeof(uint) - 1) / sizeof(uint)];
        hf_message message;
    } u = {{0}};
    uint x = graph_mix(graph_mix(rank, place), superstep);
    u.message = *message;
    for (uint i = 0; i < sizeof u.words / sizeof(uint); i++)
        x = graph_mix(x, u.words[i]);
    return x;
}

#endif
