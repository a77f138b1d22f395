/* module.c - the extension hpccfpga._core: module, exceptions, functions. */
#include "module.h"

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL hf_array_api
#include <numpy/arrayobject.h>
#include <stdlib.h>

#include "core/element.h"
#include "core/error.h"
#include "core/known.h"

static PyObject *error_class(const module_state *state, hf_status status) {
    switch (status) {
    case HF_EARG:
        return PyExc_ValueError;
    case HF_ENOMEM:
        return PyExc_MemoryError;
    case HF_ENOENT:
        return PyExc_LookupError;
    case HF_ENOTSUP:
        return PyExc_NotImplementedError;
    case HF_ECANCELED:
        return PyExc_KeyboardInterrupt;
    default:
        return state->error;
    }
}

PyObject *status_raise(const module_state *state, hf_status status) {
    PyObject *text = text_of(hf_error());
    if (text)
        PyErr_SetObject(error_class(state, status), text);
    Py_XDECREF(text);
    return NULL;
}

hf_status status_of(const module_state *state, PyObject *exception) {
    static const hf_status statuses[] = {HF_EARG, HF_ENOMEM, HF_ENOENT, HF_ENOTSUP,
                                         HF_ECANCELED};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (PyErr_GivenExceptionMatches(exception, error_class(state, statuses[i])))
            return statuses[i];
    return HF_EDEVICE;
}

static PyObject *core_components(PyObject *module, PyObject *kind) {
    (void)module;
    const char *text = PyUnicode_AsUTF8(kind), *name, *summary;
    PyObject *list = text ? PyList_New(0) : NULL;
    for (size_t i = 0; list && hf_component(text, i, &name, &summary); i++)
        list_put(&list, Py_BuildValue("(ss)", name, summary));
    return list;
}

/* The list itself has no end here, as it has where it stands on the stack. */
static PyObject *core_known(PyObject *module, PyObject *args) {
    (void)module;
    hf_known known = {0};
    PyObject *names;
    if (!PyArg_ParseTuple(args, "sO:known", &known.wanted, &names))
        return NULL;
    PyObject *list = PySequence_List(names);
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        const char *name = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
        if (!name)
            Py_CLEAR(list);
        else
            hf_known_add(&known, name);
        *known.names = '\0';
    }
    PyObject *comma = list ? PyUnicode_FromString(", ") : NULL;
    PyObject *joined = comma ? PyUnicode_Join(comma, list) : NULL;
    PyObject *text =
        joined ? PyUnicode_FromFormat("%s%U", hf_known_text(&known), joined) : NULL;
    Py_XDECREF(joined);
    Py_XDECREF(comma);
    Py_XDECREF(list);
    return text;
}

static PyObject *core_kernels(PyObject *module, PyObject *stem) {
    const char *name = PyUnicode_AsUTF8(stem);
    if (!name)
        return NULL;
    const hf_kernel_info *kernels = hf_kernels_of(name);
    if (kernels)
        return kernels_list(kernels);
    return status_raise(PyModule_GetState(module),
                        hf_fail(HF_ENOENT, "no kernels \"%s\" are known", name));
}

static PyObject *core_mpi_library(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    char text[8192];
    hf_mpi_library(text, sizeof text);
    return PyUnicode_FromString(text);
}

static PyObject *core_scheme(PyObject *module, PyObject *exchange) {
    const char *name = PyUnicode_AsUTF8(exchange);
    hf_scheme scheme;
    if (!name)
        return NULL;
    hf_status status = hf_exchange_scheme(&scheme, name);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    return Py_BuildValue("{s:N,s:N,s:N,s:s}", "kernel_routed",
                         PyBool_FromLong(scheme.kernel_routed), "host_memory",
                         PyBool_FromLong(scheme.host_memory), "chunks",
                         PyBool_FromLong(scheme.chunks), "kernels", scheme.kernels);
}

