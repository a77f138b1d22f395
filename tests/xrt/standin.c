/* standin.c - what tests have in XRT's place: its functions, over memory and threads of the host.
 *
 * As -DSHIM it is the driver library. The section BITSTREAM of its "xclbins", which link.py makes,
 * is a shared object of kernels as C. A card's memory is not the host's; a compute unit runs one
 * command at a time. Where XRT ends the process, so does this. It shares no code with the runtime:
 * an xclbin has a second reader here, and prototypes are those of XRT's headers.
 *
 * HF_STANDIN_FAULT  FUNCTION:NTH:KIND,...; NTH from 1, 0 for each; KIND an errno or "fail" (errno
 *                   0), "hang", "state=N"; of xrtBOSync also "lost", "flip"; FUNCTION also "kernel",
 *                   with "lost" and "slow"; counted since standin_forget
 * HF_STANDIN_CARDS  how many there are, 1 unless told; HF_STANDIN_BUSY the number of one
 * HF_STANDIN_HOLDS  an xclbin that the cards hold from before
 * HF_STANDIN_COUNTS a file to which a process adds what it has not given back
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API   __attribute__((visibility("default")))
#define SHELL "xilinx_u280_emulated_1"

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

#ifdef SHIM

API unsigned xclProbe(void);
API int xclGetDeviceInfo2(const void *device, unsigned char *info);

unsigned xclProbe(void) {
    return (unsigned)setting("HF_STANDIN_CARDS", 1);
}

/* A card's address is 0000:<3b + its number>:00.1. */
int xclGetDeviceInfo2(const void *device, unsigned char *info) {
    enum { AT_NAME = 4, AT_MEMORY = 280, AT_SLOT = 448, SIZE = 736 };
    size_t memory = (size_t)8 << 30;
    if (!device)
        return -ENODEV;
    unsigned slot = (0x3bU + ((const unsigned *)device)[1]) << 8 | 1;
    memset(info, 0, SIZE);
    memcpy(info + AT_NAME, SHELL, sizeof SHELL);
    memcpy(info + AT_MEMORY, &memory, sizeof memory);
    memcpy(info + AT_SLOT, &slot, sizeof slot);
    return 0;
}

#else

enum { DEVICE = 0xD1, BUFFER, KERNEL, RUN, GONE = 0xDEAD };
enum { NEW = 1, RUNNING = 3, COMPLETED = 4, ABORTED = 6, TIMED_OUT = 8 };
enum { MAX_ARGS = 20, MAX_UNITS = 64, MAX_MEMORIES = 128, MAX_FAULTS = 64, NAME = 64 };

typedef struct code {
    const char *name;
    void (*call)(void *const *values, size_t items);
} code;
typedef struct arg {
    char type[16];
    bool pointer;
    size_t bytes;
} arg;
typedef struct unit {
    char kernel[NAME], name[NAME];
    bool reaches[MAX_ARGS][MAX_MEMORIES];
    size_t n_args;
    arg args[MAX_ARGS];
    pthread_mutex_t runs;
} unit;
typedef struct image {
    unsigned char uuid[16];
    void *library;
    const code *codes;
    size_t n_units, n_memories;
    struct {
        bool used;
        size_t bytes;
    } memories[MAX_MEMORIES];
    unit units[MAX_UNITS];
} image;
typedef struct device {
    int magic;
    unsigned index;
    image *image;
    int buffers;
} device;
typedef struct buffer {
    int magic;
    device *device;
    size_t bytes, memory;
    char *host, *card;
    atomic_int users;
} buffer;
typedef struct kernel {
    int magic;
    device *device;
    unit *unit;
    const code *code;
} kernel;
typedef struct run {
    int magic;
    kernel *kernel;
    pthread_t thread;
    bool has_thread, set[MAX_ARGS];
    int state;
    uint64_t values[MAX_ARGS];
    buffer *buffers[MAX_ARGS];
} run;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended;
static atomic_int n_devices, n_buffers, n_kernels, n_runs, n_harms, inside;
static char words_path[256];

