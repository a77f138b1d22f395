/* vendors.c - further libraries of device runtimes, and silence while they are loaded and
 * while they compile.
 *
 * What a library prints then goes to a file in memory. The GIL is held meanwhile, so that
 * no line of another Python thread goes there, too: one that has given the GIL away to write
 * is let write first. If the library exits or aborts, the file is shown, since it says why.
 */
#include "module.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

static const double SETTLED = 0.05; /* others that still run compute [s] */

/* The load that is going on: one at a time, because the GIL is held. */
static loading *volatile current;
static struct sigaction aborting;

static void streams_flush(void) {
    fflush(stdout);
    fflush(stderr);
}

/* Show what was printed; only calls that a signal handler may make. */
static void said_show(void) {
    char text[512];
    ssize_t n;
    loading *load = current;
    current = NULL;
    if (!load || load->said < 0 || lseek(load->said, 0, SEEK_SET) < 0)
        return;
    while ((n = read(load->said, text, sizeof text)) > 0)
        if (write(load->saved[1], text, (size_t)n) < n)
            break;
}

static void on_abort(int number) {
    said_show();
    sigaction(number, &aborting, NULL);
    raise(number);
}

/* At the end of a process that a library ended. */
static void at_exit(void) {
    if (current)
        streams_flush();
    said_show();
}

/* 'R' is a thread that runs, or would if it had a core. */
static char thread_state(const char *id) {
    char path[64], text[128], state = '\0';
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
    FILE *file = fopen(path, "r");
    if (file && fgets(text, sizeof text, file)) {
        const char *name_end = strrchr(text, ')'); /* the name may have any letters */
        if (name_end)
            sscanf(name_end + 1, " %c", &state);
    }
    if (file)
        fclose(file);
    return state;
}

static bool others_run(void) {
    bool found = false;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && !found && (entry = readdir(threads));) {
        int id = atoi(entry->d_name); /* 0: "." and ".." */
        found = id && id != gettid() && thread_state(entry->d_name) == 'R';
    }
    if (threads)
        closedir(threads);
    return found;
}

/* Who has given the GIL away, and has not begun to write, runs until it does. */
static void others_settle(void) {
    double end = hf_clock_now() + SETTLED;
    while (others_run() && hf_clock_now() < end)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void quiet_begin(loading *load) {
    static bool watched;
    if (!watched)
        watched = atexit(at_exit) == 0;
    others_settle();
    streams_flush();
    load->said = memfd_create("hpccfpga", MFD_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        load->saved[i] = load->said < 0 ? -1 : fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        if (load->saved[i] >= 0)
            dup2(load->said, i + 1);
    }
    current = load;
    sigaction(SIGABRT, &(struct sigaction){.sa_handler = on_abort}, &aborting);
}

static void quiet_end(loading *load) {
    streams_flush();
    sigaction(SIGABRT, &aborting, NULL);
    current = NULL;
    for (int i = 0; i < 2; i++)
        if (load->saved[i] >= 0) {
            dup2(load->saved[i], i + 1);
            close(load->saved[i]);
        }
    if (load->said >= 0)
        close(load->said);
}

static void on_loading(void *context, bool begins) {
    loading *load = context;
    if (begins) {
        loading_acquire(load);
        quiet_begin(load);
    } else {
        quiet_end(load);
        loading_release(load);
    }
}

void loading_release(loading *load) {
    load->thread = PyEval_SaveThread();
}

void loading_acquire(loading *load) {
    PyEval_RestoreThread(load->thread);
}

/* The texts of a tuple, ended by NULL; NULL with an exception. */
static const char **paths_new(PyObject *tuple) {
    size_t n = (size_t)PyTuple_GET_SIZE(tuple);
    const char **paths = PyMem_Calloc(n + 1, sizeof *paths);
    if (!paths)
        PyErr_NoMemory();
    for (size_t i = 0; paths && i < n; i++) {
        paths[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i));
        if (!paths[i]) {
            PyMem_Free(paths);
            paths = NULL;
        }
    }
    return paths;
}

int loading_begin(loading *load, PyObject *libraries, bool quiet) {
    *load = (loading){.said = -1, .vendors.stuck = guard_end_now};
    if (quiet) {
        load->vendors.loading = on_loading;
        load->vendors.context = load;
    }
    if (!libraries)
        return 0;
    load->owner = PySequence_Tuple(libraries);
    load->paths = load->owner ? paths_new(load->owner) : NULL;
    load->vendors.libraries = load->paths;
    if (load->paths)
        return 0;
    loading_end(load);
    return -1;
}

void loading_end(loading *load) {
    PyMem_Free(load->paths);
    Py_XDECREF(load->owner);
}

/* ---- all devices of a runtime, for which all libraries are loaded ---- */

static PyObject *devices_list(PyObject *module, const char *runtime, loading *load) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list; i++) {
        hf_device_info info;
        bool found;
        loading_release(load);
        hf_status status = hf_device_list(&info, runtime, i, &found, &load->vendors);
        loading_acquire(load);
        if (status != HF_OK) {
            Py_DECREF(list);
            return status_raise(PyModule_GetState(module), status);
        }
        if (!found)
            return list;
        list_put(&list, device_dict(&info));
    }
    return NULL;
}

PyObject *core_devices(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"runtime", "libraries", "quiet", NULL};
    const char *runtime;
    PyObject *libraries = NULL;
    int quiet = 0;
    loading load;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|Op:devices", keywords, &runtime,
                                     &libraries, &quiet) ||
        loading_begin(&load, libraries, quiet) < 0)
        return NULL;
    PyObject *list = devices_list(module, runtime, &load);
    loading_end(&load);
    return list;
}
