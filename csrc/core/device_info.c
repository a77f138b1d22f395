/* device_info.c - the words for what a device is. */
#include "core/device_info.h"

#include <strings.h>

const char *const hf_device_types[] = {"cpu", "gpu", "accelerator", NULL};

bool hf_device_type_named(hf_device_type *out, const char *word) {
    for (int type = 0; hf_device_types[type]; type++)
        if (strcasecmp(hf_device_types[type], word) == 0) {
            *out = (hf_device_type)type;
            return true;
        }
    return false;
}
