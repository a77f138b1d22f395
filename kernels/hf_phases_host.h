/* hf_phases_host.h - where the work-items of a persistent kernel meet, for its host. */
#ifndef HF_PHASES_HOST_H
#define HF_PHASES_HOST_H

/** Where work-items meet, each word on a pair of cache lines of its own. Zeros before a launch. */
typedef struct hf_phases {
    unsigned joined, unused0[31];
    unsigned tickets, unused1[31];
    unsigned done, unused2[31];  /**< parts */
    unsigned begun, unused3[31]; /**< phases, or HF_PHASES_OVER */
} hf_phases;

#define HF_PHASES_OVER 0xFFFFFFFFu

#endif
