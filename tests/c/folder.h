/* folder.h - files of a test program, in a folder of its own. */
#ifndef HF_FOLDER_H
#define HF_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static char folder[200];

/** Make it, where temporary files of this user are. */
static inline void folder_make(void) {
    const char *parent = getenv("TMPDIR");
    int n = snprintf(folder, sizeof folder, "%s/hf_files_XXXXXX",
                     parent && *parent ? parent : "/tmp");
    bool made = n < (int)sizeof folder && mkdtemp(folder);
    CHECK(made, "%s", folder);
    if (!made)
        exit(1); /* what it names is not ours to remove */
}

/** Path of a file; its name may have words in front, each with a colon. */
static inline const char *path_of(const char *name) {
    static char path[sizeof folder + 56];
    const char *words = strrchr(name, ':');
    int n = words ? (int)(words + 1 - name) : 0;
    snprintf(path, sizeof path, "%.*s%s/%s", n, name, folder, name + n);
    return path;
}

static inline void put(const char *name, const void *data, size_t n) {
    const char *path = strrchr(name, ':') ? strrchr(name, ':') + 1 : name;
    FILE *file = fopen(path_of(path), "wb");
    CHECK(file && fwrite(data, 1, n, file) == n, "%s", path);
    if (file)
        fclose(file);
}

static inline void folder_remove(void) {
    char command[sizeof folder + 10];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a name that we made */
}

#endif
