/* relay.h - plans whose messages the devices of a node pass on by themselves.
 *
 * One launch of relay_ndrange.cl on each rank does a whole plan: it writes what its rank sends into
 * memory that all ranks of the node see, and takes from there what the others send. The host gives
 * the launch, looks for its end, and has it leave when the ranks give up.
 */
#ifndef HF_RELAY_H
#define HF_RELAY_H

#include "chunks_plan.h"

/** Can a plan go so, for all that this rank knows? */
bool hf_relay_fits(const hf_chunks *c, const hf_plan *plan);

/** Have the memory, with nothing in it, for a plan; `c->relay` is NULL where there can be none. No
 *  rank has a plan under way. Collective. */
hf_status hf_relay_ready(hf_chunks *c, const hf_plan *plan);
/** Accepts what `hf_relay_ready` left. */
void hf_relay_free(hf_chunks *c);

/** Are there launches that have not ended, for all that the host knows? */
bool hf_relay_busy(const hf_chunks *c);
/** Go on with a plan: give its launch if it is relayed, and look for the end of those that it waits
 *  for: of all, unless it is relayed and left. */
hf_status hf_relay_go_on(hf_chunks_plan *plan, bool *moved, bool *done);
/** Whom the launches wait for, or HF_NOBODY. */
int hf_relay_waits_for(const hf_chunks *c);
/** Have launches that have not ended leave, and wait for that. */
void hf_relay_stop(hf_chunks *c);

#endif
