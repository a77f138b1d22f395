/* standin_xclbin.c - a reader of xclbins that shares nothing with the runtime's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "standin.h"

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

image *image_read(const char *file) {
    size_t bytes;
    int32_t n = 0;
    image *x = calloc(1, sizeof *x);
    bool grouped = section_of(file, 26, &bytes) != NULL;
    memcpy(x->uuid, file + AT_UUID, sizeof x->uuid);
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
        size_t xml_bytes = 0;
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
