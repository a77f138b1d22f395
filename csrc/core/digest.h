/* digest.h - one number for any bytes. */
#ifndef HF_DIGEST_H
#define HF_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define HF_DIGEST_START 0xCBF29CE484222325u /**< of nothing */

/** `digest` of what stands before, with these bytes behind it. One changed word of 8 B always
 *  gives another digest. Not for strangers' data: others with the same are easily made. */
uint64_t hf_digest(uint64_t digest, const void *data, size_t bytes);

#endif