/* ---- from its begin to its end ---- */

__attribute__((constructor)) static void begin(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ended, &attributes);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("HF_STANDIN_COUNTS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "devices %d buffers %d kernels %d runs %d\n", n_devices,
                n_buffers, n_kernels, n_runs);
        fclose(file);
    }
    if (n_buffers > 0) /* XRT's manager of buffers is gone by then */
        raise(SIGSEGV);
}

static void say(const char *format, va_list args) {
    FILE *file = *words_path ? fopen(words_path, "a") : stderr;
    if (!file)
        return;
    fprintf(file, "[XRT] ERROR: ");
    vfprintf(file, format, args);
    fputc('\n', file);
    if (file != stderr)
        fclose(file);
}

static void end_process(const char *why) {
    fprintf(stderr, "terminate called by XRT: %s\n", why);
    abort();
}

__attribute__((format(printf, 2, 3))) static int refuse(int code, const char *format,
                                                        ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    errno = code;
    return -1;
}

static struct {
    char name[40];
    int n;
} counts[MAX_FAULTS];

API int standin_calls(const char *name) {
    for (int i = 0; i < MAX_FAULTS; i++)
        if (strcmp(counts[i].name, name) == 0)
            return counts[i].n;
    return 0;
}

API void standin_forget(void) {
    memset(counts, 0, sizeof counts);
    n_harms = 0;
}

/* Planned faults of copies and kernels by which something was lost or damaged. */
API int standin_harms(void) {
    return n_harms;
}

/* Objects that were not given back. */
API int standin_objects(void) {
    return n_devices + n_buffers + n_kernels + n_runs;
}

static int count(const char *name) {
    int n = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_FAULTS && n == 0; i++)
        if (!*counts[i].name || strcmp(counts[i].name, name) == 0) {
            snprintf(counts[i].name, sizeof counts[i].name, "%s", name);
            n = ++counts[i].n;
        }
    pthread_mutex_unlock(&lock);
    return n;
}

/* The planned fault of this call: its kind, or "". One that hangs never returns. */
static const char *fault_of(const char *name, char kind[40]) {
    int nth, n = count(name);
    const char *at = getenv("HF_STANDIN_FAULT");
    for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : "") {
        char what[40];
        if (sscanf(at, "%39[^:]:%d:%39[^,]", what, &nth, kind) == 3 &&
            strcmp(what, name) == 0 && (nth == n || nth == 0)) {
            while (strcmp(kind, "hang") == 0)
                pause();
            return kind;
        }
    }
    return "";
}

/* Whether this call is to fail; errno is set then. */
static bool fails(const char *name) {
    char kind[40];
    const char *fault = fault_of(name, kind);
    if (!*fault || (strcmp(fault, "fail") != 0 && atoi(fault) <= 0))
        return false;
    refuse(atoi(fault), "planned fault of %s", name);
    return true;
}

static bool valid(const void *handle, int magic) {
    if (handle && *(const int *)handle == magic)
        return true;
    refuse(EINVAL, "no such handle");
    return false;
}

/* What XRT cannot do twice at the same time. */
static void enter(void) {
    if (atomic_fetch_add(&inside, 1) > 0)
        end_process("double free or corruption");
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}
static void leave(void) {
    atomic_fetch_sub(&inside, 1);
}

API int xrtIniStringSet(const char *key, const char *value) {
    if (strcmp(key, "Runtime.runtime_log") == 0)
        snprintf(words_path, sizeof words_path, "%s", value);
    return 0;
}

/* ---- xclbins ---- */

struct __attribute__((packed)) section {
    uint32_t kind;
    char name[16];
    uint32_t unused;
    uint64_t at, bytes;
};

static const char *section_of(const char *file, uint32_t kind, size_t *bytes) {
    uint32_t n;
    memcpy(&n, file + 448, 4);
    for (uint32_t i = 0; i < n; i++) {
        struct section s;
        memcpy(&s, file + 456 + i * sizeof s, sizeof s);
        *bytes = s.bytes;
        if (s.kind == kind)
            return file + s.at;
    }
    return NULL;
}

