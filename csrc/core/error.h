/* error.h - how a function says that it failed. */
#ifndef HF_ERROR_H
#define HF_ERROR_H

#include "core/status.h"

enum { HF_MESSAGE_ROOM = 512 }; /* characters of a message, with its end */

/** Store one line for this thread and return `status`. */
__attribute__((format(printf, 2, 3))) hf_status hf_fail(hf_status status,
                                                        const char *format, ...);

/** HF_EARG in a child of process `owner`: `what` tells what is that process's alone. */
hf_status hf_owner_check(const char *what, long owner);

/** Pass a failure on unchanged. */
#define HF_TRY(call)                      \
    do {                                  \
        hf_status hf_try_status = (call); \
        if (hf_try_status != HF_OK)       \
            return hf_try_status;         \
    } while (0)

#endif
