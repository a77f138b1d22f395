/* random.h - closed formulas of (seed, index) for input data. */
#ifndef HF_RANDOM_H
#define HF_RANDOM_H

#include <stdint.h>

/** Word `index` of the stream `seed`: SplitMix64's output function (Steele, Lea and
 *  Flood, "Fast splittable pseudorandom number generators", 2014). */
uint64_t hf_random(uint64_t seed, uint64_t index);

#endif