static void args_read(unit *u, const char *xml, size_t bytes) {
    char *text = strndup(xml, bytes), head[NAME + 20];
    snprintf(head, sizeof head, "<kernel name=\"%s\"", u->kernel);
    char *at = strstr(text, head), *stop = at ? strstr(at, "</kernel>") : NULL;
    for (at = at ? strstr(at, "<arg ") : NULL; at && at < stop;
         at = strstr(at + 1, "<arg ")) {
        int number = atoi(strstr(at, " id=\"") + 5);
        arg *a = &u->args[number];
        sscanf(strstr(at, " type=\""), " type=\"%15[^\"]", a->type);
        a->pointer = strstr(at, "addressQualifier=\"")[18] == '1';
        a->bytes = strtoul(strstr(at, " size=\"") + 7, NULL, 0);
        u->n_args = u->n_args > (size_t)number ? u->n_args : (size_t)number + 1;
    }
    free(text);
}

static bool library_load(image *x, const char *bits, size_t bytes) {
    char path[64];
    int fd = memfd_create("kernels", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, bits, bytes) == (ssize_t)bytes)
        x->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    /* The file stays open: dlopen knows libraries by name, and the number is the name. */
    x->codes = x->library ? dlsym(x->library, "standin_kernels") : NULL;
    return x->codes != NULL;
}

static image *image_read(const char *file) {
    size_t bytes;
    int32_t n = 0;
    image *x = calloc(1, sizeof *x);
    bool grouped = section_of(file, 26, &bytes) != NULL;
    memcpy(x->uuid, file + 416, sizeof x->uuid);
    const char *at = section_of(file, grouped ? 26 : 6, &bytes);
    memcpy(&n, at, 4);
    x->n_memories = (size_t)n;
    for (int i = 0; i < n; i++) {
        uint64_t kib;
        memcpy(&kib, at + 8 + i * 40 + 8, 8);
        x->memories[i].used = at[8 + i * 40 + 1];
        x->memories[i].bytes = kib << 10;
    }
    at = section_of(file, 8, &bytes);
    memcpy(&n, at, 4);
    x->n_units = (size_t)n;
    for (int i = 0; i < n; i++) {
        unit *u = &x->units[i];
        size_t xml_bytes;
        sscanf(at + 8 + i * 80 + 16, "%63[^:]:%63s", u->kernel, u->name);
        pthread_mutex_init(&u->runs, NULL);
        const char *xml = section_of(file, 2, &xml_bytes);
        args_read(u, xml, xml_bytes);
    }
    at = section_of(file, grouped ? 27 : 7, &bytes);
    memcpy(&n, at, 4);
    for (int i = 0; i < n; i++) {
        int32_t link[3];
        memcpy(link, at + 4 + (size_t)i * sizeof link, sizeof link);
        x->units[link[1]].reaches[link[0]][link[2]] = true;
    }
    at = section_of(file, 0, &bytes);
    if (library_load(x, at, bytes))
        return x;
    free(x);
    return NULL;
}

/* ---- devices ---- */

API void *xrtDeviceOpen(unsigned index) {
    const char *mode = getenv("XCL_EMULATION_MODE"), *path = getenv("HF_STANDIN_HOLDS");
    if (mode && strcmp(mode, "noop") != 0) {
        while (strcmp(mode, "hw_emu") == 0 || strcmp(mode, "sw_emu") == 0)
            pause();
        end_process("invalid XCL_EMULATION_MODE");
    }
    if (!getenv("XILINX_XRT") && !dlopen("libxrt_core.so.2", RTLD_NOW | RTLD_NOLOAD))
        end_process("XILINX_XRT not set");
    if (fails("xrtDeviceOpen"))
        return NULL;
    if ((long)index >= setting("HF_STANDIN_CARDS", 1) ||
        (long)index == setting("HF_STANDIN_BUSY", -1)) {
        refuse((long)index == setting("HF_STANDIN_BUSY", -1) ? EBUSY : ENOENT,
               "Could not open device with index '%u'", index);
        return NULL;
    }
    device *d = calloc(1, sizeof *d);
    *d = (device){.magic = DEVICE, .index = index};
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (file) {
        fseek(file, 0, SEEK_END);
        size_t bytes = (size_t)ftell(file);
        char *data = malloc(bytes);
        rewind(file);
        if (fread(data, 1, bytes, file) == bytes)
            d->image = image_read(data);
        free(data);
        fclose(file);
    }
    n_devices++;
    return d;
}

