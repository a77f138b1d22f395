/* digest.h - one number for any bytes. */
#ifndef HF_DIGEST_H
#define HF_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define HF_DIGEST_START 0xCBF29CE484222325u /**< the digest of no bytes */

/** FNV-1a (Fowler, Noll, Vo): `digest` of what stands before, with these bytes behind it.
 *  One changed byte always gives another digest. */
uint64_t hf_digest(uint64_t digest, const void *data, size_t bytes);

#endif
