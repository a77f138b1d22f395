/* standin.h - what tests have in XRT's place: its functions, over memory and threads of the host.
 *
 * The section BITSTREAM of its "xclbins", which link.py makes, is a shared object of kernels as C.
 * A card's memory is not the host's; a compute unit runs one command at a time. Where XRT ends the
 * process, so does this. It shares no code with the runtime: it reads xclbins by itself, and its
 * prototypes are those of XRT's headers. link.py builds it, with the names SHELL of the cards'
 * shell and MADE_FOR of the platform that xclbins for it are made for.
 *
 * HF_STANDIN_CARDS  number of cards, 1 unless told; a PCI domain has eight
 * HF_STANDIN_BUSY   number of a card that another process keeps
 * HF_STANDIN_SHELL  another name of the shell
 * HF_STANDIN_HOLDS  an xclbin that each card holds from the beginning
 * HF_STANDIN_SYSFS  a folder with one for each card, by its number: the files of its driver
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))

static inline long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

enum { DEVICE = 0xD1, BUFFER, KERNEL, RUN, GONE = 0xDEAD };
enum { NEW = 1, RUNNING = 3, COMPLETED = 4, FAILED, ABORTED, TIMED_OUT = 8 };
enum {
    AT_UUID = 416,
    MAX_ARGS = 32,
    MAX_UNITS = 64,
    MAX_MEMORIES = 128,
    MAX_CARDS = 16,
    NAME = 64
};

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
    atomic_int n_ran;
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
/* What all handles of it in a process share. */
typedef struct card {
    bool seen; /* it was opened once */
    image *image;
    int buffers, kernels;
} card;
typedef struct device {
    int magic;
    unsigned index;
    card *card;
    int buffers;
} device;
typedef struct buffer {
    int magic;
    device *device;
    size_t bytes, memory;
    char *host, *card;
    atomic_int users, copies;
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

extern pthread_mutex_t lock; /* of states of runs */
extern pthread_cond_t ended;
extern atomic_int n_devices, n_buffers, n_kernels, n_runs; /* not given back */
extern atomic_bool hangs;  /* a planned fault: what was called may have been left */
extern atomic_bool ending; /* the process: the driver keeps what a kernel uses */
extern atomic_int n_harms; /* by planned faults */

/* Say why, and set errno. */
__attribute__((format(printf, 2, 3))) int refuse(int code, const char *format, ...);
__attribute__((noreturn)) void end_process(const char *why);
bool valid(const void *handle, int magic);
/* Around what XRT cannot do twice at the same time. */
void enter(void);
void leave(void);

/* What an xclbin says, with its kernels; NULL: it has none. */
image *image_read(const char *file);

/* The planned fault of this call, which counts: its kind, or "". One that hangs never returns. */
API const char *standin_fault(const char *name);
/* Whether this call is to fail; errno is set then. Both are the driver library's, too. */
API bool standin_fails(const char *name);

/* For tests, with the functions of XRT. */
API void standin_plan(const char *faults);
API int standin_calls(const char *name);
API int standin_harms(void);
API int standin_ran(const char *unit);
API int standin_objects(void);

#endif