static PyObject *core_programs(PyObject *module, PyObject *runtime) {
    const char *name = PyUnicode_AsUTF8(runtime), *programs;
    hf_status status = name ? hf_device_programs(&programs, name) : HF_OK;
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    return name ? PyUnicode_FromString(programs) : NULL;
}

static PyObject *core_value_bytes(PyObject *module, PyObject *data_type) {
    const char *name = PyUnicode_AsUTF8(data_type);
    size_t bytes = name ? hf_element_bytes(name) : 0;
    if (!name)
        return NULL;
    if (!bytes)
        return status_raise(PyModule_GetState(module),
                            hf_fail(HF_ENOENT, "no data type \"%s\"", name));
    return PyLong_FromSize_t(bytes);
}

static PyObject *core_links(PyObject *module, PyObject *args) {
    const char *topology;
    int ranks, ports;
    hf_link *links;
    if (!PyArg_ParseTuple(args, "sii:links", &topology, &ranks, &ports))
        return NULL;
    hf_status status = hf_links_make(&links, topology, ranks, ports);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < (size_t)ranks * (size_t)ports; i++)
        list_put(&list, Py_BuildValue("(iiii)", links[i].from, links[i].out,
                                      links[i].to, links[i].in));
    free(links);
    return list;
}

/* ---- the module ---- */

