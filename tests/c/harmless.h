/* harmless.h - faults that a run may survive verified, each with the reason. */
#ifndef HF_HARMLESS_H
#define HF_HARMLESS_H

#include "plant.h"

/** Why a fault that nobody saw does no harm; NULL: it does. `report` is that of all ranks:
 *  sums, and `right` and `checked` if they hold on each. `sees` runs again with the fault and
 *  wrong results: are they seen? `later` has the
 *  fault in a later sample: in the input of a timed one in place of a warm-up's, or in steps of
 *  the other one of two. Is it seen? Collective. */
const char *harmless(const plant_fault *fault, const plant_report *report,
                     bool (*sees)(const plant_fault *fault, const plant_report *report),
                     bool (*later)(const plant_fault *fault));

#endif
