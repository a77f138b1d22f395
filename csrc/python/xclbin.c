/* xclbin.c - what a program binary for Xilinx's cards says of itself, as a dict. */
#include "core/xclbin.h"

#include <stdlib.h>

#include "module.h"

/* A list of `n` items, each made by `make` of what `context` holds. */
static PyObject *list_of(size_t n, PyObject *(*make)(const void *, size_t),
                         const void *context) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++)
        list_put(&list, make(context, i));
    return list;
}

static PyObject *arg_item(const void *context, size_t i) {
    const hf_xclbin_arg *arg = &((const hf_xclbin_kernel *)context)->args[i];
    return Py_BuildValue("{s:N,s:N,s:N,s:n}", "name", text_of(arg->name), "type",
                         text_of(arg->type), "pointer", PyBool_FromLong(arg->pointer),
                         "bytes", (Py_ssize_t)arg->bytes);
}

static PyObject *kernel_item(const void *context, size_t i) {
    const hf_xclbin_kernel *kernel = &((const hf_xclbin *)context)->kernels[i];
    return Py_BuildValue("{s:N,s:N}", "name", text_of(kernel->name), "arguments",
                         list_of(kernel->n_args, arg_item, kernel));
}

static PyObject *memory_item(const void *context, size_t i) {
    const hf_xclbin_memory *memory = &((const hf_xclbin *)context)->memories[i];
    return Py_BuildValue("{s:N,s:N,s:K}", "tag", text_of(memory->tag), "used",
                         PyBool_FromLong(memory->used), "bytes",
                         (unsigned long long)memory->bytes);
}

/* Numbers of the memories that argument `i` reaches. */
static PyObject *reach_item(const void *context, size_t i) {
    const hf_xclbin_unit *unit = context;
    PyObject *list = PyList_New(0);
    for (size_t m = 0; list && m < HF_XCLBIN_MEMORIES; m++)
        if (hf_xclbin_reaches(&unit->reach[i], m))
            list_put(&list, PyLong_FromSize_t(m));
    return list;
}

static PyObject *unit_item(const void *context, size_t i) {
    const hf_xclbin *x = context;
    const hf_xclbin_unit *unit = &x->units[i];
    const hf_xclbin_kernel *kernel = hf_xclbin_find(x, unit->kernel);
    return Py_BuildValue("{s:N,s:N,s:N}", "name", text_of(unit->name), "kernel",
                         text_of(unit->kernel), "reach",
                         list_of(kernel ? kernel->n_args : 0, reach_item, unit));
}

PyObject *core_xclbin(PyObject *module, PyObject *data) {
    hf_xclbin *x;
    char *bytes;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(data, &bytes, &n) < 0)
        return NULL;
    hf_status status = hf_xclbin_read(&x, bytes, (size_t)n);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyObject *dict =
        Py_BuildValue("{s:N,s:N,s:N}", "kernels", list_of(x->n_kernels, kernel_item, x),
                      "units", list_of(x->n_units, unit_item, x), "memories",
                      list_of(x->n_memories, memory_item, x));
    free(x);
    return dict;
}
