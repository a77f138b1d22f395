/* pipes.c - external channels of Intel's FPGA emulator: a named pipe for each link.
 *
 * The emulator takes an I/O channel for a file. Each rank has a folder with a pipe for each
 * port that receives, which it holds open, and a symbolic link for each port that sends, to
 * the pipe of another rank. A rank locks its folder: one that nobody locks is a leftover of a
 * process that ended, and is removed.
 */
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

#include "agree.h"
#include "core/error.h"
#include "medium.h"

#define PREFIX "hpccfpga-pipes-"
#define UNIQUE "XXXXXX" /* what mkdtemp replaces */

enum { FOLDER_ROOM = 256, PATH_ROOM = 600, MAX_BYTES = 1 << 20, MAX_TRIES = 100 };

/* Between two looks whether stopped kernels have ended [s]. Zeros must stay in a pipe for a
 * moment: what is drained at once, no kernel gets. */
static const double pump_seconds = 5e-4;

typedef struct pipes {
    hf_medium base;
    char folder[FOLDER_ROOM];
    int lock;
    bool gives; /* the last pump wrote zeros */
    int in[HF_MAX_PORTS], out[HF_MAX_PORTS];
} pipes;

/* A folder of our own user's, or -1: everybody writes in /tmp. */
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

/* Remove what pipes.c made in a folder, then the folder, unless it holds more. */
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
static void leftovers_remove(const char *parent) {
    DIR *list = opendir(parent);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char path[PATH_ROOM];
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        int lock = lock_open(path, 0);
        if (lock < 0)
            continue;
        folder_remove(path);
        close(lock);
    }
    if (list)
        closedir(list);
}

/* Make a folder; its lock, or -1 if another process took it for a leftover meanwhile. */
static int folder_make(char *folder, const char *parent) {
    struct stat state;
    snprintf(folder, FOLDER_ROOM, "%s/%s", parent, PREFIX UNIQUE);
    int lock = mkdtemp(folder) ? lock_open(folder, O_CREAT) : -1;
    if (lock >= 0 && (fstat(lock, &state) != 0 || state.st_nlink == 0)) {
        close(lock);
        errno = ENOENT;
        return -1;
    }
    return lock;
}

/* Kernels get the names of pipes as strings of OpenCL C. */
static hf_status parent_check(const char *parent) {
    size_t longest = FOLDER_ROOM - sizeof "/" PREFIX UNIQUE;
    if (strlen(parent) <= longest && !strpbrk(parent, "\"\\\n"))
        return HF_OK;
    return hf_fail(HF_EARG,
                   "emulated channels: a folder for pipes has no quote, backslash or "
                   "newline in its name, and at most %zu characters: \"%.100s\"",
                   longest, parent);
}

static hf_status pipes_open(hf_medium **out, hf_device *device, hf_transport *net) {
    const char *parent = device->folder;
    HF_TRY(parent_check(parent));
    leftovers_remove(parent);
    pipes *p = calloc(1, sizeof *p);
    if (!p)
        return hf_fail(HF_ENOMEM, "no memory for pipes");
    p->base = (hf_medium){.ops = &hf_medium_pipes, .device = device, .net = net};
    for (int i = 0; i < HF_MAX_PORTS; i++)
        p->in[i] = p->out[i] = -1;
    p->lock = -1;
    for (int i = 0; i < MAX_TRIES && p->lock < 0; i++)
        p->lock = folder_make(p->folder, parent);
    if (p->lock < 0) {
        hf_status status =
            hf_fail(HF_EDEVICE, "cannot make a folder for pipes in %s: %s", parent,
                    strerror(errno));
        free(p);
        return status;
    }
    snprintf(p->base.prelude, sizeof p->base.prelude,
             "#define HF_INTEL\n#define HF_IO \"%s\"\n", p->folder);
    *out = &p->base;
    return HF_OK;
}

static void ends_close(pipes *p) {
    for (int port = 0; port < HF_MAX_PORTS; port++) {
        if (p->in[port] >= 0)
            close(p->in[port]);
        if (p->out[port] >= 0)
            close(p->out[port]);
        p->in[port] = p->out[port] = -1;
    }
}

static void pipes_close(hf_medium *base) {
    pipes *p = (pipes *)base;
    ends_close(p);
    folder_remove(p->folder);
    close(p->lock);
    free(p);
}

/* ---- connect ---- */

/* Held open for both directions, so a kernel's own opening never waits. */
static hf_status pipe_make(pipes *p, int port, size_t bytes) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/in%d", p->folder, port);
    unlink(path);
    if (mkfifo(path, 0600) == 0)
        p->in[port] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (p->in[port] < 0)
        return hf_fail(HF_EDEVICE, "cannot make the pipe %s: %s", path,
                       strerror(errno));
