/* b_eff_payload.h - byte `i` of a message, for kernels and for whoever checks them.
 *
 * It depends on i, on `key` (size and seed) and on `stamp` (sender and sample), so that no
 * other byte, message or sample looks the same.
 */
#ifndef B_EFF_PAYLOAD_H
#define B_EFF_PAYLOAD_H

static inline unsigned char b_eff_payload(unsigned i, unsigned key,
                                          unsigned long stamp) {
    unsigned h = i * 0x9E3779B1u + key;
    h ^= h >> 15;
    h *= 0x85EBCA77u;
    h ^= h >> 13;
    return (unsigned char)((h >> 24) + (unsigned)((stamp >> (8 * (i & 7))) & 0xff));
}

#endif
