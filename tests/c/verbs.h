/* verbs.h - faults in every call of the table of a session's transport, and of a group of it. */
#ifndef HF_VERBS_H
#define HF_VERBS_H

#include "cases.h"

/** Plant in each call alone. What all ranks do together must fail where what came is not what
 *  was sent, on every rank; messages must come with the damage, which benchmarks verify.
 *  Collective. */
score verbs_try(void);

#endif