#ifdef F_SETPIPE_SZ
    fcntl(p->in[port], F_SETPIPE_SZ, bytes < MAX_BYTES ? (int)bytes : MAX_BYTES);
#endif
    return HF_OK;
}

static hf_status pipe_point(pipes *p, const hf_link *link, const char *folder) {
    char path[PATH_ROOM], target[PATH_ROOM];
    snprintf(path, sizeof path, "%s/out%d", p->folder, link->out);
    snprintf(target, sizeof target, "%s/in%d", folder, link->in);
    unlink(path);
    if (symlink(target, path) == 0)
        p->out[link->out] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return p->out[link->out] >= 0
               ? HF_OK
               : hf_fail(HF_EDEVICE, "cannot link %s: %s", path, strerror(errno));
}

static hf_status pipes_connect(hf_medium *base, const hf_wiring *w) {
    pipes *p = (pipes *)base;
    hf_transport *net = base->net;
    char *folders = malloc((size_t)net->size * FOLDER_ROOM);
    hf_status status = hf_medium_one_node(net);
    if (status == HF_OK && !folders)
        status = hf_fail(HF_ENOMEM, "no memory for %d names of folders", net->size);
    ends_close(p);
    for (int port = 0; port < w->ports && status == HF_OK; port++)
        status = pipe_make(p, port, w->depth * w->width);
    status = hf_agree(net, status);
    assert(status != HF_OK || folders);
    if (status == HF_OK)
        status = net->ops->gather(net, folders, p->folder, FOLDER_ROOM);
    for (int port = 0; port < w->ports && status == HF_OK; port++) {
        const hf_link *link = &w->links[net->rank * w->ports + port];
        status = pipe_point(p, link, folders + (size_t)link->to * FOLDER_ROOM);
    }
    free(folders);
    return status;
}

/* ---- run ---- */

/* Take what a pipe holds, but not all that a kernel goes on to write. */
static void pipe_drain(int pipe) {
    char waste[4096];
    for (int left = MAX_BYTES; left > 0 && read(pipe, waste, sizeof waste) > 0;)
        left -= (int)sizeof waste;
}

static hf_status pipes_clear(hf_medium *base) {
    for (int port = 0; port < base->wiring.ports; port++)
        pipe_drain(((pipes *)base)->in[port]);
    return HF_OK;
}

/* Kernels at our ports cannot be stopped, only be let go on to their end: by turns, those
 * that receive get zeros, and those that send get room. */
static double pipes_stop(hf_medium *base, const char *why) {
    static const char zeros[4096];
    pipes *p = (pipes *)base;
    (void)why;
    p->gives = !p->gives;
    for (int port = 0; port < base->wiring.ports; port++)
        if (!p->gives)
            pipe_drain(p->out[port]);
        else if (write(p->in[port], zeros, sizeof zeros) < 0)
            continue; /* its reader has what it needs */
    return pump_seconds;
}

/* Add a port if a kernel waits there: its pipe is empty, or full, which means that no page
 * of it is free. */
static void port_report(hf_report *ports, const pipes *p, const hf_end *end) {
    const char *mark = ports->used ? "," : ":";
    struct pollfd look = {.fd = end->sends ? p->out[end->index] : p->in[end->index],
                          .events = end->sends ? POLLOUT : POLLIN};
    int bytes = 0;
    if (poll(&look, 1, 0) != 0)
        return;
    ioctl(look.fd, FIONREAD, &bytes);
    if (end->sends)
        hf_report_add(ports, "%s out %d full with %zu packets", mark, end->index,
                      (size_t)bytes / p->base.wiring.width);
    else
        hf_report_add(ports, "%s in %d empty", mark, end->index);
}

static hf_status pipes_report(hf_medium *base, hf_report *report, const bool *ended) {
    for (size_t i = 0; i < base->n; i++) {
        const hf_stream *stream = &base->streams[i];
        hf_report ports = {.used = 0};
        if (ended[i])
            continue;
        for (size_t e = 0; e < stream->n_ends; e++)
            if (!stream->ends[e].inner)
                port_report(&ports, (const pipes *)base, &stream->ends[e]);
        hf_report_add(report, "; rank %d %s%s", base->net->rank, stream->name,
                      ports.text);
    }
    return HF_OK;
}

const hf_medium_ops hf_medium_pipes = {
    .ports = HF_PORTS_FILES,
    .open = pipes_open,
    .connect = pipes_connect,
    .clear = pipes_clear,
    .stop = pipes_stop,
    .report = pipes_report,
    .close = pipes_close,
};
