/* one_core.h - devices whose threads take turns with the caller. */
#ifndef HF_ONE_CORE_H
#define HF_ONE_CORE_H

#include "device.h"

/** Are its copies made by threads on one core, which is the caller's, too? */
bool hf_device_on_one_core(const hf_device *device);
/** Copy single bytes of a buffer for some milliseconds: what threads did before no longer shows in
 *  the time of copies. */
hf_status hf_device_settle(hf_device *device, const hf_buffer *buffer);

#endif
