/* pages.h - memory of the host in whole pages, as devices and networks like it. */
#ifndef HF_PAGES_H
#define HF_PAGES_H

#include <stddef.h>

/** [B] */
enum {
    HF_LINE = 64, /**< of a cache: what two write into apart does not slow them */
    HF_PAGE_LOG = 12,
    HF_PAGE = 1 << HF_PAGE_LOG,
    HF_LARGE_PAGE = 2 << 20
};

/** `bytes`, up to a whole page. */
static inline size_t hf_pages_bytes(size_t bytes) {
    return (bytes + HF_PAGE - 1) / HF_PAGE * HF_PAGE;
}

/** At least `bytes` bytes from a page's begin on, a large one's if they fill it, for `free`; NULL
 *  if there are none. */
void *hf_pages_new(size_t bytes);

#endif
