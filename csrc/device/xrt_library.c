/* xrt_library.c - XRT is loaded when it is asked for, and called so that it ends no process.
 *
 * XRT aborts where XILINX_XRT is not set, unless its driver library is in the process already:
 * so that is loaded from beside it. It aborts on other modes than it knows, hangs in those that
 * need Vitis, and crashes at `exit` if buffers are left.
 */
#include "xrt_library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "late.h"

#define MAIN       "libxrt_coreutil.so.2"
#define OWN_FOLDER "/opt/xilinx/xrt"

enum { PATH_ROOM = 1024, WORDS_ROOM = 1024 };

hf_xrt_functions hf_xrt;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hf_status loaded;
static char load_error[HF_MESSAGE_ROOM], version[64];
static char mode[32];
static int log_file = -1; /* what XRT says, in memory */
static atomic_long heard; /* so much of it, when it was looked at last */
static pid_t process;

/* ---- loading ---- */

/** Is that what the loader says of a library that is not there, not of one that it needs? */
static bool is_absent(const char *said) {
    static const int absent[] = {ENOENT, ENOTDIR};
    bool is = false;
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        char room[160];
        const char *none = strerror_r(absent[i], room, sizeof room);
        size_t length = strlen(said), end = strlen(none);
        is = is || (length >= end && strcmp(said + length - end, none) == 0);
    }
    return is && strstr(said, MAIN ": ");
}

/** XRT's main library in one of the places; *out stays NULL where there is none. */
static hf_status library_open(void **out, const char *folder) {
    char path[PATH_ROOM];
    if (*out)
        return HF_OK;
    snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/lib/" : "", MAIN);
    *out = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const char *said = *out ? NULL : dlerror();
    return !said || is_absent(said)
               ? HF_OK
               : hf_fail(HF_ENOTSUP, "XRT's library does not load: %s", said);
}

static hf_status coreutil_open(void **out) {
    const char *root = getenv("XILINX_XRT");
    void *library = NULL;
    if (root && *root)
        HF_TRY(library_open(&library, root));
    HF_TRY(library_open(&library, ""));
    HF_TRY(library_open(&library, OWN_FOLDER));
    if (!library)
        return hf_fail(
            HF_ENOTSUP,
            "no XRT: %s is neither in %s%s, nor where the loader looks, nor "
            "in " OWN_FOLDER "/lib",
            MAIN, root && *root ? root : "the folder of XILINX_XRT, which is not set",
            root && *root ? "/lib" : "");
    *out = library;
    return HF_OK;
}

