/* one_core.h - devices whose threads take turns with the caller. */
#ifndef HF_ONE_CORE_H
#define HF_ONE_CORE_H

#include "device.h"

/** Is the device a CPU whose threads have one core, which is the caller's, too? */
bool hf_device_on_one_core(const hf_device *device);
/** If so, copy single bytes of a buffer for some milliseconds: copies after that take as long as if
 *  only copies had been before. Else do nothing. */
hf_status hf_device_settle(hf_device *device, const hf_buffer *buffer);

#endif