API int xrtDeviceClose(void *handle) {
    device *d = handle;
    if (!valid(d, DEVICE) || fails("xrtDeviceClose"))
        return -1;
    if (d->buffers)
        return refuse(EBUSY, "device closed with %d buffers", d->buffers);
    if (d->image)
        dlclose(d->image->library);
    free(d->image);
    d->magic = GONE;
    n_devices--;
    free(d);
    return 0;
}

API void *xrtDeviceToXclDevice(void *handle) {
    return handle;
}

API int xrtDeviceLoadXclbin(void *handle, const char *file) {
    device *d = handle;
    if (!valid(d, DEVICE) || fails("xrtDeviceLoadXclbin"))
        return -1;
    if (d->buffers)
        return refuse(EBUSY, "Xclbin on card is in use, can't change");
    if (strcmp(file + 352, SHELL) != 0)
        return refuse(EINVAL, "Xclbin does not match shell on card");
    image *x = image_read(file);
    if (!x)
        return refuse(EINVAL, "no bitstream: %s", dlerror());
    if (d->image)
        dlclose(d->image->library);
    free(d->image);
    d->image = x;
    return 0;
}

/* ---- buffers ---- */

API void *xrtBOAlloc(void *handle, size_t bytes, uint64_t flags, uint32_t memory) {
    device *d = handle;
    if (!valid(d, DEVICE) || fails("xrtBOAlloc"))
        return NULL;
    const image *x = d->image;
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
    char *all = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *b = (buffer){.magic = BUFFER, .device = d, .bytes = bytes, .memory = memory};
    b->host = all;
    b->card = all + bytes;
    memset(b->card, 0xA5, bytes < 4096 ? bytes : 4096);
    d->buffers++;
    n_buffers++;
    leave();
    return b;
}

API int xrtBOFree(void *handle) {
    buffer *b = handle;
    if (!valid(b, BUFFER) || fails("xrtBOFree"))
        return -1;
    if (b->users > 0)
        end_process("a buffer is freed under a kernel");
    enter();
    munmap(b->host, 2 * b->bytes);
    b->device->buffers--;
    b->magic = GONE;
    n_buffers--;
    leave();
    free(b);
    return 0;
}

API void *xrtBOMap(void *handle) {
    buffer *b = handle;
    return valid(b, BUFFER) && !fails("xrtBOMap") ? b->host : NULL;
}

/* Whether a copy brings other bytes; one that clears memory leaves nothing that is right. */
static bool bytes_differ(const char *to, const char *from, size_t bytes) {
    bool clears = true;
    for (size_t i = 0; i < bytes && clears; i++)
        clears = from[i] == 0;
    return !clears && memcmp(to, from, bytes) != 0;
}

API int xrtBOSync(void *handle, int direction, size_t bytes, size_t at) {
    buffer *b = handle;
    char kind[40];
    if (!valid(b, BUFFER))
        return -1;
    const char *fault = fault_of("xrtBOSync", kind);
    if (atoi(fault) > 0 || strcmp(fault, "fail") == 0)
        return refuse(atoi(fault), "planned fault of xrtBOSync");
    if (at > b->bytes || bytes > b->bytes - at)
        return refuse(EINVAL, "sync past the end");
    char *to = (direction == 0 ? b->card : b->host) + at;
    const char *from = (direction == 0 ? b->host : b->card) + at;
    if (strcmp(fault, "lost") == 0) {
        n_harms += bytes_differ(to, from, bytes);
        return 0;
    }
    memcpy(to, from, bytes);
    for (size_t i = 0; i < 8 && i < bytes && strcmp(fault, "flip") == 0; i++)
        to[bytes / 2 / 8 * 8 + i] ^= (char)0xFF;
    n_harms += strcmp(fault, "flip") == 0;
    return 0;
}

