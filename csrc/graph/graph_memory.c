/* graph_memory.c - memory of the host, looked at before much of it is taken. */
#include "graph_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 12 };

/* The number behind `word` in a file of the system; UINT64_MAX if there is none. */
static uint64_t number_in(const char *path, const char *word) {
    char text[ROOM];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return UINT64_MAX;
    text[n] = 0;
    const char *at = strstr(text, word);
    char *end;
    uint64_t number = at ? strtoull(at + strlen(word), &end, 10) : 0;
    return at && end > at + strlen(word) ? number : UINT64_MAX;
}

uint64_t memory_free(void) {
    uint64_t free = number_in("/proc/meminfo", "MemAvailable:");
    uint64_t group = number_in("/sys/fs/cgroup/memory.max", ""); /* of a container */
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (free != UINT64_MAX)
        free *= 1024;
    else if (pages > 0 && page > 0)
        free = (uint64_t)pages * (uint64_t)page;
    return free < group ? free : group;
}
