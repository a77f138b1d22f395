/* harness_faults.h - the faults of a case, tried one by one. */
#ifndef HF_HARNESS_FAULTS_H
#define HF_HARNESS_FAULTS_H

#include "cases.h"

/** Print, on rank 0. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

void fault_try(const plant_fault *f, score *s);
/** As many of each kind in each call of each phase as were asked for; else one, of a share. Their
 *  number; with NULL they are only counted. */
size_t faults_try(score *s);
/** Is this the first case of its path of a benchmark? */
bool path_begin(void);
/** How many of these there were, and were tried. */
void slots_say(void);
/** Why faults of all cases did no harm. */
void reasons_say(void);

#endif
