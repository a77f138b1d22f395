/* xrt_library.h - the C functions of XRT that the runtime `xrt` calls, and how.
 *
 * They are the same from XRT 2.8 on. Written down here, nothing of XRT is needed to build.
 */
#ifndef HF_XRT_LIBRARY_H
#define HF_XRT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"

enum { HF_XRT_TO_DEVICE, HF_XRT_FROM_DEVICE }; /* xclBOSyncDirection */

/* ert_cmd_state */
enum {
    HF_XRT_COMPLETED = 4,
    HF_XRT_ERROR,
    HF_XRT_ABORT,
    HF_XRT_SUBMITTED,
    HF_XRT_TIMEOUT,
    HF_XRT_NORESPONSE
};

/* XX(name behind "xrt", result, arguments) */
#define HF_XRT_MAP(XX)                                                                 \
    XX(IniStringSet, int, (const char *key, const char *value))                        \
    XX(DeviceOpen, void *, (unsigned index))                                           \
    XX(DeviceClose, int, (void *device))                                               \
    XX(DeviceToXclDevice, void *, (void *device))                                      \
    XX(DeviceLoadXclbin, int, (void *device, const void *xclbin))                      \
    XX(BOAlloc, void *, (void *device, size_t bytes, uint64_t flags, uint32_t memory)) \
    XX(BOFree, int, (void *bo))                                                        \
    XX(BOMap, void *, (void *bo))                                                      \
    XX(BOSync, int, (void *bo, int direction, size_t bytes, size_t at))                \
    XX(PLKernelOpen, void *,                                                           \
       (void *device, const unsigned char *uuid, const char *name))                    \
    XX(KernelClose, int, (void *kernel))                                               \
    XX(KernelArgGroupId, int, (void *kernel, int arg))                                 \
    XX(RunOpen, void *, (void *kernel))                                                \
    XX(RunSetArg, int, (void *run, int arg, ...))                                      \
    XX(RunStart, int, (void *run))                                                     \
    XX(RunState, int, (void *run))                                                     \
    XX(RunWaitFor, int, (void *run, unsigned milliseconds))                            \
    XX(RunClose, int, (void *run))

/** xclDeviceInfo2. */
typedef struct hf_xrt_info {
    unsigned magic;
    char name[256]; /**< the shell */
    unsigned short versions[7];
    size_t memory, alignment, free, transfer; /* [B] */
    unsigned short banks, clocks[4], link[2], threads, sensors[5];
    float current;
    unsigned short n_clocks, fan;
    _Bool calibrated;
    unsigned long long controllers[2];
    unsigned short volts[2];
    unsigned long long currents[2];
    unsigned short sensors_more[22];
    unsigned long long driver;
    unsigned slot; /**< PCI domain, bus, device and function: 16, 8, 5 and 3 bits */
    char rest[1024];
} hf_xrt_info;

/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define HF_XRT_FIELD(name, result, arguments) result(*name) arguments;
typedef struct hf_xrt_functions {
    HF_XRT_MAP(HF_XRT_FIELD)
    unsigned (*probe)(void);
    int (*info)(void *shim, hf_xrt_info *out);
    int (*path)(void *shim, const char *part, const char *file, char *out, size_t room);
} hf_xrt_functions;
#undef HF_XRT_FIELD

extern hf_xrt_functions hf_xrt; /**< after `hf_xrt_load` */

/** Load XRT once in a process. HF_ENOTSUP: there is none, with where it was looked for. */
hf_status hf_xrt_load(void);
const char *hf_xrt_version(void); /**< of what is loaded, "2.13.466"; "": not known */
const char *hf_xrt_mode(void);    /**< XCL_EMULATION_MODE: "" for cards */

/** A place among XRT's messages, those of any thread: `listen` gives that after the last. */
typedef long hf_xrt_words;
hf_xrt_words hf_xrt_listen(void);
/** The place of the last `listen` of any thread: for calls too frequent for one each. */
hf_xrt_words hf_xrt_heard(void);

/** Fail with the call, `code`, an errno or 0, and XRT's words since `hf_xrt_listen`. */
hf_status hf_xrt_fail(hf_status status, const char *call, int code, hf_xrt_words words);

/** A call that may create, change or destroy objects of XRT. One thread makes them all: XRT's
 *  own tables take no two at once, and a call that never returns holds no one else. */
typedef struct hf_xrt_call hf_xrt_call;
struct hf_xrt_call {
    void (*make)(hf_xrt_call *); /**< makes it; from here on what it uses */
    void (*undo)(hf_xrt_call *); /**< gives back `result` of a late one; or NULL */
    const char *name;            /**< e.g. "xrtBOAlloc"; static */
    void *handle;
    const void *data;
    size_t bytes;
    uint32_t number;
    char text[160];
    void *result;    /**< NULL, or not 0: it failed, as `make` says */
    int code;        /**< errno */
    bool entered;    /**< it was begun, whether it has returned or not */
    double deadline; /**< where there is no device [s] */
    hf_xrt_words words;
    hf_xrt_info info;
};

/** Make a call. HF_EDEVICE: it has not returned by the deadline of `device`, or its own where
 *  that is NULL. What it uses is kept then, and no other call is made until it returns. */
hf_status hf_xrt_make(hf_xrt_call *call, hf_device *device);
/** Fail with what a call that was made and has failed tells. */
hf_status hf_xrt_failed(hf_status status, const hf_xrt_call *call);
/** Something else has not returned from XRT: no call is made any more. */
void hf_xrt_give_up(const char *name);

#endif
