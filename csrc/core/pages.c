/* pages.c - memory of the host in whole pages, as devices and networks like it. */
#include "core/pages.h"

#include <stdlib.h>

void *hf_pages_new(size_t bytes) {
    return aligned_alloc(HF_PAGE, (bytes + HF_PAGE - 1) / HF_PAGE * HF_PAGE);
}
