/* pipes.c - external channels of Intel's FPGA emulator: a named pipe for each link.
 *
 * The emulator takes an I/O channel for a file. Each rank has a folder with a pipe for each
 * port that receives, which it holds open, and a symbolic link for each port that sends, to
 * the pipe of another rank. A lock tells a living owner: what is not locked may go.
 */
#include "pipes.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

#define PARENT "/tmp"
#define PREFIX "hpccfpga-pipes-"

enum { FOLDER_ROOM = 64, PATH_ROOM = 400, MOST_BYTES = 1 << 20, MOST_TRIES = 100 };

struct hf_pipes {
    char folder[FOLDER_ROOM];
    int lock, ports;
    bool gives; /* the last pump did */
    int in[HF_MOST_PORTS], out[HF_MOST_PORTS];
};

/* A folder of our own user's, or -1: everybody writes in PARENT. */
static int folder_open(const char *path) {
    struct stat state;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && (fstat(folder, &state) != 0 || state.st_uid != geteuid())) {
        close(folder);
        errno = EPERM;
        return -1;
    }
    return folder;
}

static bool name_ours(const char *name) {
    return strncmp(name, "in", 2) == 0 || strncmp(name, "out", 3) == 0 ||
           strcmp(name, "lock") == 0;
}

/* What pipes.c made in a folder, and then the folder, unless it holds more. */
static void folder_remove(const char *path) {
    int folder = folder_open(path);
    if (folder < 0)
        return;
    DIR *list = fdopendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (name_ours(entry->d_name))
            unlinkat(folder, entry->d_name, 0);
    if (list)
        closedir(list);
    else
        close(folder);
    rmdir(path);
}

static int lock_open(const char *path, int flags) {
    int folder = folder_open(path);
    if (folder < 0)
        return -1;
    int lock = openat(folder, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    int code = errno;
    close(folder);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        code = errno;
        close(lock);
        lock = -1;
    }
    errno = code;
    return lock;
}

/* Folders of processes that are gone. */
static void leftovers_remove(void) {
    DIR *list = opendir(PARENT);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char path[PATH_ROOM];
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", PARENT, entry->d_name);
        int lock = lock_open(path, 0);
        if (lock < 0)
            continue;
        folder_remove(path);
        close(lock);
    }
    if (list)
        closedir(list);
}

/* A new folder; its lock, or -1 where another process took it for a leftover before. */
static int folder_make(char *folder, size_t room) {
    struct stat state;
    snprintf(folder, room, "%s/%sXXXXXX", PARENT, PREFIX);
    int lock = mkdtemp(folder) ? lock_open(folder, O_CREAT) : -1;
    if (lock >= 0 && (fstat(lock, &state) != 0 || state.st_nlink == 0)) {
        close(lock);
        errno = ENOENT;
        return -1;
    }
    return lock;
}

hf_status hf_pipes_open(hf_pipes **out) {
    leftovers_remove();
    hf_pipes *pipes = calloc(1, sizeof *pipes);
    if (!pipes)
        return hf_fail(HF_ENOMEM, "no memory for pipes");
    for (int i = 0; i < HF_MOST_PORTS; i++)
        pipes->in[i] = pipes->out[i] = -1;
    pipes->lock = -1;
    for (int i = 0; i < MOST_TRIES && pipes->lock < 0; i++)
        pipes->lock = folder_make(pipes->folder, sizeof pipes->folder);
    if (pipes->lock < 0) {
        hf_status status =
            hf_fail(HF_EDEVICE, "cannot make a folder for pipes in %s: %s", PARENT,
                    strerror(errno));
        free(pipes);
        return status;
    }
    *out = pipes;
    return HF_OK;
}

static void ends_close(hf_pipes *pipes) {
    for (int port = 0; port < HF_MOST_PORTS; port++) {
        if (pipes->in[port] >= 0)
            close(pipes->in[port]);
        if (pipes->out[port] >= 0)
            close(pipes->out[port]);
        pipes->in[port] = pipes->out[port] = -1;
    }
}

