/* xrt_device.h - what the files of the runtime `xrt` share. */
#ifndef HF_XRT_DEVICE_H
#define HF_XRT_DEVICE_H

#include <stdatomic.h>

#include "core/xclbin.h"
#include "host_queue.h"
#include "xrt_library.h"

typedef struct hf_xrt_watch hf_xrt_watch;

enum { HF_XRT_PATH = 160 }; /* room for that of a driver's file */

typedef struct hf_xrt_device {
    hf_device base;
    hf_xrt_watch *watch; /**< NULL: threads make all copies */
    void *handle;
    char
        power[HF_XRT_PATH]; /**< of the file with the power that it draws [uW]; or "" */
    bool silent;            /**< its driver left a question without an answer */
    unsigned char *binary;  /**< what the card holds of this session; NULL: nothing */
    size_t binary_bytes;
    hf_xclbin *xclbin;                 /**< of `binary` */
    uint64_t used[HF_XCLBIN_MEMORIES]; /**< by buffers [B] */
    struct hf_xrt_buffer *buffers;     /**< all that have memory of the card, and those
                                            that were freed when the device was broken */
    struct hf_xrt_kernel *kept;        /**< freed when the device was broken */
    struct hf_xrt_device *next;
} hf_xrt_device;

typedef struct hf_xrt_buffer {
    hf_buffer base;
    hf_xrt_device *device;
    void *bo;      /**< NULL: memory of the host alone */
    size_t memory; /**< number of its memory */
    bool borrowed; /**< over the caller's memory */
    bool leaves;   /**< xrtBOFree did not return in time: it is not called again */
    struct hf_xrt_buffer *next;
} hf_xrt_buffer;

/** A compute unit; a queue has a run of its own. */
typedef struct hf_xrt_unit {
    const hf_xclbin_unit *info;
    const hf_device *device;
    void *handle;
    void *runs[HF_MAX_QUEUES]; /**< the thread of the queue opens and uses it */
} hf_xrt_unit;

/** What an hf_kernel is here. */
typedef struct hf_xrt_kernel {
    hf_xrt_device *device;
    hf_xclbin_kernel info;
    hf_xclbin_unit info_units[HF_XCLBIN_UNITS];
    size_t n_units;
    hf_xrt_unit units[HF_XCLBIN_UNITS];
    struct hf_xrt_kernel *next;
} hf_xrt_kernel;

extern const hf_device_ops hf_device_xrt;
extern atomic_bool hf_xrt_ending; /**< the process ends: no thread calls XRT any more */

hf_status hf_xrt_list(hf_device_info *out, size_t index, bool *found,
                      const hf_vendors *vendors);
/** Open the device that `selector` and the node-local rank mean. */
hf_status hf_xrt_pick(void **handle, hf_device_info *info, const char *selector,
                      int local_rank, double deadline, const hf_vendors *vendors);
/** `deadline`: where there is no device yet. */
hf_status hf_xrt_handle_close(void *handle, hf_device *device, double deadline);
/** Path of a file in which the card's driver tells something; "": there is none. `part` is that
 *  of the driver, or "". */
hf_status hf_xrt_file_find(char *path, size_t room, const hf_xrt_device *device,
                           const char *part, const char *file);
/** The number in such a file; 0: none, or none in a second. Then the driver is asked no more. */
unsigned long long hf_xrt_number(hf_xrt_device *device, const char *path);

/** For calls of XRT by a caller's own thread; NULL: no signal is free for it. `stuck`, or NULL,
 *  ends the process with a line: of a call that no signal reaches after its deadline. */
hf_xrt_watch *hf_xrt_watch_new(hf_device *device, void (*stuck)(const char *line));
void hf_xrt_watch_free(hf_xrt_watch *watch);
/** As the process ends: a call that is under way has some time. */
void hf_xrt_watch_stop(const hf_xrt_watch *watch);
/** Run a task that makes a call of XRT, or a few. HF_EDEVICE: it has not ended by the device's
 *  deadline, was left, and XRT is given up. One thread at a time. */
hf_status hf_xrt_watched(hf_xrt_watch *watch, const hf_host_task *task);

hf_status hf_xrt_write(hf_device *base, hf_buffer *to, size_t at, const void *from,
                       size_t bytes, const hf_order *order, hf_event **done);
hf_status hf_xrt_read(hf_device *base, const hf_buffer *from, size_t at, void *to,
                      size_t bytes, const hf_order *order, hf_event **done);
hf_status hf_xrt_copy(hf_device *base, hf_buffer *to, size_t to_at,
                      const hf_buffer *from, size_t from_at, size_t bytes,
                      const hf_order *order, hf_event **done);
hf_status hf_xrt_map(hf_device *base, hf_buffer *buffer, void **address);
hf_status hf_xrt_unmap(hf_device *base, hf_buffer *buffer, void *address);

hf_status hf_xrt_load_xclbin(hf_device *base, const char *name,
                             const unsigned char *binary, size_t bytes);
hf_status hf_xrt_kernel_open(hf_kernel **out, hf_device *base, const char *name,
                             unsigned unit);
void hf_xrt_kernel_free(hf_kernel *base);
hf_status hf_xrt_launch(hf_device *base, const hf_launch *launch, const hf_order *order,
                        hf_event **done);

/** The text "HBM[0], HBM[1]" of some memories, of many with "..." at its end. */
void hf_xrt_memories_text(char *text, size_t room, const hf_xclbin *xclbin,
                          const hf_xclbin_reach *reach);
/** A buffer of the card's memory. */
hf_status hf_xrt_alloc(hf_buffer **out, hf_device *base, size_t bytes,
                       const hf_spot *spot);
/** Give the card's memory back, and the buffer; both stay if XRT does not take it. */
void hf_xrt_release(hf_xrt_buffer *buffer);

/** More is copied in no call of XRT. */
static const size_t hf_xrt_max_alloc = ((size_t)1 << 32) - 4096;

#endif
