/* graph_digest.h - the digest of updates, which those who take them compute, too. */
#ifndef GRAPH_DIGEST_H
#define GRAPH_DIGEST_H

#include "graph_program.h"

/** Digest of an update, of which those of a superstep are added. */
static inline uint graph_digest(uint v, hf_update told, uint superstep) {
    union {
        hf_update told;
        uint words[sizeof(hf_update) / sizeof(uint)];
    } u;
    uint x = graph_mix(v, superstep);
    u.told = told;
    for (uint i = 0; i < sizeof(hf_update) / sizeof(uint); i++)
        x = graph_mix(x, u.words[i]);
    return x;
}

#endif