static hf_status functions_find(void *library) {
#define FIND(name, result, arguments)                                     \
    *(void **)&hf_xrt.name = dlsym(library, "xrt" #name);                 \
    if (!hf_xrt.name)                                                     \
        return hf_fail(HF_ENOTSUP,                                        \
                       "XRT has no function xrt%s: version 2.8 or later " \
                       "is needed",                                       \
                       #name);
    HF_XRT_MAP(FIND)
#undef FIND
    return HF_OK;
}

/** The driver library of the mode, beside the main one. */
static hf_status shim_open(const char *path) {
    const char *names[] = {"libxrt_core.so.2", "libxrt_noop.so.2"};
    const char *slash = strrchr(path, '/');
    char folder[PATH_ROOM];
    int length = slash ? (int)(slash - path) : 0;
    snprintf(folder, sizeof folder, "%.*s/%s", length, path, names[*mode != '\0']);
    void *shim = dlopen(folder, RTLD_NOW | RTLD_GLOBAL);
    if (!shim)
        return hf_fail(HF_ENOTSUP, "XRT's driver library does not load: %s", dlerror());
    *(void **)&hf_xrt.probe = dlsym(shim, "xclProbe");
    *(void **)&hf_xrt.info = dlsym(shim, "xclGetDeviceInfo2");
    *(void **)&hf_xrt.path = dlsym(shim, "xclGetSysfsPath"); /* may be missing */
    if (!hf_xrt.probe || !hf_xrt.info)
        return hf_fail(HF_ENOTSUP,
                       "XRT has no function %s: version 2.8 or later is "
                       "needed",
                       hf_xrt.probe ? "xclGetDeviceInfo2" : "xclProbe");
    return HF_OK;
}

static hf_status mode_check(void) {
    const char *told = getenv("XCL_EMULATION_MODE");
    snprintf(mode, sizeof mode, "%s", told ? told : "");
    if (strcmp(mode, "hw_emu") == 0 || strcmp(mode, "sw_emu") == 0)
        return hf_fail(HF_EDEVICE,
                       "XCL_EMULATION_MODE=%s: emulation by Vitis is not supported; "
                       "unset it for cards",
                       mode);
    if (told && strcmp(mode, "noop") != 0)
        return hf_fail(HF_EDEVICE,
                       "XCL_EMULATION_MODE=%s; known: noop, or unset for cards", mode);
    return HF_OK;
}

static void log_open(void) {
    char path[64];
    log_file = memfd_create("xrt", MFD_CLOEXEC);
    if (log_file < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", log_file);
    hf_xrt.IniStringSet("Runtime.runtime_log", path);
}

static hf_status library_load(void) {
    void *library = NULL;
    Dl_info where;
    char path[PATH_ROOM];
    HF_TRY(mode_check());
    HF_TRY(coreutil_open(&library));
    HF_TRY(functions_find(library));
    if (!dladdr(*(void **)&hf_xrt.DeviceOpen, &where) || !where.dli_fname)
        return hf_fail(HF_ENOTSUP, "XRT's library has no path");
    snprintf(path, sizeof path, "%s", where.dli_fname);
    HF_TRY(shim_open(path));
    char *real = realpath(path, NULL), *behind = real ? strstr(real, ".so.") : NULL;
    if (behind && strchr(behind + 4, '.'))
        snprintf(version, sizeof version, "%s", behind + 4);
    free(real);
    log_open();
    process = getpid();
    return HF_OK;
}

static void load_once(void) {
    loaded = library_load();
    if (loaded != HF_OK)
        snprintf(load_error, sizeof load_error, "%s", hf_error());
}

hf_status hf_xrt_load(void) {
    pthread_once(&once, load_once);
    if (loaded != HF_OK)
        return hf_fail(loaded, "%s", load_error);
    return hf_owner_check("XRT was started in", process);
}

const char *hf_xrt_version(void) {
    return version;
}

const char *hf_xrt_mode(void) {
    return mode;
}

/* ---- what XRT says ---- */

hf_xrt_words hf_xrt_listen(void) {
    struct stat now;
    if (log_file >= 0 && fstat(log_file, &now) == 0)
        atomic_store(&heard, (long)now.st_size);
    return hf_xrt_heard();
}

hf_xrt_words hf_xrt_heard(void) {
    return atomic_load(&heard);
}

/** The last line that was said, without its head. */
static const char *words_last(char text[WORDS_ROOM], hf_xrt_words words) {
    struct stat now;
    text[0] = '\0';
    if (log_file < 0 || fstat(log_file, &now) != 0)
        return text;
    long from = (long)now.st_size - WORDS_ROOM + 1;
    ssize_t n = pread(log_file, text, WORDS_ROOM - 1, from > words ? from : words);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    text[n > 0 ? n : 0] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    const char *error = strstr(line, "ERROR: ");
    hf_text_copy(text, WORDS_ROOM, error ? error + strlen("ERROR: ") : line,
                 WORDS_ROOM);
    return text;
}

hf_status hf_xrt_fail(hf_status status, const char *call, int code,
                      hf_xrt_words words) {
    char text[WORDS_ROOM], room[160];
    const char *said = words_last(text, words);
    const char *why =
        code != 0 ? strerror_r(code, room, sizeof room) : "no reason given";
    return hf_fail(status, "%s: %s%s%.250s", call, why, *said ? ": " : "", said);
}

hf_status hf_xrt_failed(hf_status status, const hf_xrt_call *call) {
    return hf_xrt_fail(status, call->name, call->code, call->words);
}

/* ---- calls, by a thread of their own ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_thread;
    const char *stuck; /* what was left, for good */
    hf_xrt_call *call; /* is to be made; the next one after its end */
    bool made, late;   /* late: nobody waits for it any more */
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER};

/** A call has returned for which nobody waits any more; with the lock. What it made is given back,
 *  also where XRT was given up: it would crash as the process ends. */
static void late_end(void) {
    hf_xrt_call *call = desk.call;
    if (call->undo && call->result) {
        pthread_mutex_unlock(&desk.lock);
        call->undo(call);
        pthread_mutex_lock(&desk.lock);
    }
    free(call);
    desk.call = NULL;
    desk.late = false;
}

static void *desk_serve(void *unused) {
    pthread_mutex_lock(&desk.lock);
    for (;;) {
        while (!desk.call || (desk.made && !desk.late))
            pthread_cond_wait(&desk.changed, &desk.lock);
        hf_xrt_call *call = desk.call;
        if (desk.made) {
            late_end();
            continue;
        }
        pthread_mutex_unlock(&desk.lock);
        call->words = hf_xrt_listen();
        errno = 0;
        call->make(call);
        call->code = errno;
        pthread_mutex_lock(&desk.lock);
        desk.made = true;
        pthread_cond_broadcast(&desk.changed);
    }
    return unused;
}

/** See that there is a thread; with the lock. */
static hf_status desk_open(void) {
    pthread_t thread;
    const char *stuck = desk.late ? desk.call->name : desk.stuck;
    if (stuck)
        return hf_fail(HF_EDEVICE, "XRT has not returned from %s: start a new process",
                       stuck);
    if (desk.has_thread)
        return HF_OK;
    hf_clock_condition(&desk.changed);
    desk.has_thread = pthread_create(&thread, NULL, desk_serve, NULL) == 0;
    if (!desk.has_thread)
        return hf_fail(HF_ENOMEM, "no thread for the calls of XRT");
    pthread_detach(thread);
    return HF_OK;
}

static bool is_made(void) {
    return desk.made;
}

static bool is_free(void) {
    return !desk.call || desk.late;
}

/** Wait for that by the deadline, while others are asked; with the lock. */
static hf_status desk_await(bool (*is)(void), const char *name, double deadline,
                            hf_device *device) {
    double last = hf_clock_now(), left = deadline;
    hf_status status = HF_OK;
    while (status == HF_OK && !is() && left > 0) {
        struct timespec until = hf_clock_after(fmin(HF_HEARING, left));
        int late = 0;
        while (!is() && !late)
            late = pthread_cond_timedwait(&desk.changed, &desk.lock, &until);
        left -= hf_clock_passed(&last);
        if (is() || left <= 0 || !device)
            continue;
        pthread_mutex_unlock(&desk.lock);
        status = hf_device_meanwhile(device, name);
        pthread_mutex_lock(&desk.lock);
    }
    return status;
}

/** Wait until no other call is under way; with the lock. */
static hf_status desk_take(const char *name, double deadline, hf_device *device) {
    HF_TRY(desk_open());
    HF_TRY(desk_await(is_free, name, deadline, device));
    if (!is_free())
        return hf_fail(HF_EDEVICE,
                       "%s has not begun within %g s: XRT has not returned from %s",
                       name, deadline, desk.call->name);
    return desk_open(); /* the other may be late */
}

/** Have the desk's call made; with the lock. */
static hf_status desk_make(const char *name, double deadline, hf_device *device) {
    desk.made = false;
    pthread_cond_broadcast(&desk.changed);
    hf_status status = desk_await(is_made, name, deadline, device);
    if (status == HF_OK && !desk.made) {
        pthread_mutex_unlock(&desk.lock);
        status = device ? hf_device_break(device, name)
                        : hf_fail(HF_EDEVICE, "%s has not ended within %g s", name,
                                  deadline);
        pthread_mutex_lock(&desk.lock);
    }
    desk.late = status != HF_OK;
    if (!desk.late)
        desk.call = NULL;
    pthread_cond_broadcast(&desk.changed);
    return status;
}

hf_status hf_xrt_make(hf_xrt_call *call, hf_device *device) {
    double deadline = device ? device->deadline : call->deadline;
    hf_xrt_call *kept = malloc(sizeof *kept); /* the thread's, if it never returns */
    if (!kept)
        return hf_fail(HF_ENOMEM, "no memory for a call of XRT");
    *kept = *call;
    pthread_mutex_lock(&desk.lock);
    hf_status status = desk_take(call->name, deadline, device);
    call->entered = status == HF_OK;
    if (call->entered) {
        kept->entered = true;
        desk.call = kept;
        status = desk_make(call->name, deadline, device);
    }
    pthread_mutex_unlock(&desk.lock);
    if (status == HF_OK)
        *call = *kept;
    if (status == HF_OK || !call->entered)
        free(kept);
    return status;
}

void hf_xrt_give_up(const char *name) {
    pthread_mutex_lock(&desk.lock);
    if (!desk.stuck)
        desk.stuck = name;
    pthread_mutex_unlock(&desk.lock);
}
