/* standin_shim.c - the driver library: which cards there are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "standin.h"

API unsigned xclProbe(void);
API int xclGetDeviceInfo2(const void *device, unsigned char *info);
API int xclGetSysfsPath(const void *device, const char *part, const char *file,
                        char *path, size_t room);

unsigned xclProbe(void) {
    return standin_fails("xclProbe") ? 0 : (unsigned)setting("HF_STANDIN_CARDS", 1);
}

/* A card's address is 0000:<3b + its number>:00.1. */
int xclGetDeviceInfo2(const void *device, unsigned char *info) {
    enum { AT_NAME = 4, AT_MEMORY = 280, AT_SLOT = 448, SIZE = 736 };
    size_t memory = (size_t)8 << 30;
    const char *shell = getenv("HF_STANDIN_SHELL");
    if (!device || standin_fails("xclGetDeviceInfo2"))
        return -ENODEV;
    unsigned number = ((const unsigned *)device)[1];
    unsigned slot = number / 8 << 16 | (0x3bU + number % 8) << 8 | 1;
    memset(info, 0, SIZE);
    snprintf((char *)info + AT_NAME, 256, "%s", shell ? shell : SHELL);
    memcpy(info + AT_MEMORY, &memory, sizeof memory);
    memcpy(info + AT_SLOT, &slot, sizeof slot);
    return 0;
}

int xclGetSysfsPath(const void *device, const char *part, const char *file, char *path,
                    size_t room) {
    const char *folder = getenv("HF_STANDIN_SYSFS");
    if (!folder || standin_fails("xclGetSysfsPath"))
        return -EINVAL;
    snprintf(path, room, "%s/%u/%s%s/%s", folder, ((const unsigned *)device)[1], part,
             *part ? ".u.1" : "", file);
    return 0;
}
