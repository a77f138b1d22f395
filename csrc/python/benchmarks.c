/* benchmarks.c - what benchmarks take and tell, as dicts. */
#include "module.h"

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL hf_array_api
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

/* "a|b|c" as a list, NULL as None. */
static PyObject *choices_list(const char *choices) {
    if (!choices)
        return Py_NewRef(Py_None);
    PyObject *text = PyUnicode_FromString(choices);
    PyObject *list = text ? PyObject_CallMethod(text, "split", "s", "|") : NULL;
    Py_XDECREF(text);
    return list;
}

static PyObject *parameter_dict(const hf_param *param) {
    static const char *const kinds[] = {"int", "real", "text", "ints", "reals"};
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:N,s:s,s:d,s:d}", "name", param->name,
                         "summary", param->summary, "kind", kinds[param->kind],
                         "default", param->fallback, "choices",
                         choices_list(param->choices), "macro", param->macro, "low",
                         param->low, "high", param->high);
}

PyObject *core_parameters(PyObject *module, PyObject *bench) {
    const char *name = PyUnicode_AsUTF8(bench);
    if (!name)
        return NULL;
    hf_args *args;
    hf_status status = hf_args_new(&args, name);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyObject *list = PyList_New(0);
    const hf_param *param;
    for (size_t i = 0; list && (param = hf_args_param(args, i)); i++)
        list_put(&list, parameter_dict(param));
    hf_args_free(args);
    return list;
}

PyObject *core_values(PyObject *module, PyObject *args) {
    const char *bench;
    PyObject *params;
    hf_args *values;
    if (!PyArg_ParseTuple(args, "sO!:values", &bench, &PyDict_Type, &params))
        return NULL;
    hf_status status = args_fill(&values, bench, params);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyObject *dict = parameters_dict(values);
    hf_args_free(values);
    return dict;
}

PyObject *core_check_ranks(PyObject *module, PyObject *given) {
    const char *bench, *exchange;
    PyObject *params;
    hf_args *values;
    int ranks;
    if (!PyArg_ParseTuple(given, "ssO!i:check_ranks", &bench, &exchange, &PyDict_Type,
                          &params, &ranks))
        return NULL;
    hf_status status = args_fill(&values, bench, params);
    if (status == HF_OK) {
        status = hf_ranks_check(bench, exchange, values, ranks);
        hf_args_free(values);
    }
    return status == HF_OK ? Py_NewRef(Py_None)
                           : status_raise(PyModule_GetState(module), status);
}

/* Entries of a table as dict: name -> (unit, dtype_name(), choices or None). */
static PyObject *quantities_dict(const hf_quantity *table) {
    PyObject *dict = PyDict_New();
    for (; dict && table && table->name; table++)
        if (dict_put(dict, table->name,
                     Py_BuildValue("(ssN)", table->unit, dtype_name(table->dtype),
                                   choices_list(table->choices))) < 0)
            Py_CLEAR(dict);
    return dict;
}

/* Figures as dict: name -> unit. */
static PyObject *figures_dict(const hf_figure *table) {
    PyObject *dict = PyDict_New();
    for (; dict && table && table->name; table++)
        if (dict_put(dict, table->name, PyUnicode_FromString(table->unit)) < 0)
            Py_CLEAR(dict);
    return dict;
}

/* None where no parameter says how much work a run is. */
static PyObject *problem_dict(const hf_problem *problem) {
    if (!problem->param)
        return Py_NewRef(Py_None);
    return Py_BuildValue("{s:s,s:i,s:N}", "parameter", problem->param, "power",
                         problem->power, "shared", PyBool_FromLong(problem->shared));
}

PyObject *core_quantities(PyObject *module, PyObject *bench) {
    const char *name = PyUnicode_AsUTF8(bench);
    hf_quantities found;
    if (!name)
        return NULL;
    hf_status status = hf_bench_quantities(&found, name);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:n,s:s}", "labels",
        quantities_dict(found.labels), "metrics", quantities_dict(found.metrics),
        "findings", quantities_dict(found.findings), "parts",
        quantities_dict(found.parts), "stages", quantities_dict(found.stages),
        "figures", figures_dict(found.figures), "problem", problem_dict(&found.problem),
        "banked", PyBool_FromLong(found.banked), "computes",
        PyBool_FromLong(found.computes), "side_by_side", (Py_ssize_t)found.side_by_side,
        "error", found.error);
}

/* A column of numbers. */
static PyArrayObject *numbers_of(PyObject *values) {
    return (PyArrayObject *)PyArray_FROMANY(values, NPY_FLOAT64, 1, 1,
                                            NPY_ARRAY_CARRAY);
}

/* The figure as (unit, value). */
static PyObject *figure_pair(const hf_figure *figure, PyArrayObject *sizes,
                             PyObject *column) {
    PyArrayObject *values = numbers_of(column);
    PyObject *pair = NULL;
    if (values && PyArray_SIZE(values) != PyArray_SIZE(sizes))
        PyErr_Format(PyExc_ValueError, "%s: %zd values of %zd points", figure->of,
                     PyArray_SIZE(values), PyArray_SIZE(sizes));
    else if (values)
        pair = Py_BuildValue("(sd)", figure->unit,
                             hf_figure_of(figure, (size_t)PyArray_SIZE(sizes),
                                          PyArray_DATA(sizes), PyArray_DATA(values)));
    Py_XDECREF(values);
    return pair;
}

PyObject *core_figures(PyObject *module, PyObject *args) {
    const char *bench;
    PyObject *points, *columns, *column;
    hf_quantities found;
    if (!PyArg_ParseTuple(args, "sOO!:figures", &bench, &points, &PyDict_Type,
                          &columns))
        return NULL;
    hf_status status = hf_bench_quantities(&found, bench);
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyArrayObject *sizes = numbers_of(points);
    PyObject *dict = sizes ? PyDict_New() : NULL;
    for (const hf_figure *f = found.figures; dict && f && f->name; f++) {
        column = PyDict_GetItemString(columns, f->of);
        if (column && dict_put(dict, f->name, figure_pair(f, sizes, column)) < 0)
            Py_CLEAR(dict);
    }
    Py_XDECREF(sizes);
    return dict;
}
