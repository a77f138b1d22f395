/* leftovers.h - shared memory that Open MPI or node.c made for jobs that were killed. */
#ifndef HF_LEFTOVERS_H
#define HF_LEFTOVERS_H

/** Remove it, of our user and on this node; what a living process has mapped stays. */
void hf_leftovers_remove(void);

#endif
