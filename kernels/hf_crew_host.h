/* hf_crew_host.h - where the work-items of a crew meet, as its host knows it. */
#ifndef HF_CREW_HOST_H
#define HF_CREW_HOST_H

/** Where work-items meet, each word on a pair of cache lines of its own. Zeros before a launch. */
typedef struct hf_crew {
    unsigned joined, unused0[31];
    unsigned tickets, unused1[31];
    unsigned done, unused2[31];  /**< parts */
    unsigned begun, unused3[31]; /**< phases, or HF_CREW_OVER */
} hf_crew;

#define HF_CREW_OVER 0xFFFFFFFFu

#endif
