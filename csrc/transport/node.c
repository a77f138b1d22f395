/* node.c - what the ranks of one node have in common: its name, and memory.
 *
 * The memory has no name from the moment that it is there, so that no killed rank leaves
 * it behind: the other ranks open it by the first rank's descriptor in /proc.
 */
#include "node.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agree.h"
#include "core/error.h"

typedef struct window {
    hf_shared base;
    void *memory;
    size_t bytes; /* of all ranks */
} window;

/* Where the first rank has the memory open, and which file it is. */
typedef struct place {
    int64_t process, file;
    uint64_t device, inode;
} place;

void hf_node_name(char name[HF_NODE_ROOM]) {
    memset(name, 0, HF_NODE_ROOM);
    gethostname(name, HF_NODE_ROOM / 2 - 1);
    size_t used = strlen(name);
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (boot && !fgets(name + used, (int)(HF_NODE_ROOM - used), boot))
        name[used] = '\0';
    if (boot)
        fclose(boot);
}

/* Take the whole memory now: a file that only grows in use ends in SIGBUS. */
static hf_status memory_make(const hf_transport *net, const window *s, place *out) {
    char name[64];
    struct stat state = {0};
    snprintf(name, sizeof name, "/" HF_SHARED_FILE "%ld", (long)getpid());
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), code = errno;
    if (file >= 0) {
        shm_unlink(name);
        code = posix_fallocate(file, 0, (off_t)s->bytes);
        if (!code && fstat(file, &state) != 0)
            code = errno;
        out->file = file;
    }
    if (code)
        return hf_fail(HF_ENOMEM, "no shared memory for %d ranks with %zu B each: %s",
                       net->size, s->base.bytes, strerror(code));
    out->process = getpid();
    out->device = state.st_dev;
    out->inode = state.st_ino;
    return HF_OK;
}

static hf_status memory_map(window *s, int file, int flags) {
    void *memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED)
        return hf_fail(HF_ENOMEM, "cannot map %zu B of shared memory: %s", s->bytes,
                       strerror(errno));
    s->memory = memory;
    return HF_OK;
}

static hf_status memory_open(window *s, const place *where) {
    char path[64];
    struct stat state;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)where->process,
             (long long)where->file);
    int file = open(path, O_RDWR | O_CLOEXEC), code = errno;
    if (file >= 0 && (fstat(file, &state) != 0 || state.st_dev != where->device ||
                      state.st_ino != where->inode)) {
        close(file);
        file = -1;
        code = ESTALE; /* another process has that number where we look */
    }
    if (file < 0)
        return hf_fail(HF_EDEVICE, "cannot open the memory of rank 0 as %s: %s", path,
                       strerror(code));
    hf_status status = memory_map(s, file, MAP_SHARED);
    close(file);
    return status;
}

static hf_status memory_share(hf_transport *net, window *s, place *all, place *mine) {
    hf_status status = net->rank == 0 ? memory_make(net, s, mine) : HF_OK;
    HF_TRY(hf_agree(net, status));
    HF_TRY(net->ops->gather(net, all, mine, sizeof *mine));
    return hf_agree(net, memory_open(s, &all[0]));
}

hf_status hf_shared_new(hf_shared **out, hf_transport *net, size_t bytes) {
    size_t size = (size_t)net->size, page = (size_t)sysconf(_SC_PAGESIZE);
    assert(net->local_size == net->size);
    size_t part = (bytes + page - 1) / page * page;
    window *s = malloc(sizeof *s + size * sizeof(void *));
    place *all = malloc(size * sizeof *all), mine = {.file = -1};
    hf_status status = s && all ? HF_OK
                                : hf_fail(HF_ENOMEM,
                                          "no memory for a window of %d "
                                          "ranks",
                                          net->size);
    status = hf_agree(net, status);
    assert(status != HF_OK || (s && all));
    if (s)
        *s = (window){{(void **)(s + 1), bytes}, NULL, size * part};
    if (status == HF_OK)
        status = net->size == 1 ? memory_map(s, -1, MAP_SHARED | MAP_ANONYMOUS)
                                : memory_share(net, s, all, &mine);
    if (mine.file >= 0)
        close((int)mine.file);
    free(all);
    if (status != HF_OK) {
        hf_shared_free((hf_shared *)s); /* which may be NULL */
        return status;
    }
    for (size_t rank = 0; rank < size; rank++)
        s->base.parts[rank] = (char *)s->memory + rank * part;
    *out = &s->base;
    return HF_OK;
}

void hf_shared_free(hf_shared *shared) {
    window *s = (window *)shared;
    if (s && s->memory)
        munmap(s->memory, s->bytes);
    free(s);
}
