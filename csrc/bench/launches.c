/* launches.c - kernels that run side by side, each in its queue; and what a kernel tells. */
#include "launches.h"

#include <assert.h>

#include "core/error.h"

hf_status hf_replicas_check(size_t n, bool ndrange) {
    if (!ndrange || n == 1)
        return HF_OK;
    return hf_fail(HF_EARG,
                   "replications: %zu, but one launch of the ndrange kernels fills the "
                   "device: 1, or shape pipeline",
                   n);
}

void hf_launches_add(hf_launches *l, const hf_launch *launch, unsigned queue) {
    const hf_order order = {.queue = queue};
    assert(l->n < sizeof l->done / sizeof l->done[0]);
    assert(l->items == 0 || launch->items == l->items);
    l->items = launch->items;
    if (l->status == HF_OK)
        l->status = l->device->ops->launch(l->device, launch, &order, &l->done[l->n]);
    l->n += l->status == HF_OK;
}

hf_status hf_launches_wait(hf_launches *l) {
    if (l->status == HF_OK || !l->device->broken) {
        hf_status ended = hf_device_wait(l->device, l->done, l->n);
        l->status = l->status == HF_OK ? ended : l->status;
    }
    return l->status;
}

hf_status hf_kernel_ask(hf_device *device, const char *kernel, void *to, size_t bytes) {
    const hf_device_ops *ops = device->ops;
    hf_launch launch = {.n_args = 1};
    hf_arg told = {.buffer = NULL};
    hf_status status = ops->kernel(&launch.kernel, device, kernel, 0);
    launch.args = &told;
    if (status == HF_OK)
        status = ops->alloc(&told.buffer, device, bytes, NULL);
    if (status == HF_OK)
        status = ops->launch(device, &launch, NULL, NULL);
    if (status == HF_OK)
        status = ops->read(device, told.buffer, 0, to, bytes, NULL, NULL);
    ops->free(told.buffer);
    ops->kernel_free(launch.kernel);
    return status;
}
