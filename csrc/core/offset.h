/* offset.h - how far two clocks are apart, by what happened before and after what. */
#ifndef HF_OFFSET_H
#define HF_OFFSET_H

/** Bounds of what our clock shows beyond the other one [s]. */
typedef struct hf_offset {
    double low, high;
} hf_offset;

/** Nothing is known yet. */
hf_offset hf_offset_any(void);

/** Narrow: our `before` was before their `start`, their `end` was before our `after`.
 *  Clocks that contradict themselves make `low` the larger one. */
void hf_offset_narrow(hf_offset *offset, double before, double start, double end,
                      double after);

/** The values within both bounds; where there are none, `low` is the larger one. */
hf_offset hf_offset_both(hf_offset a, hf_offset b);

/** The offset at time `at`, from the offsets found at two other times. If they have a value in
 *  common, the clocks run equally fast; else one runs faster, at a constant rate. */
hf_offset hf_offset_at(double at, double at_0, hf_offset offset_0, double at_1,
                       hf_offset offset_1);

/** The best guess, and the most that it can be wrong by. */
double hf_offset_middle(const hf_offset *offset);
double hf_offset_error(const hf_offset *offset);

#endif
