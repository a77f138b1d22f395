/* standin_device.c - cards, and buffers of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "standin.h"

/* Nothing lies so near the memory of the card: who goes astray, by 2^32 words of 8 B at most,
 * does not go unseen. */
static const size_t GUARD = (size_t)1 << 35;

static card cards[MAX_CARDS];

/* ---- devices ---- */

static image *image_held(const char *path) {
    FILE *file = path ? fopen(path, "rb") : NULL;
    image *held = NULL;
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    size_t bytes = (size_t)ftell(file);
    char *data = malloc(bytes);
    rewind(file);
    if (fread(data, 1, bytes, file) == bytes)
        held = image_read(data);
    free(data);
    fclose(file);
    return held;
}

API void *xrtDeviceOpen(unsigned index) {
    const char *mode = getenv("XCL_EMULATION_MODE");
    if (mode && strcmp(mode, "noop") != 0) {
        while (strcmp(mode, "hw_emu") == 0 || strcmp(mode, "sw_emu") == 0)
            pause();
        end_process("invalid XCL_EMULATION_MODE");
    }
    if (!getenv("XILINX_XRT") && !dlopen("libxrt_core.so.2", RTLD_NOW | RTLD_NOLOAD))
        end_process("XILINX_XRT not set");
    if (standin_fails("xrtDeviceOpen"))
        return NULL;
    if ((long)index >= setting("HF_STANDIN_CARDS", 1) || index >= MAX_CARDS ||
        (long)index == setting("HF_STANDIN_BUSY", -1)) {
        refuse((long)index == setting("HF_STANDIN_BUSY", -1) ? EBUSY : ENOENT,
               "Could not open device with index '%u'", index);
        return NULL;
    }
    device *d = calloc(1, sizeof *d);
    *d = (device){.magic = DEVICE, .index = index, .card = &cards[index]};
    if (!d->card->seen)
        d->card->image = image_held(getenv("HF_STANDIN_HOLDS"));
    d->card->seen = true;
    n_devices++;
    return d;
}

API int xrtDeviceClose(void *handle) {
    device *d = handle;
    if (!valid(d, DEVICE) || standin_fails("xrtDeviceClose"))
        return -1;
    if (d->buffers)
        return refuse(EBUSY, "device closed with %d buffers", d->buffers);
    d->magic = GONE;
    n_devices--;
    free(d);
    return 0;
}

/* Runs of the compute units of this name. */
int standin_ran(const char *name) {
    int n = 0;
    for (int i = 0; i < MAX_CARDS; i++)
        for (size_t u = 0; cards[i].image && u < cards[i].image->n_units; u++)
            if (strcmp(cards[i].image->units[u].name, name) == 0)
                n += cards[i].image->units[u].n_ran;
    return n;
}

API void *xrtDeviceToXclDevice(void *handle) {
    return standin_fails("xrtDeviceToXclDevice") ? NULL : handle;
}

/* The driver leaves what is loaded already as it is; another one takes its place if nothing of it
 * is in use, by any handle. */
API int xrtDeviceLoadXclbin(void *handle, const char *file) {
    device *d = handle;
    if (!valid(d, DEVICE) || standin_fails("xrtDeviceLoadXclbin"))
        return -1;
    if (strcmp(file + 352, MADE_FOR) != 0) { /* some versions leave errno alone */
        refuse(0, "Xclbin does not match shell on card");
        return EOPNOTSUPP;
    }
    card *c = d->card;
    if (c->image && memcmp(c->image->uuid, file + AT_UUID, sizeof c->image->uuid) == 0)
        return 0;
    if (c->kernels)
        return refuse(EBUSY, "Xclbin on card is in use, can't change");
    if (c->buffers)
        return refuse(EPERM, "The memory has buffers of the xclbin before");
    image *x = image_read(file);
    if (!x)
        return refuse(EINVAL, "no bitstream: %s", dlerror());
    if (c->image)
        dlclose(c->image->library);
    free(c->image);
    c->image = x;
    return 0;
}

/* ---- buffers ---- */

