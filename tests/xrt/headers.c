/* headers.c - what the runtime declares of XRT, beside XRT's own headers: only compiled. */
#include <experimental/xrt_ini.h>
#include <stdbool.h>
#include <stddef.h>
#include <xrt.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include "device/xrt_library.h"

#define HOLDS(what) _Static_assert(what, #what)
#define SAME(name, result, arguments) \
    _Static_assert(                   \
        __builtin_types_compatible_p(__typeof__(xrt##name), result arguments), #name);
/* Those that take or give an enum for a number, or an xclbin for bytes, are not the same. */
HF_XRT_MAP(SAME)
HOLDS(sizeof(enum ert_cmd_state) == sizeof(int));
HOLDS(sizeof(enum xclBOSyncDirection) == sizeof(int));
HOLDS(__builtin_types_compatible_p(__typeof__(xrtDeviceLoadXclbin),
                                   int(void *, const struct axlf *)));
HOLDS(__builtin_types_compatible_p(__typeof__(xrtBOSync),
                                   int(void *, enum xclBOSyncDirection, size_t,
                                       size_t)));
HOLDS(__builtin_types_compatible_p(__typeof__(xrtRunState),
                                   enum ert_cmd_state(void *)));
HOLDS(__builtin_types_compatible_p(__typeof__(xrtRunWaitFor),
                                   enum ert_cmd_state(void *, unsigned)));

HOLDS((int)XCL_BO_SYNC_BO_TO_DEVICE == (int)HF_XRT_TO_DEVICE);
HOLDS((int)XCL_BO_SYNC_BO_FROM_DEVICE == (int)HF_XRT_FROM_DEVICE);
HOLDS((int)ERT_CMD_STATE_COMPLETED == (int)HF_XRT_COMPLETED);
HOLDS((int)ERT_CMD_STATE_ERROR == (int)HF_XRT_ERROR);
HOLDS((int)ERT_CMD_STATE_ABORT == (int)HF_XRT_ABORT);
HOLDS((int)ERT_CMD_STATE_SUBMITTED == (int)HF_XRT_SUBMITTED);
HOLDS((int)ERT_CMD_STATE_TIMEOUT == (int)HF_XRT_TIMEOUT);
HOLDS((int)ERT_CMD_STATE_NORESPONSE == (int)HF_XRT_NORESPONSE);

#define PLACE(own, theirs) \
    HOLDS(offsetof(hf_xrt_info, own) == offsetof(struct xclDeviceInfo2, theirs))
PLACE(name, mName);
PLACE(memory, mDDRSize);
PLACE(slot, mPciSlot);
HOLDS(sizeof(hf_xrt_info) >= sizeof(struct xclDeviceInfo2));