/* ---- kernels ---- */

API void *xrtPLKernelOpen(void *handle, const unsigned char *uuid, const char *name) {
    device *d = handle;
    char kernel_name[NAME] = "", unit_name[NAME] = "";
    if (!valid(d, DEVICE) || fails("xrtPLKernelOpen"))
        return NULL;
    sscanf(name, "%63[^:]:{%63[^}]}", kernel_name, unit_name);
    kernel *k = calloc(1, sizeof *k);
    *k = (kernel){.magic = KERNEL, .device = d};
    for (size_t u = 0; d->image && u < d->image->n_units; u++)
        if (strcmp(d->image->units[u].kernel, kernel_name) == 0 &&
            strcmp(d->image->units[u].name, unit_name) == 0)
            k->unit = &d->image->units[u];
    for (const code *c = d->image ? d->image->codes : NULL; c && c->name; c++)
        if (strcmp(c->name, kernel_name) == 0)
            k->code = c;
    if (!k->unit || !k->code || memcmp(uuid, d->image->uuid, 16) != 0) {
        refuse(EINVAL, "No compute units satisfy requested connectivity: '%s'", name);
        free(k);
        return NULL;
    }
    n_kernels++;
    return k;
}

API int xrtKernelClose(void *handle) {
    kernel *k = handle;
    if (!valid(k, KERNEL) || fails("xrtKernelClose"))
        return -1;
    k->magic = GONE;
    n_kernels--;
    free(k);
    return 0;
}

/* XRT tells the last one, which is a group where there is one. */
API int xrtKernelArgGroupId(void *handle, int number) {
    const kernel *k = handle;
    char kind[40];
    const char *fault = fault_of("xrtKernelArgGroupId", kind);
    if (!valid(k, KERNEL) || strcmp(fault, "fail") == 0 || atoi(fault) > 0)
        return refuse(atoi(fault), "planned fault of xrtKernelArgGroupId");
    if (strncmp(fault, "state=", 6) == 0)
        return atoi(fault + 6);
    for (size_t m = k->device->image->n_memories; m-- > 0;)
        if (k->unit->reaches[number][m])
            return (int)m;
    return refuse(EINVAL, "argument %d has no memory", number);
}

/* ---- runs ---- */

API void *xrtRunOpen(void *handle) {
    kernel *k = handle;
    if (!valid(k, KERNEL) || fails("xrtRunOpen"))
        return NULL;
    run *r = calloc(1, sizeof *r);
    *r = (run){.magic = RUN, .kernel = k, .state = NEW};
    n_runs++;
    return r;
}

API int xrtRunSetArg(void *handle, int number, ...) {
    run *r = handle;
    va_list args;
    if (!valid(r, RUN) || fails("xrtRunSetArg"))
        return -1;
    if (number < 0 || (size_t)number >= r->kernel->unit->n_args)
        return refuse(EINVAL, "bad argument index '%d'", number);
    const arg *a = &r->kernel->unit->args[number];
    uint64_t *value = &r->values[number];
    *value = 0;
    r->set[number] = true;
    va_start(args, number);
    if (a->pointer) {
        buffer *b = va_arg(args, void *);
        if (!valid(b, BUFFER)) {
            va_end(args);
            return -1;
        }
        if (!r->kernel->unit->reaches[number][b->memory]) {
            /* XRT's kernel works on a copy, of which nothing comes back. */
            buffer *copy = calloc(1, sizeof *copy);
            *copy = *b;
            copy->card = malloc(b->bytes);
            memcpy(copy->card, b->card, b->bytes);
            b = copy;
        }
        r->buffers[number] = b;
    } else if (strcmp(a->type, "float") == 0) {
        float number32 = (float)va_arg(args, double);
        memcpy(value, &number32, sizeof number32);
    } else if (strcmp(a->type, "double") == 0) {
        double number64 = va_arg(args, double);
        memcpy(value, &number64, sizeof number64);
    } else if (a->bytes <= 4) {
        *value = va_arg(args, unsigned);
    } else {
        *value = va_arg(args, uint64_t);
    }
    va_end(args);
    return 0;
}