static PyMethodDef core_methods[] = {
    {"components", core_components, METH_O,
     "components(kind, /)\n--\n\nName and summary of each component of a kind."},
    {"known", core_known, METH_VARARGS,
     "known(wanted, names, /)\n--\n\n"
     "What a message says of known names, and of the one that was meant, if it is "
     "near."},
    {"parameters", core_parameters, METH_O,
     "parameters(benchmark, /)\n--\n\nParameters of a benchmark as dicts."},
    {"values", core_values, METH_VARARGS,
     "values(benchmark, params, /)\n--\n\n"
     "Every parameter's value, checked: those in a dict, else the defaults."},
    {"check_ranks", core_check_ranks, METH_VARARGS,
     "check_ranks(benchmark, exchange, params, ranks, /)\n--\n\n"
     "Raise the error that a run on so many ranks would end with, known before it."},
    {"turns", core_turns, METH_VARARGS,
     "turns(benchmark, params, whole=False, /)\n--\n\n"
     "Turns of a run, of which each call of Session.run takes one: a visit to a point\n"
     "of a sweep. A benchmark that is no sweep, or whole: there is one."},
    {"turns_left", core_turns_left, METH_O,
     "turns_left(turns, /)\n--\n\nHow many of them are left."},
    {"scheme", core_scheme, METH_O,
     "scheme(exchange, /)\n--\n\n"
     "What an exchange scheme says of itself: kernel_routed, host_memory, and of "
     "which\n"
     "kind its kernel files are."},
    {"programs", core_programs, METH_O,
     "programs(runtime, /)\n--\n\n"
     "Which programs a device runtime loads: \"binary\", which is built for its "
     "devices;\n"
     "\"xclbin\", which only a file brings; \"none\": its kernels are C functions."},
    {"quantities", core_quantities, METH_O,
     "quantities(benchmark, /)\n--\n\n"
     "Labels, metrics, findings, parts and stages of a benchmark: unit, dtype and\n"
     "choices of each; the unit of its figures; the column of its error;\n"
     "its problem: the parameter that says how much work a run is; whether it is\n"
     "banked: each replication has buffers in a memory bank of its own; whether it\n"
     "computes: it times kernels, not copies and messages alone; how many of a rank's\n"
     "kernels wait for each other over kernel-routed schemes, for each replication."},
    {"figures", core_figures, METH_VARARGS,
     "figures(benchmark, sizes, columns, /)\n--\n\n"
     "Figures of a benchmark as (unit, value), as far as there are columns for them,\n"
     "from all points with these sizes."},
    {"kernels", core_kernels, METH_O,
     "kernels(stem, /)\n--\n\n"
     "Kernels of a file as dicts: name, whether FPGAs replicate it, arguments."},
    {"value_bytes", core_value_bytes, METH_O,
     "value_bytes(data_type, /)\n--\n\nLength of an element of this type [B]."},
    {"devices", (PyCFunction)(void (*)(void))core_devices, METH_VARARGS | METH_KEYWORDS,
     "devices(runtime, libraries=(), quiet=False)\n--\n\n"
     "Every device of a runtime as a dict, also of further libraries of OpenCL\n"
     "runtimes; quiet: what they print when they are loaded is dropped."},
    {"xclbin", core_xclbin, METH_O,
     "xclbin(data, /)\n--\n\n"
     "What a program binary for Xilinx's cards says: kernels with their arguments,\n"
     "units with the memories that each argument reaches, memories."},
    {"mpi_library", core_mpi_library, METH_NOARGS,
     "mpi_library()\n--\n\nVersion of the MPI library that the extension uses."},
    {"links", core_links, METH_VARARGS,
     "links(topology, ranks, ports, /)\n--\n\n"
     "Links of a topology: rank and port that send, rank and port that receive."},
    {"models", core_models, METH_O,
     "models(name, /)\n--\n\nFormulas of a model: summary, inputs and outputs."},
    {"graph_info", graph_info, METH_VARARGS,
     "graph_info(text, seed, /)\n--\n\nWhat a graph is, as its file's header tells."},
    {"graph_survey", graph_survey, METH_VARARGS,
     "graph_survey(text, seed, partition, ranks, /)\n--\n\n"
     "The same, what the graph is like, and how evenly a partition cuts it."},
    {"graph_rows", graph_rows, METH_VARARGS,
     "graph_rows(text, seed, weights, /)\n--\n\n"
     "In-edges of all vertices: begins of rows, where they come from, weights or "
     "None."},
    {"guard_signals", guard_signals, METH_VARARGS,
     "guard_signals(heard, out, delay, code, line, /)\n--\n\n"
     "End this process `delay` seconds after a signal, of which the descriptor "
     "`heard`\n"
     "tells, with `code`, and with `line` written to the descriptor `out`."},
    {"guard_until", guard_until, METH_VARARGS,
     "guard_until(seconds, code, line, /)\n--\n\n"
     "End this process after so long, with `code` and `line`; 0: not any more."},
    {"guard_end", guard_end, METH_NOARGS,
     "guard_end()\n--\n\nLet this process go on, whatever was asked for before."},
    {"fastest", core_fastest, METH_O,
     "fastest(times, /)\n--\n\n"
     "Which scheme AUTO takes at each point, of times [points, schemes] [s]."},
    {"evaluate", core_evaluate, METH_VARARGS,
     "evaluate(model, index, inputs, /)\n--\n\n"
     "Outputs of a formula, by its place in `models(model)`; inputs broadcast against "
     "each other."},
    {0},
};

static int core_exec(PyObject *module) {
    module_state *state = PyModule_GetState(module);
    if (_import_array() < 0)
        return -1;
    state->error = PyErr_NewExceptionWithDoc(
        "hpccfpga.Error", "A device or communication error.", PyExc_RuntimeError, NULL);
    if (!state->error || PyModule_AddObjectRef(module, "Error", state->error) < 0)
        return -1;
    if (PyModule_AddStringConstant(module, "SCHEME", HF_SCHEME) < 0 ||
        PyModule_AddStringConstant(module, "AUTO", HF_AUTO) < 0 ||
        PyModule_AddStringConstant(module, "VERSION", HF_VERSION) < 0)
        return -1;
    return session_type_add(module, state);
}

static int core_traverse(PyObject *module, visitproc visit, void *arg) {
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->session_type);
    return 0;
}

static int core_clear(PyObject *module) {
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->session_type);
    return 0;
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, core_exec}, {0, NULL}};

PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hpccfpga._core",
    .m_doc = "The C library: sessions, components, models.",
    .m_size = sizeof(module_state),
    .m_methods = core_methods,
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
};

PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&core_module);
}