void hf_pipes_close(hf_pipes *pipes) {
    if (!pipes)
        return;
    ends_close(pipes);
    folder_remove(pipes->folder);
    close(pipes->lock);
    free(pipes);
}

void hf_pipes_prelude(const hf_pipes *pipes, char *text, size_t room) {
    snprintf(text, room, "#define HF_INTEL\n#define HF_IO \"%s\"\n", pipes->folder);
}

/* Held open for both directions: a kernel's own opening never waits then. */
static hf_status pipe_make(hf_pipes *pipes, int port, size_t bytes) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/in%d", pipes->folder, port);
    unlink(path);
    if (mkfifo(path, 0600) == 0)
        pipes->in[port] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (pipes->in[port] < 0)
        return hf_fail(HF_EDEVICE, "cannot make the pipe %s: %s", path,
                       strerror(errno));
#ifdef F_SETPIPE_SZ
    fcntl(pipes->in[port], F_SETPIPE_SZ, bytes < MOST_BYTES ? (int)bytes : MOST_BYTES);
#endif
    return HF_OK;
}

static hf_status pipe_point(hf_pipes *pipes, const hf_link *link, const char *folder) {
    char path[PATH_ROOM], target[PATH_ROOM];
    snprintf(path, sizeof path, "%s/out%d", pipes->folder, link->out);
    snprintf(target, sizeof target, "%s/in%d", folder, link->in);
    unlink(path);
    if (symlink(target, path) == 0)
        pipes->out[link->out] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return pipes->out[link->out] >= 0
               ? HF_OK
               : hf_fail(HF_EDEVICE, "cannot link %s: %s", path, strerror(errno));
}

hf_status hf_pipes_connect(hf_pipes *pipes, hf_transport *net, size_t n,
                           const hf_link *links, int ports, size_t bytes) {
    char *folders = malloc((size_t)net->size * FOLDER_ROOM);
    hf_status status =
        folders ? HF_OK
                : hf_fail(HF_ENOMEM, "no memory for %d names of folders", net->size);
    ends_close(pipes);
    pipes->ports = ports;
    for (int port = 0; port < ports && status == HF_OK; port++)
        status = pipe_make(pipes, port, bytes);
    status = hf_agree(net, status);
    assert(status != HF_OK || folders);
    if (status == HF_OK)
        status = net->ops->gather(net, folders, pipes->folder, FOLDER_ROOM);
    for (int port = 0; port < ports && status == HF_OK; port++) {
        const hf_link *link = hf_links_from(n, links, net->rank, port);
        status = pipe_point(pipes, link, folders + (size_t)link->to * FOLDER_ROOM);
    }
    free(folders);
    return status;
}

static void pipe_drain(int pipe) {
    char waste[4096];
    while (read(pipe, waste, sizeof waste) > 0)
        continue;
}

void hf_pipes_drain(hf_pipes *pipes) {
    for (int port = 0; port < pipes->ports; port++)
        pipe_drain(pipes->in[port]);
}

void hf_pipes_report(hf_report *report, const hf_pipes *pipes, int port, bool sends,
                     size_t width) {
    const char *mark = report->used ? "," : ":";
    struct pollfd end = {.fd = sends ? pipes->out[port] : pipes->in[port],
                         .events = sends ? POLLOUT : POLLIN};
    int bytes = 0;
    if (poll(&end, 1, 0) != 0)
        return;
    ioctl(end.fd, FIONREAD, &bytes);
    if (sends)
        hf_report_add(report, "%s out %d full with %zu packets", mark, port,
                      (size_t)bytes / width);
    else
        hf_report_add(report, "%s in %d empty", mark, port);
}

void hf_pipes_pump(hf_pipes *pipes) {
    static const char zeros[4096];
    pipes->gives = !pipes->gives;
    for (int port = 0; port < pipes->ports; port++)
        if (!pipes->gives)
            pipe_drain(pipes->out[port]);
        else if (write(pipes->in[port], zeros, sizeof zeros) < 0)
            continue; /* its reader has what it needs */
}
