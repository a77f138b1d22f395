/* digest.c - one number for any bytes. */
#include "core/digest.h"

uint64_t hf_digest(uint64_t digest, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ ((const unsigned char *)data)[i]) * 0x100000001B3u;
    return digest;
}
