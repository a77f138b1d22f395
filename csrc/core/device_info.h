/* device_info.h - what a device says of itself, and the list of all devices. */
#ifndef HF_DEVICE_INFO_H
#define HF_DEVICE_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

typedef enum hf_device_type { HF_CPU, HF_GPU, HF_ACCELERATOR } hf_device_type;

/** The word for each type, e.g. "gpu", ended by NULL. */
extern const char *const hf_device_types[];
/** The type that `word` names, in upper or lower case; false where it names none. */
bool hf_device_type_named(hf_device_type *out, const char *word);

/** How a device's kernels reach kernels of other devices. */
typedef enum hf_ports {
    HF_PORTS_NONE,
    HF_PORTS_MEMORY, /**< through memory of the host, which they use in place */
    HF_PORTS_FILES,  /**< through files: Intel's FPGA emulator */
    HF_PORTS_WIRES,  /**< through cables between boards */
} hf_ports;

/** A device as its runtime describes it; a plain value. */
typedef struct hf_device_info {
    char runtime[16], platform[128], name[128], version[128], driver[64];
    int index;              /**< position among the runtime's devices */
    hf_device_type type;    /**< CPU, GPU or accelerator */
    bool emulated;          /**< a CPU that stands in for an accelerator */
    bool copied_by_threads; /**< of the runtime, on cores of this process */
    size_t memory;          /**< global memory [B]; 0: not known of one that is busy */
    size_t max_alloc;       /**< largest buffer [B], likewise */
    bool half, fp64;        /**< computes in half, in double precision */
    size_t items;   /**< work-items that fill the device; 1 where loops are pipelines */
    size_t workers; /**< threads that run work-items, or queues that run kernels */
    hf_ports ports;
    size_t kernels;           /**< that can run at the same time while the host waits */
    const char *more_kernels; /**< how to get more, behind "runs 3"; static */
} hf_device_info;

/** Work-items of a work-group where a kernel is for many: a core is content with one. */
static inline size_t hf_device_group(const hf_device_info *info) {
    return info->type == HF_GPU ? 256 : 1;
}
/** Work-items that fill the device, in whole groups. */
static inline size_t hf_device_fill(const hf_device_info *info) {
    size_t group = hf_device_group(info);
    size_t items = info->type == HF_GPU ? info->items : info->workers;
    return (items + group - 1) / group * group;
}

/** The most that each of `n` equal buffers may have [B]. */
static inline size_t hf_device_room(const hf_device_info *info, size_t n) {
    size_t share = info->memory / n;
    return share < info->max_alloc ? share : info->max_alloc;
}

/** How libraries of devices' vendors are loaded. NULL or all-zero: those that the system
 *  knows. */
typedef struct hf_vendors {
    /** OpenCL runtimes that the system does not know, ended by NULL. Each is loaded only
     *  if no device that was found before is the wanted one, or to list them all. */
    const char *const *libraries;
    /** Called before and after what may load a library, which may print; or NULL. */
    void (*loading)(void *context, bool begins);
    void *context;
    double deadline; /**< longest wait for them; 0: HF_DEADLINE [s] */
    /** Ends the process with a line: a call has passed its deadline, and its thread cannot
     *  leave it; or NULL. */
    void (*stuck)(const char *line);
} hf_vendors;

/** Device number `index` of a runtime; *found is false past the end. */
hf_status hf_device_list(hf_device_info *out, const char *runtime, size_t index,
                         bool *found, const hf_vendors *vendors);

#endif
