/* node.c - memory that the ranks of one node have in common.
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

/* Where the first rank of a node has the memory open, and which file it is. */
typedef struct place {
    int64_t process, file;
    uint64_t device, inode;
} place;

/* Take the whole memory now: a file that only grows in use ends in SIGBUS. */
static hf_status memory_make(const hf_transport *net, const hf_shared *s, place *out) {
    char name[64];
    struct stat state = {0};
    snprintf(name, sizeof name, "/" HF_SHARED_FILE "%ld", (long)getpid());
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), code = errno;
    if (file >= 0) {
        shm_unlink(name);
        code = posix_fallocate(file, 0, (off_t)s->all_bytes);
        if (!code && fstat(file, &state) != 0)
            code = errno;
        out->file = file;
    }
    if (code)
        return hf_fail(HF_ENOMEM, "no shared memory for %d ranks with %zu B each: %s",
                       net->local_size, s->bytes, strerror(code));
    out->process = getpid();
    out->device = state.st_dev;
    out->inode = state.st_ino;
    return HF_OK;
}

static hf_status memory_map(hf_shared *s, int file, int flags) {
    void *memory = mmap(NULL, s->all_bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED)
        return hf_fail(HF_ENOMEM, "cannot map %zu B of shared memory: %s", s->all_bytes,
                       strerror(errno));
    s->memory = memory;
    return HF_OK;
}

static hf_status memory_open(hf_shared *s, const place *where, int owner) {
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
        return hf_fail(HF_EDEVICE, "cannot open the memory of rank %d as %s: %s", owner,
                       path, strerror(code));
    hf_status status = memory_map(s, file, MAP_SHARED);
    close(file);
    return status;
}

/* The ranks of our node, in order: the first has made the memory, and each has a part. */
static hf_status memory_take(const hf_transport *net, hf_shared *s, const place *all,
                             size_t part) {
    int first = net->nodes[net->rank];
    size_t n = 0;
    HF_TRY(memory_open(s, &all[first], first));
    for (int rank = first; rank < net->size; rank++) {
        if (net->nodes[rank] != first)
            continue;
        s->parts[rank] = (char *)s->memory + n++ * part;
    }
    return HF_OK;
}

static hf_status memory_share(hf_transport *net, hf_shared *s, place *all, place *mine,
                              size_t part) {
    hf_status status = net->local_rank == 0 ? memory_make(net, s, mine) : HF_OK;
    HF_TRY(hf_agree(net, status));
    HF_TRY(net->ops->gather(net, all, mine, sizeof *mine));
    return hf_agree(net, memory_take(net, s, all, part));
}

static hf_status memory_own(hf_shared *s) {
    HF_TRY(memory_map(s, -1, MAP_SHARED | MAP_ANONYMOUS));
    s->parts[0] = s->memory;
    return HF_OK;
}

hf_status hf_shared_new(hf_shared **out, hf_transport *net, size_t bytes) {
    size_t size = (size_t)net->size, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t part = (bytes + page - 1) / page * page;
    hf_shared *s = calloc(1, sizeof *s + size * sizeof(void *));
    place *all = malloc(size * sizeof *all), mine = {.file = -1};
    hf_status status = s && all ? HF_OK
                                : hf_fail(HF_ENOMEM,
                                          "no memory for a window of %d "
                                          "ranks",
                                          net->size);
    status = hf_agree(net, status);
    assert(status != HF_OK || (s && all));
    if (status == HF_OK) {
        s->parts = (void **)(s + 1);
        s->bytes = bytes;
        s->all_bytes = (size_t)net->local_size * part;
        status =
            net->size == 1 ? memory_own(s) : memory_share(net, s, all, &mine, part);
    }
    if (mine.file >= 0)
        close((int)mine.file);
    free(all);
    if (status == HF_OK)
        *out = s;
    else
        hf_shared_free(s);
    return status;
}

void hf_shared_free(hf_shared *s) {
    if (s && s->memory)
        munmap(s->memory, s->all_bytes);
    free(s);
}

void hf_shared_keep(hf_shared *s) {
    free(s);
}

bool hf_node_crowded(int ranks) {
    return ranks > sysconf(_SC_NPROCESSORS_ONLN);
}
