/* leftovers.c - shared memory of jobs that were killed with their mpirun.
 *
 * Open MPI's files in /dev/shm outlive such a job and take memory until somebody removes
 * them. So does ours where its rank is killed before it has lost its name (node.c). A file of
 * this user that no process has mapped, and that is not being made just now, is one.
 */
#include "leftovers.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node.h"

#define FOLDER "/dev/shm"

enum { MAX_FILES = 256, NAME_ROOM = 128, PATH_ROOM = 320, MAKING_SECONDS = 5 };

typedef struct files {
    char names[MAX_FILES][NAME_ROOM]; /* "" : in use */
    size_t n;
} files;

/* A name that Open MPI (4 or 5) or node.c gives. */
static bool name_known(const char *name) {
    static const char *const prefixes[] = {HF_SHARED_FILE, "vader_segment.",
                                           "sm_segment."};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);
        const char *rest = name + length;
        if (strncmp(name, prefixes[i], length) == 0 && *rest)
            return i > 0 || rest[strspn(rest, "0123456789")] == '\0';
    }
    return false;
}

/* Of such a name, this user's, and not of this moment. */
static bool file_candidate(int folder, const char *name) {
    struct stat state;
    return name_known(name) && strlen(name) < NAME_ROOM &&
           fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(state.st_mode) && state.st_uid == geteuid() &&
           state.st_mtime + MAKING_SECONDS < time(NULL);
}

static void files_list(files *f, DIR *folder) {
    for (struct dirent *entry; f->n < MAX_FILES && (entry = readdir(folder));)
        if (file_candidate(dirfd(folder), entry->d_name))
            memcpy(f->names[f->n++], entry->d_name, strlen(entry->d_name) + 1);
}

/* Forget the files that a process has mapped. */
static void mapped_forget(files *f, const char *process) {
    char path[PATH_ROOM], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%s/maps", process);
    FILE *maps = fopen(path, "r");
    while (maps && getline(&line, &room, maps) > 0) {
        const char *name = strstr(line, FOLDER "/");
        for (size_t i = 0; name && i < f->n; i++) {
            size_t length = strlen(f->names[i]);
            if (length && strncmp(name + strlen(FOLDER "/"), f->names[i], length) == 0)
                f->names[i][0] = '\0';
        }
    }
    if (maps)
        fclose(maps);
    free(line);
}

void hf_leftovers_remove(void) {
    DIR *folder = opendir(FOLDER);
    files *f = calloc(1, sizeof *f);
    if (folder && f)
        files_list(f, folder);
    DIR *processes = f && f->n ? opendir("/proc") : NULL;
    for (struct dirent *entry; processes && (entry = readdir(processes));)
        if (isdigit((unsigned char)entry->d_name[0]))
            mapped_forget(f, entry->d_name);
    for (size_t i = 0; processes && i < f->n; i++)
        if (*f->names[i])
            unlinkat(dirfd(folder), f->names[i], 0);
    if (processes)
        closedir(processes);
    if (folder)
        closedir(folder);
    free(f);
}
