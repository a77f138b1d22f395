/* guard.c - end this process in time, even where Python cannot run.
 *
 * MPI_Init and MPI_Finalize wait for all ranks for ever, and hold Python's lock. A thread
 * that needs no lock waits for a moment that it is given, and for signals, of which
 * Python's handler writes a byte into a pipe. Then it tells one line and ends the process.
 * If nobody is left to read what a rank tells, it sends the signal itself.
 */
#include "module.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

enum { LINE_ROOM = 512 }; /* a pipe takes as much at once */
enum { FAILED = 3 };      /* as in errors.py */

/* What is told, and the process's exit code. */
typedef struct parting {
    double at; /* [s] of our clock; 0: never */
    int code;
    size_t length;
    char line[LINE_ROOM];
} parting;

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    bool started;
    int poke[2];   /* wakes the thread */
    int heard;     /* end of the pipe of signals; -1: not listened to */
    int out;       /* where a line goes to */
    bool left;     /* nobody reads it any more; of the thread alone */
    double delay;  /* from a signal to the end [s] */
    parting time;  /* what happens at a given moment */
    parting after; /* what happens after a signal */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER, .heard = -1, .out = STDERR_FILENO};

void guard_end_now(const char *line) {
    char text[LINE_ROOM + sizeof "hpccfpga: \n"];
    int length = snprintf(text, sizeof text, "hpccfpga: %.*s\n", LINE_ROOM, line);
    ssize_t told = write(STDERR_FILENO, text, (size_t)length);
    (void)told; /* nobody may listen */
    _exit(FAILED);
}

static void part_if_due(const parting *p, double now) {
    if (p->at == 0 || now < p->at)
        return;
    struct pollfd end = {.fd = guard.out, .events = POLLOUT};
    bool room = poll(&end, 1, 0) == 1 && end.revents & POLLOUT; /* who reads may wait */
    ssize_t told = p->length && room ? write(guard.out, p->line, p->length) : 0;
    (void)told; /* nobody may listen */
    _exit(p->code);
}

/* Where lines go to, if somebody started us to read them: standard error is no such pipe.
 * It is looked at until it is seen that he has left. */
static int reader_watched(void) {
    return guard.heard < 0 || guard.left || guard.out == STDERR_FILENO ? -1 : guard.out;
}

static double sooner(double a, double b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void *guard_watch(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&guard.lock);
        double now = hf_clock_now(), next = sooner(guard.time.at, guard.after.at);
        part_if_due(&guard.after, now);
        part_if_due(&guard.time, now);
        struct pollfd ends[3] = {{.fd = guard.poke[0], .events = POLLIN},
                                 {.fd = guard.heard, .events = POLLIN},
                                 {.fd = reader_watched()}};
        pthread_mutex_unlock(&guard.lock);
        int wait = next == 0 ? -1 : (int)(1e3 * (next - now)) + 1;
        char bytes[64];
        if (poll(ends, 3, wait) <= 0)
            continue;
        if (ends[2].revents & POLLERR) {
            guard.left = true;
            kill(getpid(), SIGTERM);
        }
        if (ends[0].revents && read(guard.poke[0], bytes, sizeof bytes) < 0)
            continue;
        if (!ends[1].revents || read(guard.heard, bytes, sizeof bytes) <= 0)
            continue;
        pthread_mutex_lock(&guard.lock);
        if (guard.after.at == 0)
            guard.after.at = hf_clock_now() + guard.delay;
        pthread_mutex_unlock(&guard.lock);
    }
    return NULL;
}

/* Have the thread look at what has changed; it is started by the first change. */
static PyObject *guard_wake(void) {
    sigset_t all, before;
    int code = guard.started ? 0 : pipe(guard.poke);
    if (!guard.started && code == 0) {
        sigfillset(&all); /* signals are to interrupt the main thread */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        code = pthread_create(&guard.thread, NULL, guard_watch, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        guard.started = code == 0;
    }
    if (code != 0 || write(guard.poke[1], "", 1) != 1)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static void parting_set(parting *p, double at, int code, const char *line,
                        Py_ssize_t length) {
    p->at = at;
    p->code = code;
    p->length = (size_t)(length < LINE_ROOM ? length : LINE_ROOM);
    memcpy(p->line, line, p->length);
}

PyObject *guard_signals(PyObject *module, PyObject *args) {
    int heard, out, code;
    double delay;
    const char *line;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(args, "iidiy#:guard_signals", &heard, &out, &delay, &code,
                          &line, &length))
        return NULL;
    pthread_mutex_lock(&guard.lock);
    guard.heard = heard;
    guard.out = out;
    guard.delay = delay;
    parting_set(&guard.after, 0, code, line, length);
    pthread_mutex_unlock(&guard.lock);
    return guard_wake();
}

PyObject *guard_until(PyObject *module, PyObject *args) {
    int code;
    double seconds;
    const char *line;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(args, "diy#:guard_until", &seconds, &code, &line, &length))
        return NULL;
    pthread_mutex_lock(&guard.lock);
    parting_set(&guard.time, seconds > 0 ? hf_clock_now() + seconds : 0, code, line,
                length);
    pthread_mutex_unlock(&guard.lock);
    return guard_wake();
}

PyObject *guard_end(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    pthread_mutex_lock(&guard.lock);
    guard.heard = -1;
    guard.after.at = guard.time.at = 0;
    pthread_mutex_unlock(&guard.lock);
    return guard_wake();
}
