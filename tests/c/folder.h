/* folder.h - files of a test program, in a folder of its own. */
#ifndef HF_FOLDER_H
#define HF_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static char folder[] = "/tmp/hf_files_XXXXXX";

/** Path of a file; its name may have words in front, each with a colon. */
static const char *path_of(const char *name) {
    static char path[256];
    const char *words = strrchr(name, ':');
    int n = words ? (int)(words + 1 - name) : 0;
    snprintf(path, sizeof path, "%.*s%s/%s", n, name, folder, name + n);
    return path;
}

static void put(const char *name, const void *data, size_t n) {
    const char *path = strrchr(name, ':') ? strrchr(name, ':') + 1 : name;
    FILE *file = fopen(path_of(path), "wb");
    CHECK(file && fwrite(data, 1, n, file) == n, "%s", path);
    if (file)
        fclose(file);
}

static void folder_remove(void) {
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a name that we made */
}

#endif
