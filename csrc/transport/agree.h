/* agree.h - what all ranks must know: how it went, and what they do not share. */
#ifndef HF_AGREE_H
#define HF_AGREE_H

#include "transport.h"

/** Everybody's bytes, of another number on each rank: those of rank r are from (*out)[at[r]]
 *  to (*out)[at[r + 1]]. `at` is [size + 1]; free *out. Collective. */
hf_status hf_gather_unequal(hf_transport *net, char **out, size_t *at, const void *mine,
                            size_t bytes);

/** Every rank gets the worst status of any rank and its message. Collective. */
hf_status hf_agree(hf_transport *net, hf_status status);

/** What a rank states: pairs of strings, what and its value. All-zero: none yet. */
typedef struct hf_statement {
    char *text;
    size_t bytes, room;
    bool failed; /**< memory lacked */
} hf_statement;

/** Begin a fact, `what`, and add to its value. */
void hf_fact(hf_statement *facts, const char *what);
__attribute__((format(printf, 2, 3))) void hf_fact_add(hf_statement *facts,
                                                       const char *format, ...);

/** HF_EARG on every rank, with both values of the first fact that differs, where what a rank
 *  states is not what rank 0 does. Releases the facts. Collective. */
hf_status hf_same(hf_transport *net, hf_statement *facts);

#endif