static void users_add(run *r, int n) {
    for (size_t i = 0; i < r->kernel->unit->n_args; i++)
        if (r->buffers[i])
            r->buffers[i]->users += n;
}

static void *run_work(void *context) {
    run *r = context;
    char kind[40];
    void *values[MAX_ARGS], *addresses[MAX_ARGS];
    int state = COMPLETED;
    users_add(r, -1); /* one that hangs uses nothing */
    const char *fault = fault_of("kernel", kind);
    users_add(r, 1);
    for (size_t i = 0; i < MAX_ARGS; i++) {
        addresses[i] = r->buffers[i] ? r->buffers[i]->card : NULL;
        values[i] = r->buffers[i] ? (void *)&addresses[i] : &r->values[i];
    }
    if (strcmp(fault, "slow") == 0)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    pthread_mutex_lock(&r->kernel->unit->runs);
    if (strcmp(fault, "lost") != 0)
        r->kernel->code->call(values, 1);
    else
        n_harms++;
    pthread_mutex_unlock(&r->kernel->unit->runs);
    sscanf(fault, "state=%d", &state);
    users_add(r, -1);
    pthread_mutex_lock(&lock);
    r->state = state;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

API int xrtRunStart(void *handle) {
    run *r = handle;
    if (!valid(r, RUN) || fails("xrtRunStart"))
        return -1;
    for (size_t i = 0; i < r->kernel->unit->n_args; i++)
        if (!r->set[i])
            return refuse(EINVAL, "argument %zu is not set", i);
    if (r->state == RUNNING)
        return refuse(EBUSY, "bad command state, can't launch");
    if (r->has_thread)
        pthread_join(r->thread, NULL);
    r->state = RUNNING;
    users_add(r, 1);
    r->has_thread = pthread_create(&r->thread, NULL, run_work, r) == 0;
    return r->has_thread ? 0 : refuse(ENOMEM, "no thread");
}

API int xrtRunState(void *handle) {
    const run *r = handle;
    char kind[40];
    int state = ABORTED;
    if (!valid(r, RUN))
        return state;
    pthread_mutex_lock(&lock);
    state = r->state;
    pthread_mutex_unlock(&lock);
    sscanf(fault_of("xrtRunState", kind), "state=%d", &state);
    return state;
}

API int xrtRunWaitFor(void *handle, unsigned milliseconds) {
    const run *r = handle;
    struct timespec until;
    char kind[40];
    int late = 0, state;
    if (!valid(r, RUN))
        return ABORTED;
    if (milliseconds == 0)
        end_process("a wait for ever");
    if (sscanf(fault_of("xrtRunWaitFor", kind), "state=%d", &state) == 1)
        return state;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    while (r->state == RUNNING && !late)
        late = pthread_cond_timedwait(&ended, &lock, &until);
    state = r->state == RUNNING ? TIMED_OUT : r->state;
    pthread_mutex_unlock(&lock);
    return state;
}

API int xrtRunClose(void *handle) {
    run *r = handle;
    if (!valid(r, RUN) || fails("xrtRunClose"))
        return -1;
    if (r->state == RUNNING)
        end_process("a run is closed that runs");
    if (r->has_thread)
        pthread_join(r->thread, NULL);
    for (size_t i = 0; i < MAX_ARGS; i++)
        if (r->buffers[i] && r->buffers[i]->magic == BUFFER &&
            !r->kernel->unit->reaches[i][r->buffers[i]->memory]) {
            free(r->buffers[i]->card);
            free(r->buffers[i]);
        }
    r->magic = GONE;
    n_runs--;
    free(r);
    return 0;
}

#endif
