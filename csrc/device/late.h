/* late.h - for runtimes: a command that passes the deadline. */
#ifndef HF_LATE_H
#define HF_LATE_H

#include "device.h"

/** Break the device, and fail with the name of what has not ended, e.g. `kernel "x"`. */
hf_status hf_device_break(hf_device *device, const char *what);
/** Call `meanwhile`; its failure breaks the device. */
hf_status hf_device_meanwhile(hf_device *device, const char *what);

#endif
