/* gate.h - a device whose kernel `gate` waits until the host opens it, so that a test knows what
 * has not ended, without any measure of time. */
#ifndef HF_GATE_H
#define HF_GATE_H

#include <stdint.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "device.h"

extern const hf_device_ops hf_device_host, hf_device_opencl;

enum {
    WORDS = 1024,
    BYTES = WORDS * sizeof(uint32_t),
    OPEN = 0,
    PASSED = 1,
    VALUE = 7
};

extern const hf_device_ops *ops;
extern bool looks; /**< the device passes for one whose commands no CPU runs */
extern hf_device *device;
extern hf_kernel *gate, *set;
extern volatile uint32_t *words; /**< of the device, seen by the host */
extern hf_buffer *shared;

/** As OpenCL allows: a write that blocks returns when the host's memory has been copied. */
extern bool early;
/** As NVIDIA's runtime: while the gate is shut, no other kernel is said to have ended. */
extern bool ordered;
/** OpenCL says once that a command has failed. */
extern bool fails;
/** OpenCL says that it has not handed a command over, though the command runs. */
extern bool unflushed;
extern size_t flushes;   /**< of queues of OpenCL, by its calls */
extern size_t questions; /**< to OpenCL, about events */
extern size_t reads;     /**< given to OpenCL as commands */

void device_open(void);
void device_close(void);
hf_status launch(hf_kernel *kernel, uint32_t value, const hf_order *order,
                 hf_event **done);
void gate_open(void);

/** A thread that opens the gate after 50 ms. */
void *gate_open_later(void *unused);
bool has_ended(hf_event *event, double seconds);
void words_clear(void);

/* ---- queues_end.c ---- */

void deadline_test(int way);
void meanwhile_test(int way);
void late_test(void);
void unflushed_test(void);

#endif
