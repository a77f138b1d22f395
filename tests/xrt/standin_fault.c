/* standin_fault.c - planned faults, and what XRT says and does to a process. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"

enum { MAX_FUNCTIONS = 64, MAX_FAULTS = 8 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ended;
atomic_int n_devices, n_buffers, n_kernels, n_runs, n_harms;
static atomic_int inside;
static atomic_bool counting;
atomic_bool ending, hangs;
static char words_path[256];

/* ---- from its begin to its end ---- */

__attribute__((constructor)) static void begin(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ended, &attributes);
}

__attribute__((destructor)) static void end(void) {
    if (n_buffers > 0) /* XRT's manager of buffers is gone by then */
        raise(SIGSEGV);
}

/* Objects that were not given back. */
int standin_objects(void) {
    return n_devices + n_buffers + n_kernels + n_runs;
}

void end_process(const char *why) {
    fprintf(stderr, "terminate called by XRT: %s\n", why);
    abort();
}

/* ---- what it says ---- */

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

int refuse(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    errno = code;
    return -1;
}

API int xrtIniStringSet(const char *key, const char *value);
int xrtIniStringSet(const char *key, const char *value) {
    if (standin_fails("xrtIniStringSet"))
        return -1;
    if (strcmp(key, "Runtime.runtime_log") == 0)
        snprintf(words_path, sizeof words_path, "%s", value);
    return 0;
}

/* ---- faults ---- */

static struct {
    const char *_Atomic name;
    atomic_int n;
} calls[MAX_FUNCTIONS];

static struct {
    char name[40], kind[40];
    int nth;
} faults[MAX_FAULTS]; /* to the first without a name */

/* Is that what a fault may be? */
static bool kind_known(const char *kind) {
    static const char *const kinds[] = {"fail", "hang", "lost", "head",
                                        "page", "tail", "flip", "slow"};
    bool known = atoi(kind) > 0 || strncmp(kind, "late=", 5) == 0 ||
                 strncmp(kind, "state=", 6) == 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        known = known || strcmp(kind, kinds[i]) == 0;
    return known;
}

/* FUNCTION:NTH:KIND,...; NTH from 1, 0 for each; KIND an errno or "fail" (errno 0), "hang",
 * "late=N" (it takes N ms), "state=N"; of xrtBOSync also "flip" and what
 * is lost of it, "head" or "tail" (a half), "page" (one) or "lost" (all); FUNCTION also "kernel",
 * with "lost" and "slow".
 * Calls are counted from the first plan on, each time from 1. */
void standin_plan(const char *text) {
    memset(faults, 0, sizeof faults);
    for (int i = 0; text && i < MAX_FAULTS - 1; i++) {
        sscanf(text, "%39[^:]:%d:%39[^,]", faults[i].name, &faults[i].nth,
               faults[i].kind);
        if (*faults[i].name && !kind_known(faults[i].kind))
            end_process("no such planned fault");
        text = strchr(text, ',');
        text += text != NULL;
    }
    for (int i = 0; i < MAX_FUNCTIONS; i++)
        calls[i].n = 0;
    n_harms = 0;
    counting = true;
}

/* Planned faults of copies and kernels by which something was lost or damaged. */
int standin_harms(void) {
    return n_harms;
}

int standin_calls(const char *name) {
    for (int i = 0; i < MAX_FUNCTIONS && calls[i].name; i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].n;
    return 0;
}

/* Its place in `calls`; a name is nearly always the same text at the same place. */
static int place_of(const char *name) {
    int i = 0;
    while (i < MAX_FUNCTIONS - 1 && calls[i].name && calls[i].name != name)
        i++;
    if (calls[i].name == name)
        return i;
    for (i = 0; i < MAX_FUNCTIONS - 1; i++) {
        const char *is = NULL;
        if (atomic_compare_exchange_strong(&calls[i].name, &is, name) ||
            strcmp(is, name) == 0)
            break;
    }
    return i;
}

const char *standin_fault(const char *name) {
    if (!counting)
        return "";
    int n = ++calls[place_of(name)].n;
    for (int i = 0; *faults[i].name; i++) {
        if (strcmp(faults[i].name, name) != 0 || (faults[i].nth && faults[i].nth != n))
            continue;
        for (; strcmp(faults[i].kind, "hang") == 0; pause())
            hangs = true;
        long late;
        if (sscanf(faults[i].kind, "late=%ld", &late) != 1)
            return faults[i].kind;
        nanosleep(&(struct timespec){late / 1000, late % 1000 * 1000000}, NULL);
        return "";
    }
    return "";
}

bool standin_fails(const char *name) {
    const char *fault = standin_fault(name);
    if (!*fault || (strcmp(fault, "fail") != 0 && atoi(fault) <= 0))
        return false;
    refuse(atoi(fault), "planned fault of %s", name);
    return true;
}

bool valid(const void *handle, int magic) {
    if (handle && *(const int *)handle == magic)
        return true;
    refuse(EINVAL, "no such handle");
    return false;
}

void enter(void) {
    if (atomic_fetch_add(&inside, 1) > 0)
        end_process("double free or corruption");
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

void leave(void) {
    atomic_fetch_sub(&inside, 1);
}
