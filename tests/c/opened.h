/* opened.h - the transport of a test program, and how it is opened. */
#ifndef HF_OPENED_H
#define HF_OPENED_H

#include <mpi.h>

#include "agree.h"
#include "check.h"
#include "core/error.h"
#include "core/registry.h"

/* Whoever waits for this deadline hangs. */
enum { LATE = 1000 };

static hf_transport *net;

/* Sessions that a rank has left stay: late messages write into them. */
static void *opened[128];
static size_t n_opened;

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_disable(void) {
}
static void __lsan_enable(void) {
}
#endif

static void transport_open(const char *name) {
    const hf_transport_ops *ops;
    char version[8192];
    CHECK(hf_transport_find(&ops, name) == HF_OK);
    ops->version(version, sizeof version);
    CHECK(ops->open(&net, MPI_Comm_c2f(MPI_COMM_WORLD), version, 20) == HF_OK, "%s",
          hf_error());
    CHECK(n_opened < sizeof opened / sizeof *opened);
    opened[n_opened++] = net;
}

/* A group whose ranks break it: it stays, too. */
static inline void group_open(hf_transport **out, int color) {
    __lsan_disable();
    CHECK(net->ops->group(out, net, color) == HF_OK, "%s", hf_error());
    __lsan_enable();
}

#endif
