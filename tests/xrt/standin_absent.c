/* standin_absent.c - preloaded, it hides XRT from a process, wherever a machine has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) void *dlopen(const char *name, int mode) {
    void *(*real)(const char *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    return real(name && strstr(name, "libxrt_") ? "/no/such/library" : name, mode);
}
