/* offset.c - how far two clocks are apart, by what happened before and after what. */
#include "core/offset.h"

#include <math.h>

hf_offset hf_offset_any(void) {
    return (hf_offset){-INFINITY, INFINITY};
}

void hf_offset_narrow(hf_offset *offset, double before, double start, double end,
                      double after) {
    offset->low = fmax(offset->low, before - start);
    offset->high = fmin(offset->high, after - end);
}

hf_offset hf_offset_both(hf_offset a, hf_offset b) {
    return (hf_offset){fmax(a.low, b.low), fmin(a.high, b.high)};
}

hf_offset hf_offset_at(double at, double at_0, hf_offset offset_0, double at_1,
                       hf_offset offset_1) {
    hf_offset both = hf_offset_both(offset_0, offset_1);
    double share = at_1 > at_0 ? (at - at_0) / (at_1 - at_0) : 0;
    if (both.low > both.high) {
        both.low = offset_0.low + share * (offset_1.low - offset_0.low);
        both.high = offset_0.high + share * (offset_1.high - offset_0.high);
    }
    return both;
}

double hf_offset_middle(const hf_offset *offset) {
    return offset->low + (offset->high - offset->low) / 2;
}

double hf_offset_error(const hf_offset *offset) {
    return fabs(offset->high - offset->low) / 2;
}
