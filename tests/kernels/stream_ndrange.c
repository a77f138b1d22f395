/* stream_ndrange.c - kernels/stream_ndrange.cl as plain C against a naive reference.
 *
 * cc -std=c11 -fsanitize=address,undefined -DHF_HOST -Icsrc -Ikernels \
 *    tests/kernels/stream_ndrange.c [-DHF_REAL=double -DHF_VECTOR=4 ...]
 */
#include <stddef.h>

/** The work-item that runs, and its range. */
static size_t local_id, local_size, group_id, n_groups;
#define get_local_id(dimension)   ((void)(dimension), local_id)
#define get_local_size(dimension) ((void)(dimension), local_size)
#define get_group_id(dimension)   ((void)(dimension), group_id)
#define get_num_groups(dimension) ((void)(dimension), n_groups)

#include "../../kernels/stream_ndrange.cl"

#include "stream.h"

static void launch(HF_REAL *out, const HF_REAL *one, const HF_REAL *two, float scalar,
                   unsigned sum, size_t n) {
    for (group_id = 0; group_id < n_groups; group_id++)
        for (local_id = 0; local_id < local_size; local_id++)
            stream_apply(out, one, two, scalar, sum, n);
}

int main(void) {
    static const size_t groups[] = {1, 2, 7, 100}, sizes[] = {1, 3, 256};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            n_groups = groups[i];
            local_size = sizes[k];
            comparisons();
        }
    return 0;
}
