/* digest.c - one number for any bytes. */
#include "core/digest.h"

#include <string.h>

/* No step loses anything: what differs before differs behind. */
static uint64_t mixed(uint64_t digest, uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
    return digest ^ digest >> 32;
}

uint64_t hf_digest(uint64_t digest, const void *data, size_t bytes) {
    const char *at = data;
    for (uint64_t word; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        digest = mixed(digest, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, at, bytes);
    return mixed(mixed(digest, rest), bytes);
}