static size_t whole_pages(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

API void *xrtBOAlloc(void *handle, size_t bytes, uint64_t flags, uint32_t memory) {
    device *d = handle;
    if (!valid(d, DEVICE) || standin_fails("xrtBOAlloc"))
        return NULL;
    const image *x = d->card->image;
    if (flags != 0 || !x || memory >= x->n_memories || !x->memories[memory].used) {
        refuse(EINVAL, "failed to allocate bo in memory %u", memory);
        return NULL;
    }
    if (bytes > x->memories[memory].bytes) {
        refuse(ENOMEM, "failed to allocate bo of %zu B", bytes);
        return NULL;
    }
    enter();
    buffer *b = calloc(1, sizeof *b);
    size_t whole = whole_pages(bytes);
    char *all = mmap(NULL, 2 * (whole + GUARD), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all, whole, PROT_READ | PROT_WRITE) != 0 ||
        mprotect(all + whole + GUARD, whole, PROT_READ | PROT_WRITE) != 0)
        end_process("the host has no memory for a buffer");
    *b = (buffer){.magic = BUFFER, .device = d, .bytes = bytes, .memory = memory};
    b->host = all;
    b->card = all + whole + GUARD;
    memset(b->card, 0xA5, bytes < 4096 ? bytes : 4096);
    d->buffers++;
    d->card->buffers++;
    n_buffers++;
    leave();
    return b;
}

API int xrtBOFree(void *handle) {
    buffer *b = handle;
    if (!valid(b, BUFFER))
        end_process("a buffer is freed twice");
    n_buffers--; /* XRT forgets it first */
    if (standin_fails("xrtBOFree")) {
        n_buffers++;
        return -1;
    }
    if (b->users > 0 && !ending)
        end_process("a buffer is freed under a kernel");
    if (b->copies > 0 && !hangs)
        end_process("a buffer is freed under a copy");
    enter();
    munmap(b->host, 2 * (whole_pages(b->bytes) + GUARD));
    b->device->buffers--;
    b->device->card->buffers--;
    b->magic = GONE;
    leave();
    free(b);
    return 0;
}

API void *xrtBOMap(void *handle) {
    buffer *b = handle;
    return valid(b, BUFFER) && !standin_fails("xrtBOMap") ? b->host : NULL;
}

/* A write that clears memory brings nothing that is right: without it, or where it is damaged,
 * what the memory is for must still be found there. */
static bool clears(int direction, const char *from, size_t bytes) {
    size_t i = 0;
    while (direction == 0 && i < bytes && from[i] == 0)
        i++;
    return direction == 0 && i == bytes;
}

/* Eight in the middle. */
static void bytes_damage(char *to, size_t bytes) {
    for (size_t i = 0; i < 8 && i < bytes; i++)
        to[bytes / 2 / 8 * 8 + i] ^= (char)0xFF;
}

typedef struct part {
    size_t at, bytes;
} part;

/* What of a copy a fault takes. */
static part part_lost(const char *fault, size_t bytes) {
    size_t half = bytes / 2, page = half / 4096 * 4096;
    if (strcmp(fault, "head") == 0)
        return (part){0, half};
    if (strcmp(fault, "tail") == 0)
        return (part){half, bytes - half};
    if (strcmp(fault, "page") == 0)
        return (part){page, bytes - page < 4096 ? bytes - page : 4096};
    return (part){0, strcmp(fault, "lost") == 0 ? bytes : 0};
}

static void copy_harm(const char *fault, int direction, char *to, const char *from,
                      size_t bytes) {
    bool flips = strcmp(fault, "flip") == 0;
    part lost = part_lost(fault, bytes);
    part harmed = flips ? (part){0, bytes} : lost;
    if (harmed.bytes > 0 && !clears(direction, from + harmed.at, harmed.bytes))
        n_harms += flips || memcmp(to + lost.at, from + lost.at, lost.bytes) != 0;
    size_t after = lost.at + lost.bytes;
    memcpy(to, from, lost.at);
    memcpy(to + after, from + after, bytes - after);
    if (flips)
        bytes_damage(to, bytes);
}

static int buffer_sync(const buffer *b, int direction, size_t bytes, size_t at) {
    const char *fault = standin_fault("xrtBOSync");
    if (*fault && (atoi(fault) > 0 || strcmp(fault, "fail") == 0))
        return refuse(atoi(fault), "planned fault of xrtBOSync");
    if (at > b->bytes || bytes > b->bytes - at)
        return refuse(EINVAL, "sync past the end");
    char *to = (direction == 0 ? b->card : b->host) + at;
    const char *from = (direction == 0 ? b->host : b->card) + at;
    if (*fault)
        copy_harm(fault, direction, to, from, bytes);
    else
        memcpy(to, from, bytes);
    return 0;
}

API int xrtBOSync(void *handle, int direction, size_t bytes, size_t at) {
    buffer *b = handle;
    if (!valid(b, BUFFER))
        return -1;
    b->copies++;
    int status = buffer_sync(b, direction, bytes, at);
    b->copies--;
    return status;
}
