/* module.h - what the extension's files share. */
#ifndef HF_MODULE_H
#define HF_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

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

PyObject *device_dict(const hf_device_info *info);
/* Column arrays over one capsule that owns `result`, and the rest; steals `result`. */
PyObject *result_dict(hf_result *result, const hf_args *args);
/* Parameters of `bench` from a dict; what is not in it gets its default. */
hf_status args_fill(hf_args **out, const char *bench, PyObject *params);
PyObject *parameters_dict(const hf_args *args);

int session_type_add(PyObject *module, module_state *state);

#endif
