/* module.h - what the extension's files share. */
#ifndef HF_MODULE_H
#define HF_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/kernel_info.h"
#include "core/param.h"
#include "core/result.h"
#include "hf.h"

typedef struct module_state {
    PyObject *error;        /* hpccfpga.Error */
    PyObject *session_type; /* hpccfpga._core.Session */
} module_state;

extern struct PyModuleDef core_module;

/* Raise what `status` stands for with the library's message; returns NULL. */
PyObject *status_raise(const module_state *state, hf_status status);

/* The status that an exception stands for; the reverse of status_raise. */
hf_status status_of(const module_state *state, PyObject *exception);

/* Text of a file, a driver or a library, which may hold anything. */
PyObject *text_of(const char *text);
/* Store `value` under `key`; steals `value`, which may be NULL after an error. -1 with an
 * exception. */
int dict_put(PyObject *dict, const char *key, PyObject *value);
/* Append `value` to *list; steals it. After an error, as where `value` is NULL, *list is NULL. */
void list_put(PyObject **list, PyObject *value);
PyObject *device_dict(const hf_device_info *info);
/* Of the values of a column, as files have it: "float64". */
const char *dtype_name(hf_dtype dtype);
PyObject *kernels_list(const hf_kernel_info *kernels);
/* Column arrays over one capsule that owns `result`, and the rest; steals `result`. */
PyObject *result_dict(hf_result *result, const hf_args *args);
/* Parameters of `bench` from a dict; what is not in it gets its default. */
hf_status args_fill(hf_args **out, const char *bench, PyObject *params);
PyObject *parameters_dict(const hf_args *args);

/* What is expected of exchange schemes, in memory of Python's. */
typedef struct expectation {
    hf_expected expected;
    const char **schemes;
    PyObject *owners[3]; /* of the names, lengths and times */
} expectation;

/* Take names, lengths [n] and times [schemes, n]; -1 with an exception. */
int expectation_take(expectation *out, PyObject *schemes, PyObject *sizes,
                     PyObject *times);
void expectation_free(expectation *held);

/* What a call may load of vendors' libraries, and, while it does so, where what they print
 * goes instead of to standard output and error. */
typedef struct loading {
    hf_vendors vendors;
    const char **paths;    /* `libraries` */
    PyObject *owner;       /* of their text */
    PyThreadState *thread; /* while the GIL is released */
    int saved[2], said;    /* descriptors of what 1 and 2 were, of the file; or -1 */
} loading;

/* Take a sequence of paths, or NULL for none; -1 with an exception. */
int loading_begin(loading *load, PyObject *libraries, bool quiet);
void loading_end(loading *load);
/* The GIL for a call that gets `vendors`, in place of Py_BEGIN_ALLOW_THREADS. */
void loading_release(loading *load);
void loading_acquire(loading *load);

/* Graphs, opened by a text and a seed. */
PyObject *graph_info(PyObject *module, PyObject *args);
PyObject *graph_survey(PyObject *module, PyObject *args);
PyObject *graph_rows(PyObject *module, PyObject *args);

/* Benchmarks, by name. */
PyObject *core_parameters(PyObject *module, PyObject *bench);
PyObject *core_values(PyObject *module, PyObject *args);
PyObject *core_check_ranks(PyObject *module, PyObject *given);
PyObject *core_quantities(PyObject *module, PyObject *bench);
PyObject *core_figures(PyObject *module, PyObject *args);

/* Turns of a run, in a capsule. */
PyObject *core_turns(PyObject *module, PyObject *args);
PyObject *core_turns_left(PyObject *module, PyObject *turns);
/* Those of a capsule, NULL of None; -1 with an exception. */
int turns_of(hf_turns **out, PyObject *turns);

PyObject *core_models(PyObject *module, PyObject *name);
PyObject *core_evaluate(PyObject *module, PyObject *args);
PyObject *core_fastest(PyObject *module, PyObject *times);
PyObject *core_devices(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *core_xclbin(PyObject *module, PyObject *data);
/* Functions of the module that end this process in time. */
PyObject *guard_signals(PyObject *module, PyObject *args);
PyObject *guard_until(PyObject *module, PyObject *args);
PyObject *guard_end(PyObject *module, PyObject *unused);
/* Tell a line and end this process. */
void guard_end_now(const char *line);

/* Of a Session: its module, the open session for one call that releases the GIL, which
 * `session_release` ends, and run. */
module_state *state_of(PyObject *self);
hf_session *session_acquire(PyObject *self);
void session_release(PyObject *self);
PyObject *session_run(PyObject *self, PyObject *args, PyObject *kwargs);
/* An exception's text as this thread's message, and its status. */
hf_status exception_status(const module_state *state, PyObject *error);
int session_type_add(PyObject *module, module_state *state);

#endif
