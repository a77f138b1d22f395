/* pages.c - memory of the host in whole pages, as devices and networks like it. */
#include "core/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

void *hf_pages_new(size_t bytes) {
    /* Fewer large ones cover the same memory: copies and kernels find it sooner. */
    size_t page = bytes < HF_LARGE_PAGE ? HF_PAGE : HF_LARGE_PAGE;
    size_t whole = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, whole);
#ifdef MADV_HUGEPAGE
    if (memory && page == HF_LARGE_PAGE)
        madvise(memory, whole, MADV_HUGEPAGE); /* a wish: small ones serve as well */
#endif
    return memory;
}
