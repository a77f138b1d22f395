/* pages.c - memory of the host in whole pages, as devices and networks like it. */
#include "core/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Fewer of these cover the same memory: copies within a node and kernels find it sooner. */
static const size_t large_page = (size_t)2 << 20;

void *hf_pages_new(size_t bytes) {
    size_t page = bytes < large_page ? HF_PAGE : large_page;
    size_t whole = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, whole);
#ifdef MADV_HUGEPAGE
    if (memory && page == large_page)
        madvise(memory, whole, MADV_HUGEPAGE); /* a wish: small ones serve as well */
#endif
    return memory;
}
