/* b_eff_payload.h - the bytes that travel, for kernels and for whoever checks them.
 *
 * A byte depends on its position, on `key` (size, seed and sample) and on `stamp` (its origin).
 * Windows begin 1 << slide bytes apart. At one place in the window, up to 256 windows apart, no
 * two positions have the same byte: so a late message of a single byte differs, too. A byte that
 * a step has moved on by half that distance differs by HALF and the stamps' odd difference from the
 * one that lay there: so a single byte that does not come leaves another one.
 */
#ifndef B_EFF_PAYLOAD_H
#define B_EFF_PAYLOAD_H

/** Over channels: number of chunk 0 on the wire, and the distance between two. */
#define B_EFF_MARK 0x9E3779B97F4A7C15ul

static inline unsigned char b_eff_payload(unsigned at, unsigned slide, unsigned key,
                                          unsigned long stamp) {
    enum { HALF = 90 }; /* even */
    unsigned halves = at >> (slide - 1), window = halves / 2, second = halves % 2,
             inside = at - (halves << (slide - 1));
    unsigned h = (inside + (window / 256 << slide)) * 0x9E3779B1u + key;
    h ^= h >> 15;
    h *= 0x85EBCA77u;
    return (unsigned char)((h >> 24) + 47 * window + HALF * second +
                           (unsigned)((stamp >> (8 * (at & 7))) & 0xff));
}

/** Word `word` of what begins with position 0. */
static inline unsigned long b_eff_word(unsigned word, unsigned slide, unsigned key,
                                       unsigned long stamp) {
    unsigned long bytes = 0;
    for (unsigned i = 0; i < 8; i++)
        bytes |= (unsigned long)b_eff_payload(8 * word + i, slide, key, stamp)
                 << (8 * i);
    return bytes;
}

#endif
