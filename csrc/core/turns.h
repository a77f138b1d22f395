/* turns.h - a run one visit to a point at a time: other runs make theirs in between. */
#ifndef HF_TURNS_H
#define HF_TURNS_H

#include "hf.h"

/** The turns of a run with these parameters. Each hf_session_run with them takes one: it visits one
 *  point in one round. There are points x rounds of them; the last one gives the result. Of a
 *  benchmark that is no sweep over sizes, and of a `whole` run, there is one, which takes all.
 *  HF_ENOMEM. */
hf_status hf_turns_new(hf_turns **out, const hf_args *args, bool whole);
size_t hf_turns_left(const hf_turns *turns);
void hf_turns_free(hf_turns *turns);

#endif
