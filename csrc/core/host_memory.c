/* host_memory.c - how much memory the host has, by the files of Linux.
 *
 * A container's limit is that of a control group. Groups lie in each other, and each may have a
 * limit. Versions 1 and 2 of control groups name their files differently, and either may be
 * mounted.
 */
#include "core/host_memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

enum { FILE_ROOM = 1 << 13, PATH_ROOM = 1 << 10, KIB = 1024 };

static const uint64_t untold = UINT64_MAX / 2;

static bool text_read(char text[FILE_ROOM], const char *root, const char *path,
                      const char *name) {
    char all[PATH_ROOM];
    int length = snprintf(all, sizeof all, "%s%s%s", root, path, name);
    int fd = length < PATH_ROOM ? open(all, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_ROOM - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* What follows `word` at the begin of a line of `text`; NULL if no line begins so. */
static const char *line_find(const char *text, const char *word) {
    const char *at = text;
    while (at && strncmp(at, word, strlen(word)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return at ? at + strlen(word) : NULL;
}

/* The number behind `word` in a file; `otherwise` where there is none. */
static uint64_t number_read(const char *root, const char *path, const char *name,
                            const char *word, uint64_t otherwise) {
    char text[FILE_ROOM], *end;
    const char *at = text_read(text, root, path, name) ? line_find(text, word) : NULL;
    uint64_t number = at ? strtoull(at, &end, 10) : 0;
    return at && end > at ? number : otherwise;
}

/* Names in a version of control groups. */
typedef struct group_files {
    const char *before; /* the group's path in /proc/self/cgroup */
    const char *mount, *limit, *used, *cached;
} group_files;

static const group_files versions[] = {
    {"0::", "/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file "},
    {"memory:", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
     "/memory.usage_in_bytes", "total_inactive_file "},
};

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static void group_limit(hf_host_memory *m, const char *root, const char *path,
                        const group_files *files) {
    uint64_t limit = number_read(root, path, files->limit, "", untold);
    uint64_t used = number_read(root, path, files->used, "", 0);
    uint64_t cached = number_read(root, path, "/memory.stat", files->cached, 0);
    used -= least(used, cached);
    m->all = least(m->all, limit);
    m->free = least(m->free, limit - least(limit, used));
}

/* The group of this process, and all that it lies in. */
static void groups_limit(hf_host_memory *m, const char *root,
                         const group_files *files) {
    char text[FILE_ROOM], path[PATH_ROOM];
    const char *at = NULL;
    if (text_read(text, root, "/proc/self", "/cgroup"))
        at = strstr(text, files->before);
    if (!at)
        return;
    at += strlen(files->before);
    int mount = (int)strlen(files->mount);
    int length =
        snprintf(path, sizeof path, "%s%.*s", files->mount, (int)strcspn(at, "\n"), at);
    if (length >= PATH_ROOM)
        return;
    for (char *end = path + length; end >= path + mount; end--)
        if (*end == '/' || *end == '\0') {
            *end = '\0';
            group_limit(m, root, path, files);
        }
}

hf_host_memory hf_host_memory_of(const char *root) {
    uint64_t all = number_read(root, "/proc", "/meminfo", "MemTotal:", untold / KIB);
    uint64_t left = number_read(root, "/proc", "/meminfo", "MemAvailable:", all);
    hf_host_memory m = {.all = all * KIB, .free = left * KIB};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        groups_limit(&m, root, &versions[i]);
    return m;
}

hf_status hf_host_memory_check(const char *what, uint64_t bytes, uint64_t left) {
    return bytes <= left
               ? HF_OK
               : hf_fail(HF_ENOMEM,
                         "%s take %.3g GB of the host's memory, of which %.3g GB are "
                         "left for this rank",
                         what, (double)bytes / 1e9, (double)left / 1e9);
}
