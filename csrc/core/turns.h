/* turns.h - a run one visit to a point at a time: other runs make theirs in between. */
#ifndef HF_TURNS_H
#define HF_TURNS_H

#include "hf.h"

/** The turns of a run with these parameters: each hf_session_run with them takes one, which is a
 *  visit to one point of a sweep, in all of its rounds; the last one gives the result. A benchmark
 *  that is no sweep, or `whole`: one turn takes all. HF_ENOMEM. */
hf_status hf_turns_new(hf_turns **out, const hf_args *args, bool whole);
size_t hf_turns_left(const hf_turns *turns);
void hf_turns_free(hf_turns *turns);

#endif
