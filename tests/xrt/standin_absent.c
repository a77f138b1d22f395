/* standin_absent.c - preloaded, it hides XRT from a process, wherever a machine has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static int asked;

/* How often it was looked for. */
__attribute__((visibility("default"))) int absent_asked(void) {
    return asked;
}

__attribute__((visibility("default"))) void *dlopen(const char *name, int mode) {
    void *(*real)(const char *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    bool hidden = name && strstr(name, "libxrt_");
    asked += hidden;
    return real(hidden ? "/no/such/libxrt_coreutil.so.2" : name, mode);
}
